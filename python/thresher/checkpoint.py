# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: safetensors files, the NVFP4 matrices in them, and their mixture-of-experts layers."""
from __future__ import annotations

import collections.abc
import ctypes
import dataclasses
import os
from ctypes import byref, c_void_p
from typing import Any, Iterator

import numpy as np

from . import _c
from ._arrays import need_bool, need_int, need_path, need_text
from ._c import Error, lib
from .engine import Engine, Handle, need_engine
from .moe import ACTIVATION_FUNCTIONS, SCORES, Expert, MoeLayer, set_options
from .nvfp4 import Matrix

FORMATS = ("none", "modelopt", "compressed-tensors")


@dataclasses.dataclass(frozen=True)
class Tensor:
    """One tensor of a file, as its header describes it."""

    name: str
    dtype: str  # "F32", "BF16", "U8", "F8_E4M3", ...
    shape: tuple[int, ...]
    file: str
    offset: int
    nbytes: int


@dataclasses.dataclass(frozen=True)
class Layer:
    """What is known of a mixture-of-experts layer before any of its weights are read."""

    position: int  # among the checkpoint's layers
    prefix: str  # "model.layers.3.mlp.experts"
    index: int  # 3
    family: str
    format: str  # "modelopt", "compressed-tensors", or "none": its experts are not NVFP4
    dtype: str
    expert_count: int
    hidden: int
    intermediate: int
    has_gate: bool
    has_biases: bool
    has_input_scales: bool
    top_k: int  # 0: files do not say
    activation: str
    alpha: float
    beta: float
    limit: float
    weight_on_input: bool
    route: dict[str, Any]  # what thresher.route() takes beside logits; empty: files do not say
    router_weight: str  # names of tensors, "" where there is none
    router_bias: str
    router_logits_bias: str
    shared_intermediate: int  # 0: no shared expert
    shared_prefix: str
    shared_dtype: str
    shared_gate: str
    fault: str  # "": its experts can be loaded
    note: str  # what was guessed because the files do not say it, or ""


class Checkpoint(Handle):
    """A folder with safetensors files, the index of one, or one safetensors file.

    mapped: files are mapped, and must not change while anything points into them; False reads what is asked for.
    """

    _destroy = lib.thresher_checkpoint_close

    def __init__(self, path: str | os.PathLike[str], *, mapped: bool = True):
        name, handle = need_path(path, "path"), c_void_p()
        self.path = os.fsdecode(name)
        lib.thresher_checkpoint_open(name, need_bool(mapped, "mapped"), byref(handle))
        self._own(handle)
        self.model_type = _c.text(lib.thresher_checkpoint_model_type(self._handle))
        self.tensors = Tensors(self)
        self.layers = [_layer_of(self._layer(position), position)
                       for position in range(lib.thresher_layer_count(self._handle))]

    def values(self, name: str) -> np.ndarray:
        """A tensor of F32, BF16, F16 or F64 values as float32: routers, biases, norms."""
        tensor = self.tensors[name]
        values = np.empty(tensor.shape, np.float32)
        lib.thresher_tensor_values(self._handle, self.tensors._positions[name], values.ctypes.data, values.size)
        return values

    def bytes(self, name: str) -> np.ndarray:
        """A tensor's bytes, a copy."""
        content = np.empty(self.tensors[name].nbytes, np.uint8)
        lib.thresher_tensor_bytes(self._handle, self.tensors._positions[name], content.ctypes.data, content.size)
        return content

    def matrix(self, module: str) -> tuple[Matrix, float]:
        """A linear layer's NVFP4 matrix, of "model.layers.0.self_attn.q_proj", and its input scale."""
        name = need_text(module, "module")
        loaded = _Loaded(lambda out: lib.thresher_matrix_load(self._handle, name, out))
        return loaded.matrix("down"), loaded.expert.down_input_scale

    def expert(self, layer: Layer, index: int) -> Expert:
        """An expert of a layer; -1: the shared one."""
        position, number = _position_of(layer), need_int(index, "index")
        return _Loaded(lambda out: lib.thresher_expert_load(self._handle, position, number, out)).as_expert()

    def moe(self, engine: Engine, layer: Layer, *, first: int = 0, count: int = 0, shared: bool = False,
            **options: Any) -> MoeLayer:
        """A MoeLayer of the experts [first, first + count), each read, packed and let go; count 0: all of them.

        options: those of MoeLayer that the files do not say (tokens_max, activations, x, out, ...), or others than
        they say.
        """
        position = _position_of(layer)
        converted = self._layer(position).options
        set_options(converted, options)
        handle = c_void_p()
        lib.thresher_moe_load(need_engine(engine)._handle, self._handle, position, need_int(first, "first"),
                              need_int(count, "count"), need_bool(shared, "shared"), byref(converted), byref(handle))
        return MoeLayer._made(handle, engine, converted)

    def _layer(self, position: int) -> _c.CheckpointLayer:
        layer = _c.CheckpointLayer()
        lib.thresher_layer_at(self._handle, position, byref(layer))
        return layer

    def __repr__(self) -> str:
        return f"thresher.Checkpoint({self.path!r}, {len(self.tensors)} tensors, {len(self.layers)} MoE layers)"


