# SPDX-License-Identifier: Apache-2.0
"""A mixture-of-experts layer: packed once, then computed for any number of tokens up to a maximum."""
from __future__ import annotations

import dataclasses
from ctypes import byref, c_float, c_void_p
from typing import Any, Sequence

import numpy as np

from . import _c
from ._arrays import (ACTIVATIONS, DTYPES, OUTPUTS, need_array, need_bool, need_dtype, need_float, need_int,
                      need_output, need_shape, number_of, type_of_values)
from ._c import Error, lib
from .engine import Engine, Handle, fail_for_parents, need_engine
from .nvfp4 import Matrix

ACTIVATION_FUNCTIONS = {"silu": 0, "clamped_silu": 1, "squared_relu": 2}
SCORES = {"softmax": 0, "softmax_of_chosen": 1, "sigmoid": 2, "sqrt_softplus": 3}


@dataclasses.dataclass
class Expert:
    """One expert: gate and up are intermediate x hidden, down is hidden x intermediate.

    gate is None where the activation has none. Input scales are for W4A4: amax / (6 * 448) of a calibration.
    Biases are float32, or None.
    """

    gate: Matrix | None
    up: Matrix
    down: Matrix
    input_scale: float = 1.0
    down_input_scale: float = 1.0
    gate_bias: np.ndarray | None = None
    up_bias: np.ndarray | None = None
    down_bias: np.ndarray | None = None

    def _as_c(self, where: str) -> _c.MoeExpert:
        for name in ("gate", "up", "down"):
            matrix = getattr(self, name)
            if not isinstance(matrix, Matrix) and not (name == "gate" and matrix is None):
                raise Error(f"{where}: {name} is a {type(matrix).__name__}, not a thresher.Matrix")
        expert = lib.thresher_moe_expert_defaults()
        if self.gate is not None:
            expert.gate = self.gate._view
        expert.up, expert.down = self.up._view, self.down._view
        for name in ("input_scale", "down_input_scale"):
            setattr(expert, name, need_float(getattr(self, name), f"{where}: {name}"))
        for name, matrix in (("gate_bias", self.gate), ("up_bias", self.up), ("down_bias", self.down)):
            bias = getattr(self, name)
            if bias is not None:
                what = f"{where}: {name}"
                if matrix is None:
                    raise Error(f"{what} is given, and there is no gate")
                need_dtype(need_array(bias, what, rank=1), np.float32, what)
                setattr(expert, name, need_shape(bias, (matrix.shape[0],), what).ctypes.data)
        return expert


_WORDS = {"activations": ACTIVATIONS, "x": OUTPUTS, "out": OUTPUTS, "activation": ACTIVATION_FUNCTIONS}
_FLAGS = ("weight_on_input", "batch_invariant")


def set_options(options: _c.MoeOptions, given: dict[str, Any]) -> None:
    """What callers say about a MoeLayer, checked as far as words and numbers go; `out` is x's type unless they do."""
    fields = dict(_c.MoeOptions._fields_)
    for name, value in given.items():
        if name not in fields:
            raise Error(f"there is no option {name!r} of a layer: there are {', '.join(fields)}")
        if name in _WORDS:
            if name == "out" and value is None:
                continue
            value = number_of(value, _WORDS[name], name)
        elif name in _FLAGS:
            value = need_bool(value, name)
        else:
            value = need_float(value, name) if fields[name] is c_float else need_int(value, name)
        setattr(options, name, value)
    if given.get("out") is None:
        options.out = options.x


