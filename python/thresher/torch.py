# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch: torch.ops.thresher.gemm, dual, moe and quantize, on CPU and CUDA tensors.

    import torch, thresher.torch as tt
    w = tt.GroupedWeights([tt.quantize_weight(weight)], device="cuda", activations=torch.bfloat16)
    y = torch.ops.thresher.gemm(x, w.id)                      # x [T, k] -> [T, n]

Operators are opaque to torch.compile and have fake kernels, so that nothing breaks a graph. On CUDA they are queued on
torch's current stream, wait for nothing, and may be captured in a CUDA graph once they have run outside of one: the
first call of a size plans it, and on a GPU compiles kernels. What a graph was captured from must live as long as it.

    layer = tt.Moe(checkpoint.moe(tt.engine("cuda"), checkpoint.layers[0], x="bf16"), "cuda")
    y = torch.ops.thresher.moe(x, ids, weights, layer.id)     # x [T, hidden], ids and weights [T, top_k]

tt.gemm, dual and moe are the same as functions: where nobody traces, compiles, profiles or overrides a call, it does not
go through torch's dispatcher, which costs more than all else that is added here.

Calls of one GroupedWeights or Moe take turns. Where they are queued on another stream than the last time, that stream
waits for the other one; inside a capture the caller orders them.
"""
from __future__ import annotations

import functools
import itertools
import os
import threading
import weakref
from ctypes import byref, c_char_p, c_void_p
from typing import Any, Sequence

import torch

from . import _c
from ._c import Error, lib
from .engine import Engine, Handle, Plan, Weights, Workspace, _one_each, fail_for_parents, give_turn
from .moe import MoeLayer
from .nvfp4 import _GIVEN, Matrix

_ACTIVATIONS = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.uint8: "nvfp4"}
_OUTPUTS = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}
_SMALLEST_BUCKET = 16
_run = _c.unchecked("thresher_run")
_enqueue = _c.unchecked("thresher_moe_enqueue", [c_void_p, c_char_p, c_void_p])  # tokens as bytes
_enqueue_rows = _c.unchecked("thresher_enqueue_rows", [c_void_p, c_char_p, c_void_p])  # and rows
_tokens, _rows = _c.packer(_c.MoeTokens), _c.packer(_c.Rows)

_engines: dict[torch.device, Engine] = {}
_engines_turn = threading.Lock()


def _leave_engines_to_parent() -> None:
    """In a child of fork(): the parent's engines are of no use, but must not be destroyed here either.

    Nor is its lock: the thread that held it to open one is not here to give it back.
    """
    global _engines_turn
    _engines_turn = threading.Lock()
    _of_parent.append(dict(_engines))
    _engines.clear()


_of_parent: list[dict[torch.device, Engine]] = []
os.register_at_fork(after_in_child=_leave_engines_to_parent)


def engine(device: torch.device | str) -> Engine:
    """The engine that tensors of a device are computed by: one per device and process."""
    device = _with_index(torch.device(device))
    found = _engines.get(device)
    if found is None:
        with _engines_turn:
            found = _engines.get(device) or _engines.setdefault(device, _open(device))
    return found


def _with_index(device: torch.device) -> torch.device:
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def _number_of(device: torch.device) -> int:
    """As Tensor.get_device() says it, which costs less than Tensor.device."""
    return -1 if device.index is None else device.index


def _open(device: torch.device) -> Engine:
    if device.type == "cpu":
        return Engine("cpu", threads=torch.get_num_threads())
    if device.type != "cuda":
        raise Error(f"there is no engine for {device}: tensors are on cpu or cuda")
    torch.cuda.init()
    return Engine(f"gpu:{device.index}")


def matrix_of(codes: torch.Tensor, scales: torch.Tensor, global_scale: float = 1.0) -> Matrix:
    """A checkpoint's tensors (uint8 codes, float8_e4m3fn or uint8 scales) as a matrix to pack."""
    return Matrix(_bytes_of(codes), _bytes_of(scales), float(global_scale))


