# SPDX-License-Identifier: Apache-2.0
"""The C twin as ctypes sees it: structs, prototypes, and statuses that become exceptions.

Every struct and function here is one of include/thresher/*.h; tests/python/test_c.py holds sizes, offsets
and arguments to those headers. ctypes gives the interpreter's lock back during every call.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
import struct
from ctypes import POINTER, Structure, c_char_p, c_float, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

__version__ = "0.1.0"


class Error(ValueError):
    """What the caller got wrong, in the library's own sentence: place, value, limit."""


class NoMemory(Error, MemoryError):
    """There is no memory for what was asked, on the host or on a device."""


class InternalError(Error):
    """A bug in Thresher. Please report the message."""


for _error in (Error, NoMemory, InternalError):
    _error.__module__ = "thresher"  # where callers find them


class Nvfp4View(Structure):
    _fields_ = [("codes", c_void_p), ("scales", c_void_p), ("rows", c_int64), ("k_elements", c_int64),
                ("global_scale", c_float)]


class Nvfp4Buffer(Structure):
    _fields_ = Nvfp4View._fields_


class Group(Structure):
    _fields_ = [("m", c_int64), ("n", c_int64), ("k", c_int64)]


class Problem(Structure):
    _fields_ = [("name", c_char_p), ("op", c_int32), ("activations", c_int32), ("output", c_int32),
                ("groups", POINTER(Group)), ("group_count", c_int64)]


class WeightMatrices(Structure):
    _fields_ = [("op", c_int32), ("b", Nvfp4View), ("up", Nvfp4View), ("activations", c_int32)]


class Rows(Structure):
    _fields_ = [("a", c_void_p), ("a_scales", c_void_p), ("c", c_void_p), ("c_stride_elements", c_int64)]


class GroupOperands(Structure):
    _fields_ = [("weights", c_void_p), ("a_global_scale", c_float), ("alpha", c_float),
                ("alpha_up", c_float), ("rows", Rows)]


class Operands(Structure):
    _fields_ = [("groups", POINTER(GroupOperands)), ("group_count", c_int64), ("rows", Rows),
                ("device_counts", c_void_p), ("tokens_max", c_int64)]


class EngineOptions(Structure):
    _fields_ = [("device", c_char_p), ("thread_count", c_int32), ("cache_folder", c_char_p),
                ("compiler_folders", POINTER(c_char_p)), ("compiler_folder_count", c_int64),
                ("emulator_seed", c_uint64), ("plan_file", c_char_p)]


class MoeExpert(Structure):
    _fields_ = [("gate", Nvfp4View), ("up", Nvfp4View), ("down", Nvfp4View), ("input_scale", c_float),
                ("down_input_scale", c_float), ("gate_bias", c_void_p), ("up_bias", c_void_p),
                ("down_bias", c_void_p)]


class MoeOptions(Structure):
    _fields_ = [("top_k", c_int64), ("tokens_max", c_int64), ("first_expert", c_int64),
                ("router_experts", c_int64), ("activations", c_int32),
                ("x", c_int32), ("out", c_int32), ("activation", c_int32), ("alpha", c_float), ("beta", c_float),
                ("limit", c_float), ("weight_on_input", c_int32), ("batch_invariant", c_int32)]


class MoeTokens(Structure):
    _fields_ = [("x", c_void_p), ("x_stride_elements", c_int64), ("ids", c_void_p), ("weights", c_void_p),
                ("shared_weights", c_void_p), ("out", c_void_p), ("out_stride_elements", c_int64),
                ("token_count", c_int64)]


class RouteOptions(Structure):
    _fields_ = [("expert_count", c_int64), ("top_k", c_int64), ("score", c_int32), ("renormalize", c_int32),
                ("scaling", c_float), ("bias", c_void_p), ("group_count", c_int64), ("groups_kept", c_int64)]


class Tensor(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_char_p), ("shape", POINTER(c_int64)), ("rank", c_int64),
                ("file", c_char_p), ("offset", c_uint64), ("byte_count", c_uint64)]


class CheckpointLayer(Structure):
    _fields_ = [("prefix", c_char_p), ("index", c_int64), ("family", c_char_p), ("format", c_int32),
                ("dtype", c_char_p), ("expert_count", c_int64), ("hidden", c_int64), ("intermediate", c_int64),
                ("has_gate", c_int32), ("has_biases", c_int32), ("has_input_scales", c_int32), ("options", MoeOptions),
                ("route", RouteOptions), ("router_weight", c_char_p), ("router_bias", c_char_p),
                ("router_logits_bias", c_char_p), ("shared_intermediate", c_int64), ("shared_prefix", c_char_p),
                ("shared_dtype", c_char_p), ("shared_gate", c_char_p), ("fault_count", c_int64), ("fault", c_char_p),
                ("note", c_char_p)]