class Tensors(collections.abc.Mapping[str, Tensor]):
    """The tensors of all files, by name."""

    def __init__(self, checkpoint: Checkpoint):
        self._positions: dict[str, int] = {}
        self._tensors: dict[str, Tensor] = {}
        found = _c.Tensor()
        for position in range(lib.thresher_tensor_count(checkpoint._handle)):
            lib.thresher_tensor_at(checkpoint._handle, position, byref(found))
            name = found.name.decode(errors="surrogateescape")
            self._positions[name] = position
            self._tensors[name] = Tensor(name, found.dtype.decode(), tuple(found.shape[:found.rank]),
                                         os.fsdecode(found.file), found.offset, found.byte_count)

    def __getitem__(self, name: str) -> Tensor:
        if not isinstance(name, str) or name not in self._tensors:
            raise Error(f"there is no tensor {name!r}")
        return self._tensors[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


class _Loaded(Handle):
    """An expert or a matrix in memory; arrays that point into it keep it."""

    _destroy = lib.thresher_loaded_destroy

    def __init__(self, load: Any):
        handle = c_void_p()
        load(byref(handle))
        self._own(handle)
        self.expert = lib.thresher_loaded_expert(self._handle)

    def _array(self, address: int, shape: tuple[int, ...], ctype: Any) -> np.ndarray:
        count = int(np.prod(shape))
        memory = (ctype * count).from_address(address)
        memory._keeps = self
        return np.frombuffer(memory, np.dtype(ctype)).reshape(shape)

    def matrix(self, name: str) -> Matrix:
        view = getattr(self.expert, name)
        rows, k = view.rows, view.k_elements
        codes, scales = (self._array(address, shape, ctypes.c_uint8) for address, shape in (
            (view.codes, (rows, k // 2)), (view.scales, (rows, k // 16))))
        codes.flags.writeable = scales.flags.writeable = False
        return Matrix(codes, scales, view.global_scale)

    def as_expert(self) -> Expert:
        expert = self.expert
        gate = self.matrix("gate") if expert.gate.codes else None
        biases = {name: self._array(getattr(expert, name), (rows,), ctypes.c_float) if getattr(expert, name) else None
                  for name, rows in (("gate_bias", expert.gate.rows), ("up_bias", expert.up.rows),
                                     ("down_bias", expert.down.rows))}
        return Expert(gate, self.matrix("up"), self.matrix("down"), expert.input_scale, expert.down_input_scale,
                      **biases)


def _position_of(layer: Any) -> int:
    if not isinstance(layer, Layer):
        raise Error(f"layer is a {type(layer).__name__}, not one of a checkpoint's layers")
    return layer.position


def _layer_of(layer: _c.CheckpointLayer, position: int) -> Layer:
    options, route = layer.options, layer.route
    routing = {} if route.top_k == 0 else {
        "top_k": route.top_k, "score": list(SCORES)[route.score], "renormalize": bool(route.renormalize),
        "scaling": route.scaling, "group_count": route.group_count or 1, "groups_kept": route.groups_kept or 1}
    text = {name: getattr(layer, name).decode() for name, ctype, *_ in _c.CheckpointLayer._fields_
            if ctype is ctypes.c_char_p}
    flags: dict[str, Any] = {name: bool(getattr(layer, name))
                             for name in ("has_gate", "has_biases", "has_input_scales")}
    counts: dict[str, Any] = {name: getattr(layer, name) for name in ("index", "expert_count", "hidden", "intermediate",
                                                      "shared_intermediate")}
    return Layer(position=position, format=FORMATS[layer.format], top_k=options.top_k,
                 activation=list(ACTIVATION_FUNCTIONS)[options.activation], alpha=options.alpha, beta=options.beta,
                 limit=options.limit, weight_on_input=bool(options.weight_on_input), route=routing, **text, **flags,
                 **counts)
