# SPDX-License-Identifier: Apache-2.0
"""The C twin as ctypes sees it: structs, prototypes, and statuses that become exceptions.

Every struct and function here is one of include/thresher/*.h; tests/python/test_c.py holds sizes, offsets
and arguments to those headers. ctypes gives the interpreter's lock back during every call.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
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
                ("emulator_seed", c_uint64)]


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
}

_STATUS = c_int32
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
            function.restype, function.argtypes = result, arguments
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


def text(value: bytes | None) -> str:
    """What a function that returns a text said; NULL is its way to fail."""
    if value is None:
        raise Error(lib.thresher_last_error().decode(errors="replace"))
    return value.decode()