def _bytes_of(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy()


def quantize_weight(weight: torch.Tensor) -> Matrix:
    """A float32, float16 or bfloat16 weight [n, k] as makers of checkpoints round it."""
    codes, scales, global_scale = torch.ops.thresher.quantize(weight.detach().cpu().contiguous())
    return matrix_of(codes, scales, global_scale.item())


class GroupedWeights:
    """The weights of all groups on a device, with all that calls need but tensors. Operators know it by `id`.

    matrices: one Matrix per group, or a pair (gate, up) per group for dual. activations: torch.bfloat16 or
    torch.float16, or torch.uint8 for NVFP4 codes, whose global scale is a_global_scale. alpha and alpha_up: one factor,
    or one per group.
    """

    _turn: threading.Lock
    is_of_parent: bool

    def __init__(self, matrices: Sequence[Matrix | tuple[Matrix, Matrix]], *, device: torch.device | str = "cpu",
                 activations: torch.dtype = torch.bfloat16, alpha: float | Sequence[float] = 1.0,
                 alpha_up: float | Sequence[float] = 1.0, a_global_scale: float | Sequence[float] = 1.0):
        if activations not in _ACTIVATIONS:
            raise Error(f"activations = {activations} is none of {', '.join(map(str, _ACTIVATIONS))}")
        if not matrices:
            raise Error("there are no matrices")
        self.device = _with_index(torch.device(device))
        self.engine = engine(self.device)
        self.activations = activations
        self.weights = [self._pack(one) for one in matrices]
        ops = {weights.op for weights in self.weights}
        shapes = {(weights.n, weights.k) for weights in self.weights}
        if len(ops) != 1 or len(shapes) != 1:
            raise Error(f"groups differ: {sorted(ops)}, (n, k) {sorted(shapes)}")
        (self.op,), ((self.n, self.k),) = ops, shapes
        self.is_plain = len(self.weights) == 1 and activations is not torch.uint8
        self.device_index = _number_of(self.device)
        self.row_elements = self.k // 2 if activations is torch.uint8 else self.k
        factors = zip(*(_one_each(value, self.weights, what) for value, what in (
            (a_global_scale, "a_global_scale"), (alpha, "alpha"), (alpha_up, "alpha_up"))))
        self._groups = (_c.GroupOperands * len(self.weights))()
        for group, weights, (of_a, of_product, of_up) in zip(self._groups, self.weights, factors):
            group.weights, group.a_global_scale = weights._handle, of_a
            group.alpha, group.alpha_up = of_product, of_up
        self._ready: dict[Any, Any] = {}
        give_turn(self)
        self.id = next(_ids)
        _remember(_known, self)

    def _pack(self, matrices: Any) -> Weights:
        pair = matrices if isinstance(matrices, tuple) else (matrices,)
        return self.engine.pack(*pair, activations=_ACTIVATIONS[self.activations])

    @property
    def nbytes(self) -> int:
        return sum(weights.nbytes for weights in self.weights)

    def operands(self, rows: _c.Rows, device_counts: int | None = None) -> _c.Operands:
        return _c.Operands(self._groups, len(self._groups), rows, device_counts, 0)

    def _keep_ready(self, key: Any) -> list[Any]:
        """Where idle host calls of a key are kept; the oldest keys go."""
        with self._turn:
            while len(self._ready) >= _HOST_CALLS_KEPT:
                self._ready.pop(next(iter(self._ready)))
            return self._ready.setdefault(key, [])

    def plan(self, counts: Sequence[int], output: torch.dtype, tokens_max: int = 0) -> Plan:
        groups = [(count, self.n, self.k) for count in counts]
        return self.engine.plan(groups, op=self.op, activations=_ACTIVATIONS[self.activations],
                                output=_OUTPUTS[output], tokens_max=tokens_max)


_ids = itertools.count(1)
# Weak references, in plain dicts: a WeakValueDictionary finds its values by code in Python.
_known: dict[int, weakref.ref[GroupedWeights]] = {}


def _remember(known: dict[int, Any], thing: Any) -> None:
    number = thing.id
    known[number] = weakref.ref(thing, lambda reference: known.pop(number, None))


def _find(weights: int, op: str) -> GroupedWeights:
    reference = _known.get(weights)
    found = None if reference is None else reference()
    if found is None:
        raise Error(f"there are no weights of id {weights}: they must live as long as calls name them")
    if found.op != op:
        raise Error(f"the weights of id {weights} were packed for {found.op}, not for {op}")
    return found


def _output_dtype(a: torch.Tensor, out_dtype: torch.dtype | None) -> torch.dtype:
    if out_dtype is None:
        return torch.bfloat16 if a.dtype is torch.uint8 else a.dtype
    if out_dtype not in _OUTPUTS:
        raise Error(f"out_dtype = {out_dtype} is none of {', '.join(map(str, _OUTPUTS))}")
    return out_dtype


def _check(grouped: GroupedWeights, a: torch.Tensor, counts: torch.Tensor | None,
           a_scales: torch.Tensor | None) -> None:
    """What the library cannot see behind an address."""
    shape = a.shape
    if (counts is None and a_scales is None and grouped.is_plain and a.dtype is grouped.activations
            and len(shape) == 2 and shape[1] == grouped.k and a.is_contiguous()
            and a.get_device() == grouped.device_index):
        return  # what most calls are, looked at in the shortest way
    if a.dtype is not grouped.activations:
        raise Error(f"a is of {a.dtype} but the weights were packed for {grouped.activations}")
    if a.dim() != 2 or a.shape[1] != grouped.row_elements:
        raise Error(f"a has shape {tuple(a.shape)} instead of (rows, {grouped.row_elements})")
    if a.device != grouped.device:
        raise Error(f"a is on {a.device} but the weights are on {grouped.device}")
    if not a.is_contiguous():
        raise Error(f"a is not contiguous (strides {a.stride()}); a.contiguous() makes a copy that is")
    if counts is not None:
        if counts.dtype is not torch.int32 or counts.shape != (len(grouped.weights),):
            raise Error(f"counts is {counts.dtype} of shape {tuple(counts.shape)} instead of torch.int32 of shape "
                        f"({len(grouped.weights)},)")
        if counts.device != a.device:
            raise Error(f"counts is on {counts.device} but a is on {a.device}")
    elif len(grouped.weights) != 1:
        raise Error(f"there are {len(grouped.weights)} groups, and no counts that say how many rows each has")
    if (a_scales is None) == (a.dtype is torch.uint8):
        raise Error("a_scales comes with NVFP4 activations, and with no other")
    if a_scales is not None:
        shape = (a.shape[0], grouped.k // 16)
        if a_scales.shape != shape or a_scales.element_size() != 1:
            raise Error(f"a_scales is {a_scales.dtype} of shape {tuple(a_scales.shape)} instead of one byte each of "
                        f"shape {shape}")
        if a_scales.device != a.device or not a_scales.is_contiguous():
            raise Error(f"a_scales is on {a_scales.device} with strides {a_scales.stride()}: it must be on {a.device} "
                        "and contiguous")


class _HostCall:
    """A plan with operands to fill in, used by one call at a time."""

    __slots__ = ("plan", "workspace", "operands", "rows", "arguments")

    def __init__(self, grouped: GroupedWeights, counts: Sequence[int], output: torch.dtype):
        self.plan = grouped.plan(counts, output)
        self.workspace = Workspace(grouped.engine, self.plan)
        self.operands = grouped.operands(_c.Rows())
        self.rows = self.operands.rows
        self.arguments = (grouped.engine._handle, self.plan._handle, byref(self.operands), self.workspace._handle)


_HOST_CALLS_KEPT = 256


def _host_product(op: str, a: torch.Tensor, weights: int, counts: torch.Tensor | None = None,
                  a_scales: torch.Tensor | None = None, *, out_dtype: torch.dtype | None = None) -> torch.Tensor:
    grouped = _find(weights, op)
    _check(grouped, a, counts, a_scales)
    rows = a.shape[0]
    output = a.dtype if out_dtype is None and a_scales is None else _output_dtype(a, out_dtype)
    key: Any
    if counts is None:
        key = (rows, output)
    else:
        of_groups = tuple(counts.tolist())
        key = (of_groups, output)
        if sum(of_groups) != rows:
            raise Error(f"the counts sum to {sum(of_groups)} but a has {rows} rows")
    out = torch.empty(rows, grouped.n, dtype=output)
    idle: Any = grouped._ready.get(key)
    try:
        call = idle.pop()
    except (IndexError, AttributeError):  # they are all in use, or there were none yet
        call = _HostCall(grouped, [rows] if counts is None else of_groups, output)
    to = call.rows
    to.a, to.c = a.data_ptr(), out.data_ptr()
    if a_scales is not None:
        to.a_scales = a_scales.data_ptr()
    if status := _run(*call.arguments):
        _c.check(status)
    if idle is None:
        idle = grouped._keep_ready(key)
    idle.append(call)
    return out


class _BoundCall(Handle):
    """A plan for up to so many tokens, bound to a workspace and to counts of its own on the device."""

    _destroy = lib.thresher_call_destroy

    def __init__(self, grouped: GroupedWeights, rows: _c.Rows, tokens_max: int, output: torch.dtype):
        self.plan = grouped.plan([0] * len(grouped.weights), output, tokens_max)
        self.workspace = Workspace(grouped.engine, self.plan)
        self.counts = torch.zeros(len(grouped.weights), dtype=torch.int32, device=grouped.device)
        operands = grouped.operands(rows, self.counts.data_ptr())
        handle = c_void_p()
        lib.thresher_bind(grouped.engine._handle, self.plan._handle, byref(operands), self.workspace._handle,
                          byref(handle))
        self._own(handle)
        self.stream = torch.cuda.current_stream(grouped.device)
        self.rows: int | None = None  # what counts says, if it is known
        self.is_captured = False

    def set_counts(self, rows: int, counts: torch.Tensor | None, stream: int) -> None:
        """Queues what tells kernels how many rows groups have.

        A graph says it whenever it is replayed, so that after a capture nobody knows what was said last.
        """
        if stream and not self.is_captured:  # CUDA captures no default stream, and asking it takes its time
            self.is_captured = torch.cuda.is_current_stream_capturing()
        if counts is not None:
            self.counts.copy_(counts)
            self.rows = None
        elif self.rows != rows or self.is_captured:
            self.counts.fill_(rows)
            self.rows = rows


def _bucket(rows: int) -> int:
    return max(_SMALLEST_BUCKET, 1 << (rows - 1).bit_length()) if rows else _SMALLEST_BUCKET


def _order(call: Any, device: torch.device) -> int:
    """The current stream's handle, after whatever used the call's workspace last."""
    handle = torch._C._cuda_getCurrentRawStream(device.index)  # a Stream object costs a microsecond
    if handle != call.stream.cuda_stream:
        stream = torch.cuda.current_stream(device)
        if not torch.cuda.is_current_stream_capturing():
            stream.wait_stream(call.stream)
        call.stream = stream
    return handle


def _device_product(op: str, a: torch.Tensor, weights: int, counts: torch.Tensor | None = None,
                    a_scales: torch.Tensor | None = None, *, out_dtype: torch.dtype | None = None) -> torch.Tensor:
    grouped = _find(weights, op)
    _check(grouped, a, counts, a_scales)
    output = a.dtype if out_dtype is None and a_scales is None else _output_dtype(a, out_dtype)
    rows = a.shape[0]
    # Two numbers and not a tuple of them, which torch takes longer to read; and a device that is there already.
    out = torch.empty(rows, grouped.n, dtype=output, device=grouped.device)
    if rows == 0:
        return out
    where = a.data_ptr(), 0 if a_scales is None else a_scales.data_ptr(), out.data_ptr(), 0
    key = (_bucket(rows), output)
    with grouped._turn:
        call = grouped._ready.get(key)
        if call is None:
            if torch.cuda.is_current_stream_capturing():
                raise Error(f"{op} of {rows} rows was not called before this capture: a first call plans and compiles, "
                            "which a graph cannot hold. Call it once with as many rows, then capture")
            call = grouped._ready[key] = _BoundCall(grouped, _c.Rows(*where), key[0], output)
        stream = _order(call, grouped.device)
        call.set_counts(rows, counts, stream)
        if status := _enqueue_rows(call._handle, _rows(*where), stream):
            _c.check(status)
    return out


def _fake_product(op: str, a: torch.Tensor, weights: int, out_dtype: torch.dtype | None) -> torch.Tensor:
    grouped = _find(weights, op)
    return a.new_empty((a.shape[0], grouped.n), dtype=_output_dtype(a, out_dtype))


class Moe:
    """A MoeLayer for tensors of the device that its engine computes on. Operators know it by `id`."""

    _turn: threading.Lock
    is_of_parent: bool

    def __init__(self, layer: MoeLayer, device: torch.device | str):
        self.device = _with_index(torch.device(device))
        if layer._engine is not engine(self.device):
            raise Error(f"the layer belongs to {layer._engine}, not to thresher.torch.engine({str(device)!r})")
        self.layer = layer
        self.handle, self.hidden, self.top_k, self.tokens_max = (layer._handle, layer.hidden, layer.top_k,
                                                                 layer.tokens_max)
        self.device_index = _number_of(self.device)
        self.x_dtype, self.out_dtype = (_DTYPES[kind] for kind in (layer.x_type, layer.out_type))
        self.stream = torch.cuda.current_stream(self.device) if self.device.type == "cuda" else None
        give_turn(self)  # of which a layer on the CPU has one of its own
        self.id = next(_ids)
        _remember(_layers, self)


_DTYPES = {word: dtype for dtype, word in _OUTPUTS.items()}
_INT32_MAX = 2**31 - 1
_INT32, _FLOAT32, _empty_like = torch.int32, torch.float32, torch.empty_like  # found in one step, not two
_layers: dict[int, weakref.ref[Moe]] = {}


def _find_layer(layer: int) -> Moe:
    reference = _layers.get(layer)
    found = None if reference is None else reference()
    if found is None:
        raise Error(f"there is no layer of id {layer}: it must live as long as calls name it")
    return found


def _check_tokens(moe: Moe, x: torch.Tensor) -> None:
    if x.dtype is not moe.x_dtype:
        raise Error(f"x is of {x.dtype} but the layer was made for {moe.x_dtype}")
    if x.dim() != 2 or x.size(1) != moe.layer.hidden:
        raise Error(f"x has shape {tuple(x.shape)} instead of (tokens, {moe.layer.hidden})")
    if x.device != moe.device:
        raise Error(f"x is on {x.device} but the layer is on {moe.device}")
    if x.stride(1) != 1 or x.stride(0) < x.size(1) and x.size(0) > 1:
        raise Error(f"rows of x are not contiguous (strides {x.stride()}); x.contiguous() makes a copy that is")


def _of_slots(tensor: torch.Tensor, shape: tuple[int, int], dtype: torch.dtype, x: torch.Tensor,
              what: str) -> torch.Tensor:
    """`tensor` as the library takes it, a tensor of `shape` on x's device."""
    if tensor.dim() != 2 or tensor.size(0) != shape[0] or tensor.size(1) != shape[1] or (
            tensor.device != x.device):
        raise Error(f"{what} has shape {tuple(tensor.shape)} on {tensor.device} instead of {shape} on {x.device}")
    if tensor.dtype is dtype:
        return tensor if tensor.is_contiguous() else tensor.contiguous()
    if dtype is torch.int32 and tensor.dtype is torch.int64:
        # No id beyond int32 may become another one: those are nobody's.
        tensor = tensor.clamp(-1, _INT32_MAX)
    elif dtype is torch.int32 or not tensor.dtype.is_floating_point:
        raise Error(f"{what} is of {tensor.dtype}; ids are int32 or int64, weights floating-point")
    return tensor.to(dtype).contiguous()


def _moe(x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor, layer: int,
         shared_weights: torch.Tensor | None = None) -> torch.Tensor:
    reference = _layers.get(layer)
    moe = (None if reference is None else reference()) or _find_layer(layer)
    shape, of_slots = x.shape, ids.shape
    count = shape[0] if shape else 0
    if (shared_weights is None and x.dtype is moe.x_dtype and ids.dtype is _INT32 and weights.dtype is _FLOAT32
            and count <= moe.tokens_max and not moe.is_of_parent and len(shape) == 2 and shape[1] == moe.hidden
            and of_slots == weights.shape and len(of_slots) == 2 and of_slots[0] == count and of_slots[1] == moe.top_k
            and x.is_contiguous() and ids.is_contiguous() and weights.is_contiguous()
            and x.get_device() == ids.get_device() == weights.get_device() == moe.device_index):
        # What most calls are, looked at in the shortest way.
        out = _empty_like(x) if moe.out_dtype is moe.x_dtype else _empty_like(x, dtype=moe.out_dtype)
        tokens = _tokens(x.data_ptr(), 0, ids.data_ptr(), weights.data_ptr(), 0, out.data_ptr(), 0, count)
        if moe.stream is None:
            status = _enqueue(moe.handle, tokens, None)
        else:
            with moe._turn:  # or another thread's call comes between the order and what is ordered
                status = _enqueue(moe.handle, tokens, _order(moe, moe.device))
        if status:
            _c.check(status)
        return out
    if moe.is_of_parent:
        fail_for_parents(moe)
    _check_tokens(moe, x)
    slots = (count, moe.layer.top_k)
    ids = _of_slots(ids, slots, torch.int32, x, "ids")
    weights = _of_slots(weights, slots, torch.float32, x, "weights")
    if shared_weights is not None:
        shared_weights = _of_slots(shared_weights, (count, moe.layer.shared_count), torch.float32, x, "shared_weights")
    out = torch.empty(count, moe.layer.hidden, dtype=moe.out_dtype, device=x.device)
    if moe.stream is None:
        _enqueue_parts(moe, x, ids, weights, shared_weights, out, None)
    else:
        with moe._turn:
            _enqueue_parts(moe, x, ids, weights, shared_weights, out, _order(moe, moe.device))
    return out


def _enqueue_parts(moe: Moe, x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor,
                   shared_weights: torch.Tensor | None, out: torch.Tensor, stream: int | None) -> None:
    """As many calls as it takes for tokens_max of each."""
    for first in range(0, x.size(0), moe.tokens_max):
        part = slice(first, first + moe.tokens_max)
        of_shared = None if shared_weights is None else shared_weights[part]
        _enqueue_tokens(moe, x[part], ids[part], weights[part], of_shared, out[part], stream)


def _enqueue_tokens(moe: Moe, x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor,
                    shared_weights: torch.Tensor | None, out: torch.Tensor, stream: int | None) -> None:
    count = x.size(0)
    tokens = _c.MoeTokens(x.data_ptr(), x.stride(0) if count > 1 else 0, ids.data_ptr(), weights.data_ptr(),
                          None if shared_weights is None else shared_weights.data_ptr(), out.data_ptr(), 0, count)
    lib.thresher_moe_enqueue(moe.layer._handle, byref(tokens), stream)


def _fake_moe(x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor, layer: int,
              shared_weights: torch.Tensor | None = None) -> torch.Tensor:
    moe = _find_layer(layer)
    return x.new_empty((x.shape[0], moe.layer.hidden), dtype=moe.out_dtype)


# Where a magnitude becomes the next E2M1 code: midpoints, of which those go up whose upper code is even.
_E2M1_ABOVE = (0.25, 1.25, 2.5, 5.0)
_E2M1_FROM = (0.75, 1.75, 3.5)
_GLOBAL_SCALE_MIN = 2.0**-117
_E4M3_LEAST = 2.0**-9
_FLOAT32_MAX = torch.finfo(torch.float32).max


def _check_values(x: torch.Tensor) -> None:
    if x.dim() != 2 or x.shape[1] % 16 or x.shape[1] == 0:
        raise Error(f"x has shape {tuple(x.shape)}: NVFP4 wants (rows, k) with k a multiple of 16")
    if x.dtype not in _OUTPUTS:
        raise Error(f"x is of {x.dtype}, which is none of {', '.join(map(str, _OUTPUTS))}")
    if not x.is_contiguous():
        raise Error(f"x is not contiguous (strides {x.stride()}); x.contiguous() makes a copy that is")


def _device_quantize(x: torch.Tensor, global_scale: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor,
                                                                                    torch.Tensor]:
    """quantize() of nvfp4.hpp operation by operation, so that the bytes are the same.

    What the library refuses is seen without waiting for it, and told by a global scale that is NaN: values that are
    not finite, and a scale that a tensor of the device brings.
    """
    _check_values(x)
    blocks = x.float().view(x.shape[0], -1, 16)
    of_block = blocks.abs().amax(-1, keepdim=True)
    amax = of_block.amax() if x.numel() else x.new_zeros((), dtype=torch.float32)
    if global_scale is None:
        global_scale = torch.where(amax == 0, 1.0, (amax / 2688.0).clamp_min(_GLOBAL_SCALE_MIN))
    else:
        global_scale = _given_on(global_scale, x.device)
    scales = (of_block / (6.0 * global_scale)).clamp(_E4M3_LEAST, 448.0).to(torch.float8_e4m3fn)
    scales = torch.where(of_block == 0, 0.0, scales.float())
    steps = torch.where(scales == 0, 1.0, scales * global_scale)
    units = blocks / steps
    magnitude = units.abs()
    codes = sum((magnitude > edge).to(torch.uint8) for edge in _E2M1_ABOVE)
    codes = codes + sum((magnitude >= edge).to(torch.uint8) for edge in _E2M1_FROM)
    codes = codes | (torch.signbit(units) & (scales != 0)).to(torch.uint8) << 3
    codes = codes.view(x.shape[0], -1, 2)
    sound = amax.isfinite() & global_scale.isfinite() & (global_scale >= _GLOBAL_SCALE_MIN)
    return (codes[..., 0] | codes[..., 1] << 4, scales.squeeze(-1).to(torch.float8_e4m3fn),
            torch.where(sound, global_scale, torch.nan))


def _given_on(global_scale: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A global scale of the caller's, on the device. One that the host knows is looked at."""
    _check_scale(global_scale)
    if global_scale.device == device and device.type != "cpu":
        return global_scale.to(torch.float32).reshape(())
    given = global_scale.item()
    if not _GLOBAL_SCALE_MIN <= given <= _FLOAT32_MAX:
        raise Error(f"global_scale = {given} is not in {_GLOBAL_SCALE_MIN}..{_FLOAT32_MAX}")
    return torch.full((), given, dtype=torch.float32, device=device)


def _check_scale(global_scale: torch.Tensor) -> None:
    if global_scale.numel() != 1 or not global_scale.is_floating_point():
        raise Error(f"global_scale is {global_scale.dtype} of shape {tuple(global_scale.shape)} instead of one "
                    "floating-point value")


_QUANTIZE = {torch.float32: lib.thresher_quantize, torch.float16: lib.thresher_quantize_fp16,
             torch.bfloat16: lib.thresher_quantize_bf16}


def _host_quantize(x: torch.Tensor, global_scale: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor,
                                                                                  torch.Tensor]:
    _check_values(x)
    if global_scale is not None:
        _check_scale(global_scale)
    given = 1.0 if global_scale is None else global_scale.item()
    codes = torch.empty((x.shape[0], x.shape[1] // 2), dtype=torch.uint8)
    scales = torch.empty((x.shape[0], x.shape[1] // 16), dtype=torch.float8_e4m3fn)
    out = _c.Nvfp4Buffer(codes.data_ptr(), scales.data_ptr(), x.shape[0], x.shape[1], given)
    _QUANTIZE[x.dtype](x.data_ptr(), 1 if global_scale is None else _GIVEN, byref(out))
    return codes, scales, torch.tensor(out.global_scale, dtype=torch.float32)


def _fake_quantize(x: torch.Tensor, global_scale: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor,
                                                                                  torch.Tensor]:
    return (x.new_empty((x.shape[0], x.shape[1] // 2), dtype=torch.uint8),
            x.new_empty((x.shape[0], x.shape[1] // 16), dtype=torch.float8_e4m3fn),
            x.new_empty((), dtype=torch.float32))


def _register() -> torch.library.Library:
    try:
        library = torch.library.Library("thresher", "DEF")
    except RuntimeError as error:
        raise ImportError("torch.ops.thresher is there already: another copy of thresher.torch is loaded in this "
                          f"process, and torch has one set of operators for all ({error})") from None
    for op in ("gemm", "dual"):
        library.define(f"{op}(Tensor a, int weights, Tensor? counts=None, Tensor? a_scales=None, *, "
                       "ScalarType? out_dtype=None) -> Tensor")
        library.impl(op, functools.partial(_host_product, op), "CPU")
        library.impl(op, functools.partial(_device_product, op), "CUDA")
        torch.library.register_fake(f"thresher::{op}", _fake(op), lib=library)
    library.define("moe(Tensor x, Tensor ids, Tensor weights, int layer, Tensor? shared_weights=None) -> Tensor")
    library.impl("moe", _moe, "CPU")
    library.impl("moe", _moe, "CUDA")
    torch.library.register_fake("thresher::moe", _fake_moe, lib=library)
    library.define("quantize(Tensor x, Tensor? global_scale=None) -> (Tensor, Tensor, Tensor)")
    library.impl("quantize", lambda x, global_scale=None: _host_quantize(x, global_scale), "CPU")
    library.impl("quantize", lambda x, global_scale=None: _device_quantize(x, global_scale), "CUDA")
    torch.library.register_fake("thresher::quantize",
                                lambda x, global_scale=None: _fake_quantize(x, global_scale), lib=library)
    for op in ("gemm", "dual", "moe", "quantize"):  # no gradients, and no microsecond spent on saying so
        library.impl(op, torch.library.fallthrough_kernel, "Autograd")
    return library


def _asked(name: str) -> Any:
    """A question to torch's insides; where it is not there, every call is an operator's."""
    return getattr(torch._C, name, lambda: True)


_ops, _Tensor, _profiler, _is_compiling = torch.ops.thresher, torch.Tensor, torch.autograd.profiler, \
    torch.compiler.is_compiling
_has_function_modes, _has_dispatch_modes = _asked("_is_torch_function_mode_enabled"), _asked("_len_torch_dispatch_stack")
_has_transforms, _tracing_state = _asked("_are_functorch_transforms_active"), _asked("_get_tracing_state")


def _is_watched() -> Any:
    """Whether somebody has to see an operator: a compiler, a trace, a profiler, a mode or a transform."""
    return (_is_compiling() or _has_function_modes() or _has_dispatch_modes() or _has_transforms() or _tracing_state()
            or _profiler._is_profiler_enabled)


def _product(op: str, a: torch.Tensor, weights: int, counts: torch.Tensor | None, a_scales: torch.Tensor | None,
             out_dtype: torch.dtype | None) -> torch.Tensor:
    if (not _is_watched() and type(a) is _Tensor and (counts is None or type(counts) is _Tensor)
            and (a_scales is None or type(a_scales) is _Tensor)):
        if a.is_cpu:
            return _host_product(op, a, weights, counts, a_scales, out_dtype=out_dtype)
        if a.is_cuda:
            return _device_product(op, a, weights, counts, a_scales, out_dtype=out_dtype)
    return getattr(_ops, op)(a, weights, counts, a_scales, out_dtype=out_dtype)


def gemm(a: torch.Tensor, weights: int, counts: torch.Tensor | None = None, a_scales: torch.Tensor | None = None, *,
         out_dtype: torch.dtype | None = None) -> torch.Tensor:
    """torch.ops.thresher.gemm, on the shortest way."""
    return _product("gemm", a, weights, counts, a_scales, out_dtype)


def dual(a: torch.Tensor, weights: int, counts: torch.Tensor | None = None, a_scales: torch.Tensor | None = None, *,
         out_dtype: torch.dtype | None = None) -> torch.Tensor:
    """torch.ops.thresher.dual, on the shortest way."""
    return _product("dual", a, weights, counts, a_scales, out_dtype)


def moe(x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor, layer: int,
        shared_weights: torch.Tensor | None = None) -> torch.Tensor:
    """torch.ops.thresher.moe, on the shortest way."""
    if (not _is_watched() and type(x) is _Tensor and type(ids) is _Tensor and type(weights) is _Tensor
            and (shared_weights is None or type(shared_weights) is _Tensor) and (x.is_cpu or x.is_cuda)):
        return _moe(x, ids, weights, layer, shared_weights)
    return _ops.moe(x, ids, weights, layer, shared_weights)


def _fake(op: str) -> Any:
    def call(a: torch.Tensor, weights: int, counts: torch.Tensor | None = None, a_scales: torch.Tensor | None = None,
             *, out_dtype: torch.dtype | None = None) -> torch.Tensor:
        return _fake_product(op, a, weights, out_dtype)
    return call


_library = _register()  # its operators go when it goes