STRUCTS = {
    "thresher_nvfp4_view": Nvfp4View,
    "thresher_nvfp4_buffer": Nvfp4Buffer,
    "thresher_group": Group,
    "thresher_problem": Problem,
    "thresher_weight_matrices": WeightMatrices,
    "thresher_rows": Rows,
    "thresher_group_operands": GroupOperands,
    "thresher_operands": Operands,
    "thresher_engine_options": EngineOptions,
    "thresher_moe_expert": MoeExpert,
    "thresher_moe_options": MoeOptions,
    "thresher_moe_tokens": MoeTokens,
    "thresher_route_options": RouteOptions,
    "thresher_tensor": Tensor,
    "thresher_checkpoint_layer": CheckpointLayer,
}

_STATUS = "status"  # an int32_t, but not every int32_t is one
_HANDLE = c_void_p
_OUT = POINTER(c_void_p)

# name: (result, arguments). A result of _STATUS is checked, and failures raise.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "thresher_version": (c_char_p, []),
    "thresher_last_error": (c_char_p, []),
    "thresher_quantize": (_STATUS, [c_void_p, c_int32, POINTER(Nvfp4Buffer)]),
    "thresher_quantize_fp16": (_STATUS, [c_void_p, c_int32, POINTER(Nvfp4Buffer)]),
    "thresher_quantize_bf16": (_STATUS, [c_void_p, c_int32, POINTER(Nvfp4Buffer)]),
    "thresher_dequantize": (_STATUS, [POINTER(Nvfp4View), c_void_p]),
    "thresher_engine_create": (_STATUS, [POINTER(EngineOptions), _OUT]),
    "thresher_engine_destroy": (None, [_HANDLE]),
    "thresher_engine_device": (c_char_p, [_HANDLE]),
    "thresher_engine_description": (c_char_p, [_HANDLE]),
    "thresher_engine_plan_note": (c_char_p, [_HANDLE]),
    "thresher_thread_count": (c_int32, [_HANDLE]),
    "thresher_variant_count": (c_int64, [_HANDLE]),
    "thresher_variant_name": (c_char_p, [_HANDLE, c_int64]),
    "thresher_synchronize": (_STATUS, [_HANDLE]),
    "thresher_buffer_create": (_STATUS, [_HANDLE, c_size_t, _OUT]),
    "thresher_buffer_destroy": (None, [_HANDLE]),
    "thresher_buffer_data": (c_void_p, [_HANDLE]),
    "thresher_copy_in": (_STATUS, [_HANDLE, c_void_p, c_size_t, c_size_t]),
    "thresher_copy_out": (_STATUS, [_HANDLE, c_void_p, c_size_t, c_size_t]),
    "thresher_pack": (_STATUS, [_HANDLE, POINTER(WeightMatrices), _OUT]),
    "thresher_weights_destroy": (None, [_HANDLE]),
    "thresher_weights_bytes": (c_size_t, [_HANDLE]),
    "thresher_unpack": (_STATUS, [_HANDLE, POINTER(Nvfp4Buffer)]),
    "thresher_unpack_up": (_STATUS, [_HANDLE, POINTER(Nvfp4Buffer)]),
    "thresher_plan_create": (_STATUS, [_HANDLE, POINTER(Problem), c_char_p, c_int64, _OUT]),
    "thresher_plan_destroy": (None, [_HANDLE]),
    "thresher_plan_variant": (c_char_p, [_HANDLE]),
    "thresher_plan_workspace_bytes": (c_size_t, [_HANDLE]),
    "thresher_plan_tokens_max": (c_int64, [_HANDLE]),
    "thresher_plan_kernel_launch_count": (c_int64, [_HANDLE]),
    "thresher_workspace_create": (_STATUS, [_HANDLE, _HANDLE, _OUT]),
    "thresher_workspace_destroy": (None, [_HANDLE]),
    "thresher_run": (_STATUS, [_HANDLE, _HANDLE, POINTER(Operands), _HANDLE]),
    "thresher_bind": (_STATUS, [_HANDLE, _HANDLE, POINTER(Operands), _HANDLE, _OUT]),
    "thresher_call_destroy": (None, [_HANDLE]),
    "thresher_enqueue_rows": (_STATUS, [_HANDLE, POINTER(Rows), c_void_p]),
    "thresher_moe_expert_defaults": (MoeExpert, []),
    "thresher_moe_options_defaults": (MoeOptions, []),
    "thresher_moe_create": (_STATUS, [_HANDLE, POINTER(MoeExpert), c_int64, POINTER(MoeExpert), c_int64,
                                      POINTER(MoeOptions), _OUT]),
    "thresher_moe_destroy": (None, [_HANDLE]),
    "thresher_moe_hidden": (c_int64, [_HANDLE]),
    "thresher_moe_intermediate": (c_int64, [_HANDLE]),
    "thresher_moe_expert_count": (c_int64, [_HANDLE]),
    "thresher_moe_shared_count": (c_int64, [_HANDLE]),
    "thresher_moe_top_k": (c_int64, [_HANDLE]),
    "thresher_moe_tokens_max": (c_int64, [_HANDLE]),
    "thresher_moe_weight_bytes": (c_size_t, [_HANDLE]),
    "thresher_moe_workspace_bytes": (c_size_t, [_HANDLE]),
    "thresher_moe_forward": (_STATUS, [_HANDLE, POINTER(MoeTokens)]),
    "thresher_moe_enqueue": (_STATUS, [_HANDLE, POINTER(MoeTokens), c_void_p]),
    "thresher_route": (_STATUS, [c_void_p, c_int64, POINTER(RouteOptions), c_void_p, c_void_p]),
    "thresher_checkpoint_open": (_STATUS, [c_char_p, c_int32, _OUT]),
    "thresher_checkpoint_close": (None, [_HANDLE]),
    "thresher_checkpoint_model_type": (c_char_p, [_HANDLE]),
    "thresher_tensor_count": (c_int64, [_HANDLE]),
    "thresher_tensor_at": (_STATUS, [_HANDLE, c_int64, POINTER(Tensor)]),
    "thresher_tensor_bytes": (_STATUS, [_HANDLE, c_int64, c_void_p, c_size_t]),
    "thresher_tensor_values": (_STATUS, [_HANDLE, c_int64, c_void_p, c_int64]),
    "thresher_layer_count": (c_int64, [_HANDLE]),
    "thresher_layer_at": (_STATUS, [_HANDLE, c_int64, POINTER(CheckpointLayer)]),
    "thresher_expert_load": (_STATUS, [_HANDLE, c_int64, c_int64, _OUT]),
    "thresher_matrix_load": (_STATUS, [_HANDLE, c_char_p, _OUT]),
    "thresher_moe_load": (_STATUS, [_HANDLE, _HANDLE, c_int64, c_int64, c_int64, c_int32, POINTER(MoeOptions), _OUT]),
    "thresher_loaded_expert": (MoeExpert, [_HANDLE]),
    "thresher_loaded_destroy": (None, [_HANDLE]),
}