class MoeLayer(Handle):
    """out[t] = sum over slots s of weights[t, s] * expert[ids[t, s]](x[t]), in FP32, rounded once.

    Slots whose id is negative or no expert of this layer are skipped. `shared` experts take every token.
    top_k: slots per token; tokens_max: of a call (4096). activations: what experts multiply, "bf16" or "fp16" (W4A16)
    or "nvfp4" (W4A4). x, out: the types of tokens, "fp32", "fp16" or "bf16"; x is fp32 and out is x's if nobody says
    more. activation: "silu", "clamped_silu" (with alpha, beta, limit: GPT-OSS is 1.702, 1, 7) or "squared_relu". Also:
    first_expert, router_experts, weight_on_input, batch_invariant (thresher/moe.hpp). Calls of one layer take turns.

    >>> engine = Engine(threads=1)
    >>> w = [quantize(np.full(shape, 0.5, np.float32)) for shape in ((32, 16), (32, 16), (16, 32))]
    >>> layer = MoeLayer(engine, [Expert(*w)], top_k=1)
    >>> layer.forward(np.ones((2, 16), np.float32), np.int32([[0], [-1]]), np.ones((2, 1), np.float32))[:, 0] > 0
    array([ True, False])
    """

    _destroy = lib.thresher_moe_destroy

    def __init__(self, engine: Engine, experts: Sequence[Expert], *, shared: Sequence[Expert] = (), top_k: int,
                 **options: Any):
        routed = _experts_of(experts, "expert")
        common = _experts_of(shared, "shared expert")
        converted = lib.thresher_moe_options_defaults()
        set_options(converted, {"top_k": top_k, "tokens_max": 4096, "x": "fp32", **options})
        handle = c_void_p()
        lib.thresher_moe_create(need_engine(engine)._handle, routed, len(routed), common, len(common), byref(converted),
                                byref(handle))
        self._adopt(handle, engine, converted)

    @classmethod
    def _made(cls, handle: c_void_p, engine: Engine, options: _c.MoeOptions) -> MoeLayer:
        """One that a checkpoint has made."""
        layer = cls.__new__(cls)
        layer._adopt(handle, engine, options)
        return layer

    def _adopt(self, handle: c_void_p, engine: Engine, options: _c.MoeOptions) -> None:
        self._own(handle)
        self._engine = engine  # which the layer must not outlive
        self.x_type = list(OUTPUTS)[options.x]
        self.out_type = list(OUTPUTS)[options.out]
        self.hidden = lib.thresher_moe_hidden(self._handle)
        self.intermediate = lib.thresher_moe_intermediate(self._handle)
        self.expert_count = lib.thresher_moe_expert_count(self._handle)
        self.shared_count = lib.thresher_moe_shared_count(self._handle)
        self.top_k = lib.thresher_moe_top_k(self._handle)
        self.tokens_max = lib.thresher_moe_tokens_max(self._handle)

    @property
    def weight_bytes(self) -> int:
        return lib.thresher_moe_weight_bytes(self._handle)

    @property
    def workspace_bytes(self) -> int:
        return lib.thresher_moe_workspace_bytes(self._handle)

    def forward(self, x: np.ndarray, ids: np.ndarray, weights: np.ndarray,
                shared_weights: np.ndarray | None = None, *, out: np.ndarray | None = None) -> np.ndarray:
        """x [T, hidden], ids int32 [T, top_k], weights float32 [T, top_k]; done when it returns."""
        if self._engine.is_of_parent:
            fail_for_parents(self)
        values = need_array(x, "x", rank=2)
        if type_of_values(values, "x") != self.x_type:
            raise Error(f"x is {type_of_values(values, 'x')} but the layer was made for {self.x_type}")
        tokens = values.shape[0]
        need_shape(values, (tokens, self.hidden), "x")
        slots = (tokens, self.top_k)
        need_shape(need_dtype(need_array(ids, "ids", rank=2), np.int32, "ids"), slots, "ids")
        need_shape(need_dtype(need_array(weights, "weights", rank=2), np.float32, "weights"), slots, "weights")
        if shared_weights is not None:
            need_dtype(need_array(shared_weights, "shared_weights", rank=2), np.float32, "shared_weights")
            need_shape(shared_weights, (tokens, self.shared_count), "shared_weights")
        if out is None:
            out = np.empty((tokens, self.hidden), DTYPES[self.out_type])
        stride = need_output(out, (tokens, self.hidden), DTYPES[self.out_type], "out")
        if np.may_share_memory(out, values):
            raise Error("out overlaps x")
        call = _c.MoeTokens(values.ctypes.data, 0, ids.ctypes.data, weights.ctypes.data,
                            None if shared_weights is None else shared_weights.ctypes.data, out.ctypes.data, stride,
                            tokens)
        lib.thresher_moe_forward(self._handle, byref(call))
        return out

    def __repr__(self) -> str:
        return (f"thresher.MoeLayer({self.expert_count} experts, {self.hidden} x {self.intermediate}, "
                f"top_k={self.top_k})")


def route(logits: np.ndarray, top_k: int, *, score: str = "softmax", renormalize: bool = False, scaling: float = 1.0,
          bias: np.ndarray | None = None, group_count: int = 1, groups_kept: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Logits [T, experts] to ids and weights [T, top_k], best first.

    score: "softmax" (Qwen3 and Mixtral with renormalize), "softmax_of_chosen" (GPT-OSS), "sigmoid" (DeepSeek-V3 with
    bias, groups, renormalize and scaling), "sqrt_softplus". `bias` counts for the choice alone.

    >>> ids, weights = route(np.float32([[0, 2, 1, 2]]), 2, renormalize=True)
    >>> ids.tolist(), weights.tolist()
    ([[1, 3]], [[0.5, 0.5]])
    """
    need_dtype(need_array(logits, "logits", rank=2), np.float32, "logits")
    tokens, experts = logits.shape
    if bias is not None:
        need_shape(need_dtype(need_array(bias, "bias", rank=1), np.float32, "bias"), (experts,), "bias")
    top_k = need_int(top_k, "top_k")
    options = _c.RouteOptions(experts, top_k, number_of(score, SCORES, "score"), need_bool(renormalize, "renormalize"),
                              need_float(scaling, "scaling"), None if bias is None else bias.ctypes.data,
                              need_int(group_count, "group_count"), need_int(groups_kept, "groups_kept"))
    slots = (tokens, min(max(top_k, 0), experts))  # others are refused before anything is written
    ids, weights = np.empty(slots, np.int32), np.empty(slots, np.float32)
    lib.thresher_route(logits.ctypes.data, tokens, byref(options), ids.ctypes.data, weights.ctypes.data)
    return ids, weights


def _experts_of(experts: Sequence[Expert], what: str) -> Any:
    for index, expert in enumerate(experts):
        if not isinstance(expert, Expert):
            raise Error(f"{what} {index} is a {type(expert).__name__}, not a thresher.Expert")
    return (_c.MoeExpert * len(experts))(*(expert._as_c(f"{what} {i}") for i, expert in enumerate(experts)))