_ERRORS = {1: Error, 2: NoMemory, 3: InternalError}


def library_path() -> pathlib.Path:
    """Where the library is: named by THRESHER_LIBRARY, beside this file, or in a checkout's build."""
    named = os.environ.get("THRESHER_LIBRARY")
    here = pathlib.Path(__file__).resolve().parent
    places = [pathlib.Path(named)] if named else [
        here / "libthresher.so", here.parents[1] / "build" / "release" / "libthresher.so"]
    for place in places:
        if place.is_file():
            return place
    looked = " or ".join(str(place) for place in places)
    raise ImportError(f"no libthresher.so: looked for {looked}. `pip install .` brings it, "
                      "`cmake --build build/release` makes it in a checkout, and THRESHER_LIBRARY names another")


def _load() -> ctypes.CDLL:
    path = library_path()
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = (c_int32 if result is _STATUS else result), arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path} cannot be used: {error}") from None
    version = library.thresher_version().decode()
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise ImportError(f"{path} is version {version}, this package is {__version__}: build both from one source")
    for name, (result, _) in FUNCTIONS.items():
        if result is _STATUS:
            getattr(library, name).errcheck = _raise_if_failed
    return library


def _raise_if_failed(status: int, function: Any, arguments: Any) -> int:
    if status != 0:
        raise _ERRORS.get(status, InternalError)(lib.thresher_last_error().decode(errors="replace"))
    return status


lib = _load()


def unchecked(name: str, arguments: list[Any] | None = None) -> Any:
    """A function whose status its caller looks at: ctypes' own check is a call of Python more."""
    function = lib[name]
    function.restype, function.argtypes = c_int32, arguments or FUNCTIONS[name][1]
    return function


def packer(structure: type[Structure]) -> Any:
    """Makes the bytes of a structure of pointers and numbers of 64 bits, in a third of the time ctypes takes."""
    made = struct.Struct("".join("P" if kind is c_void_p else "q" for _, kind, *_ in structure._fields_))
    if made.size != ctypes.sizeof(structure):
        raise InternalError(f"{structure.__name__} is not made of pointers and numbers of 64 bits alone")
    return made.pack


def check(status: int) -> None:
    _raise_if_failed(status, None, None)


def text(value: bytes | None) -> str:
    """What a function that returns a text said; NULL is its way to fail."""
    if value is None:
        raise Error(lib.thresher_last_error().decode(errors="replace"))
    return value.decode()
