# SPDX-License-Identifier: Apache-2.0
"""The engine: pack weights once, then multiply as often as you like, on any device, numpy in and out."""
from __future__ import annotations

import collections
import ctypes
import os
import pathlib
import sys
import threading
import weakref
from ctypes import byref, c_void_p
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from . import _c
from ._arrays import (ACTIVATIONS, DTYPES, OPS, OUTPUTS, need_array, need_float, need_int, need_output, need_path,
                      need_shape, need_text, number_of, type_of_values)
from ._c import Error, lib
from .nvfp4 import Matrix

_PLANS_KEPT = 64


class Handle:
    """Something that the library made and wants back; it goes when nobody refers to it any more."""

    _destroy: Any

    def __reduce__(self) -> Any:
        """For copy, deepcopy and pickle: two owners would give it back twice, and other processes have none."""
        raise Error(f"a thresher.{type(self).__name__} is neither copied nor pickled: use this one, from many threads "
                    "too, and in another process make another")

    def _own(self, handle: c_void_p) -> None:
        self._handle = handle.value
        # Not __del__: this also runs in order, the last made first, when the interpreter ends.
        weakref.finalize(self, self._destroy, handle.value)


_have_turns: weakref.WeakSet[Any] = weakref.WeakSet()


def give_turn(owner: Any) -> None:
    """A lock for what threads must not do at once to `owner`; in a child of fork() it is free, whoever held it."""
    owner._turn, owner.is_of_parent = threading.Lock(), False
    _have_turns.add(owner)


def _free_turns() -> None:
    for owner in list(_have_turns):
        owner._turn, owner.is_of_parent = threading.Lock(), True


def fail_for_parents(layer: Any) -> None:
    """A layer's own lock, which no child can free, may be held by a thread that stayed with the parent."""
    raise Error(f"this {type(layer).__name__} was made before fork(), and a thread of the parent may have been in a "
                "call of it: make another engine and layer in this process, or start the process without fork")


os.register_at_fork(after_in_child=_free_turns)


class Weights(Handle):
    """A matrix, or gate and up, in the layout and the memory of a device: 0.57 bytes per weight."""

    _destroy = lib.thresher_weights_destroy

    def __init__(self, handle: c_void_p, op: str, n: int, k: int, activations: str):
        self._own(handle)
        self.op, self.n, self.k, self.activations = op, n, k, activations

    @property
    def nbytes(self) -> int:
        return lib.thresher_weights_bytes(self._handle)

    def unpack(self) -> Matrix | tuple[Matrix, Matrix]:
        """The very bytes that were packed: a matrix, or gate and up."""
        b = self._unpack(lib.thresher_unpack)
        return b if self.op == "gemm" else (b, self._unpack(lib.thresher_unpack_up))

    def _unpack(self, function: Any) -> Matrix:
        codes = np.empty((self.n, self.k // 2), np.uint8)
        scales = np.empty((self.n, self.k // 16), np.uint8)
        out = _c.Nvfp4Buffer(codes.ctypes.data, scales.ctypes.data, self.n, self.k, 1.0)
        function(self._handle, byref(out))
        return Matrix(codes, scales, out.global_scale)

    def __repr__(self) -> str:
        return f"thresher.Weights({self.op}, {self.n} x {self.k})"


class Plan(Handle):
    """A problem and the variant that computes it; serves every call of its shape."""

    _destroy = lib.thresher_plan_destroy

    def __init__(self, handle: c_void_p, engine: Engine, *, op: str, activations: str, output: str,
                 groups: tuple[tuple[int, int, int], ...]):
        self._own(handle)
        self._engine = engine
        self._workspaces: list[Workspace] = []  # those that no call uses at the moment
        self.op, self.activations, self.output, self.groups = op, activations, output, groups

    @property
    def variant(self) -> str:
        return _c.text(lib.thresher_plan_variant(self._handle))

    @property
    def workspace_bytes(self) -> int:
        return lib.thresher_plan_workspace_bytes(self._handle)

    @property
    def tokens_max(self) -> int:
        return lib.thresher_plan_tokens_max(self._handle)

    def _take_workspace(self) -> Workspace:
        try:
            return self._workspaces.pop()
        except IndexError:
            return Workspace(self._engine, self)

    def __repr__(self) -> str:
        return f"thresher.Plan({self.op}, {len(self.groups)} groups, {self.variant!r})"


class Workspace(Handle):
    """Scratch memory of one call at a time."""

    _destroy = lib.thresher_workspace_destroy

    def __init__(self, engine: Engine, plan: Plan):
        handle = c_void_p()
        lib.thresher_workspace_create(engine._handle, plan._handle, byref(handle))
        self._own(handle)
        self._engine = engine


class Buffer(Handle):
    """Memory of a device, for those who have no other way to get it."""

    _destroy = lib.thresher_buffer_destroy

    def __init__(self, engine: Engine, nbytes: int):
        handle = c_void_p()
        nbytes = need_int(nbytes, "nbytes", signed=False)
        lib.thresher_buffer_create(need_engine(engine)._handle, nbytes, byref(handle))
        self._own(handle)
        self._engine = engine
        self.nbytes = nbytes

    @property
    def address(self) -> int:
        return lib.thresher_buffer_data(self._handle) or 0

    def copy_in(self, array: np.ndarray, offset: int = 0) -> None:
        array = need_array(array, "array", rank=array.ndim if isinstance(array, np.ndarray) else 0)
        offset = need_int(offset, "offset", signed=False)
        lib.thresher_copy_in(self._handle, array.ctypes.data, array.nbytes, offset)

    def copy_out(self, array: np.ndarray, offset: int = 0) -> None:
        array = need_array(array, "array", rank=array.ndim if isinstance(array, np.ndarray) else 0)
        if not array.flags.writeable:
            raise Error("array is read-only")
        offset = need_int(offset, "offset", signed=False)
        lib.thresher_copy_out(self._handle, array.ctypes.data, array.nbytes, offset)


class Factors(NamedTuple):
    """What multiplies the product of a group: alpha, and for dual alpha_up of its second product."""

    alpha: float = 1.0
    alpha_up: float = 1.0


class Engine(Handle):
    """A device: "cpu", "gpu", "gpu:1", or "emulator", which runs the GPU's kernels on the CPU.

    threads: of the CPU; 0 is one per core that this process may use. cache_folder: where a GPU's compiled
    kernels are kept; None: the user's cache. plan_file: what `thresher tune` wrote. An engine may be used from
    many threads; calls give the interpreter's lock back. After a fork() make another.

    >>> engine = Engine(threads=1)
    >>> engine.device
    'cpu'
    >>> w = engine.pack(quantize(np.full((3, 32), 0.5, np.float32)))
    >>> engine.gemm(np.ones((2, 32), np.float16), w)
    array([[16., 16., 16.],
           [16., 16., 16.]], dtype=float32)
    """

    _destroy = lib.thresher_engine_destroy
    _turn: threading.Lock
    is_of_parent: bool  # made before a fork() that led to this process

    def __init__(self, device: str = "cpu", *, threads: int = 0, cache_folder: str | os.PathLike[str] | None = None,
                 compiler_folders: Iterable[str | os.PathLike[str]] = (), emulator_seed: int = 1,
                 plan_file: str | os.PathLike[str] | None = None):
        name = need_text(device, "device")
        folders = [need_path(folder, "compiler_folders") for folder in compiler_folders]
        if name.startswith(b"gpu"):
            folders += [os.fsencode(folder) for folder in nvrtc_folders()]
            cache_folder = cache_folder or default_cache_folder()
        options = _c.EngineOptions(
            name, need_int(threads, "threads", 32), need_path(cache_folder, "cache_folder") if cache_folder else None,
            (ctypes.c_char_p * len(folders))(*folders), len(folders),
            need_int(emulator_seed, "emulator_seed", signed=False),
            need_path(plan_file, "plan_file") if plan_file else None)
        handle = c_void_p()
        lib.thresher_engine_create(byref(options), byref(handle))
        self._own(handle)
        self._plans: collections.OrderedDict[Any, Plan] = collections.OrderedDict()
        give_turn(self)  # at its plans
        self.device = _c.text(lib.thresher_engine_device(self._handle))
        self._in_host_memory = not self.device.startswith("gpu")

    @property
    def description(self) -> str:
        return _c.text(lib.thresher_engine_description(self._handle))

    @property
    def plan_note(self) -> str:
        """Whether the plan file is used, or why not; empty where there is none."""
        return _c.text(lib.thresher_engine_plan_note(self._handle))

    @property
    def thread_count(self) -> int:
        return lib.thresher_thread_count(self._handle)

    @property
    def variants(self) -> list[str]:
        """Named variants that this device can run, the default first."""
        count = lib.thresher_variant_count(self._handle)
        return [_c.text(lib.thresher_variant_name(self._handle, index)) for index in range(count)]

    def synchronize(self) -> None:
        """Waits for all work on the device, and raises what went wrong there."""
        lib.thresher_synchronize(self._handle)

    def pack(self, b: Matrix, up: Matrix | None = None, *, activations: str = "nvfp4") -> Weights:
        """Weights for gemm(), or with `up` for dual(), whose gate is `b`.

        activations: what they will be multiplied with; on a GPU weights for bf16 lie otherwise.
        """
        for name, matrix in (("b", b), ("up", up)):
            if not isinstance(matrix, Matrix) and not (name == "up" and matrix is None):
                raise Error(f"{name} is a {type(matrix).__name__}, not a thresher.Matrix")
        op = "gemm" if up is None else "dual"
        matrices = _c.WeightMatrices(OPS[op], b._view, up._view if up is not None else _c.Nvfp4View(),
                                     number_of(activations, ACTIVATIONS, "activations"))
        handle = c_void_p()
        lib.thresher_pack(self._handle, byref(matrices), byref(handle))
        return Weights(handle, op, *b.shape, activations)

    def plan(self, groups: Sequence[tuple[int, int, int]], *, op: str = "gemm", activations: str = "nvfp4",
             output: str = "fp32", variant: str = "", tokens_max: int = 0) -> Plan:
        """Plans groups of (m, n, k); without a variant the engine chooses one.

        >>> Engine(threads=1).plan([(4, 64, 32)], variant="cpu_portable")
        thresher.Plan(gemm, 1 groups, 'cpu_portable')
        """
        shapes = tuple(_group_of(index, group) for index, group in enumerate(groups))
        array = (_c.Group * len(shapes))(*(_c.Group(*shape) for shape in shapes))
        problem = _c.Problem(b"", number_of(op, OPS, "op"), number_of(activations, ACTIVATIONS, "activations"),
                             number_of(output, OUTPUTS, "output"), array, len(shapes))
        handle = c_void_p()
        lib.thresher_plan_create(self._handle, byref(problem), need_text(variant, "variant"),
                                 need_int(tokens_max, "tokens_max"), byref(handle))
        return Plan(handle, self, op=op, activations=activations, output=output, groups=shapes)

    def gemm(self, a: np.ndarray | Matrix, weights: Weights | Sequence[Weights],
             counts: Sequence[int] | None = None, *, output: str = "fp32",
             alpha: float | Sequence[float] = 1.0, out: np.ndarray | None = None) -> np.ndarray:
        """C = (A * B^T) * alpha for every group.

        a: a Matrix, or float16, or bfloat16 bits in uint16; the rows of all groups, one group after the
        other, counts of them each. C is float32, float16, or bfloat16 bits, as `output` says.

        >>> engine = Engine(threads=1)
        >>> one, two = (engine.pack(quantize(np.full((4, 16), v, np.float32))) for v in (1, 2))
        >>> engine.gemm(np.ones((3, 16), np.float16), [one, two], [1, 2])[:, 0]
        array([16., 32., 32.], dtype=float32)
        """
        return self._multiply("gemm", a, weights, counts, output, alpha, 1.0, out)

    def dual(self, a: np.ndarray | Matrix, weights: Weights | Sequence[Weights],
             counts: Sequence[int] | None = None, *, output: str = "fp32", alpha: float | Sequence[float] = 1.0,
             alpha_up: float | Sequence[float] = 1.0, out: np.ndarray | None = None) -> np.ndarray:
        """C = silu(A * gate^T * alpha) * (A * up^T * alpha_up) for every group, rounded once."""
        return self._multiply("dual", a, weights, counts, output, alpha, alpha_up, out)

    def run(self, plan: Plan, a: np.ndarray | Matrix, weights: Weights | Sequence[Weights], *,
            factors: Sequence[Factors] | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Computes a plan whose groups all have the same n and k."""
        if not isinstance(plan, Plan):
            raise Error(f"plan is a {type(plan).__name__}, not a thresher.Plan")
        packed = _weights_of(weights, plan.op)
        if len(packed) != len(plan.groups):
            raise Error(f"there are weights of {len(packed)} groups but the plan has {len(plan.groups)} groups")
        kind, values, scales, a_global_scale = _activations_of(a)
        if kind != plan.activations:
            raise Error(f"a is {kind} but the plan is for {plan.activations}")
        _, n, k = plan.groups[0]
        rows = sum(m for m, _, _ in plan.groups)
        need_shape(values, (rows, k // 2 if kind == "nvfp4" else k), "a's codes" if kind == "nvfp4" else "a")
        if out is None:
            out = np.empty((rows, n), DTYPES[plan.output])
        stride = need_output(out, (rows, n), DTYPES[plan.output], "out")
        if np.may_share_memory(out, values) or scales is not None and np.may_share_memory(out, scales):
            raise Error("out overlaps a")
        groups = (_c.GroupOperands * len(packed))()
        for group, weight, factor in zip(groups, packed, _factors_of(factors, packed)):
            group.weights, group.a_global_scale = weight._handle, a_global_scale
            group.alpha, group.alpha_up = factor
        self._run(plan, groups, values, scales, out, stride)
        return out

    def _multiply(self, op: str, a: Any, weights: Any, counts: Any, output: str, alpha: Any, alpha_up: Any,
                  out: Any) -> np.ndarray:
        packed = _weights_of(weights, op)
        kind, values, _, _ = _activations_of(a)
        if counts is None:
            if len(packed) != 1:
                raise Error(f"there are {len(packed)} groups, and no counts that say how many rows each has")
            counts = [values.shape[0]]
        counts = [need_int(count, f"group {index}: count") for index, count in enumerate(counts)]
        if len(counts) != len(packed):
            raise Error(f"there are weights of {len(packed)} groups but {len(counts)} counts")
        if sum(counts) != values.shape[0]:
            raise Error(f"the counts sum to {sum(counts)} but a has {values.shape[0]} rows")
        shapes = {(weight.n, weight.k) for weight in packed}
        if len(shapes) != 1:
            raise Error(f"groups differ in (n, k): {sorted(shapes)}")
        (n, k), = shapes
        plan = self._planned(op, kind, output, tuple((m, n, k) for m in counts))
        factors = [Factors(*pair) for pair in zip(_one_each(alpha, packed, "alpha"),
                                                  _one_each(alpha_up, packed, "alpha_up"))]
        return self.run(plan, a, packed, factors=factors, out=out)

    def _planned(self, op: str, activations: str, output: str, groups: tuple[tuple[int, int, int], ...]) -> Plan:
        key = (op, activations, output, groups)
        with self._turn:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                return plan
        plan = self.plan(groups, op=op, activations=activations, output=output)
        with self._turn:
            self._plans[key] = plan
            while len(self._plans) > _PLANS_KEPT:
                self._plans.popitem(last=False)
        return plan

    def _run(self, plan: Plan, groups: Any, values: np.ndarray, scales: np.ndarray | None, out: np.ndarray,
             stride: int) -> None:
        if self._in_host_memory:
            rows = _c.Rows(values.ctypes.data, scales.ctypes.data if scales is not None else None,
                           out.ctypes.data, stride)
            self._run_rows(plan, groups, rows)
            return
        a, a_scales = self._copied(values), self._copied(scales) if scales is not None else None
        c = Buffer(self, max(out.size * out.itemsize, 1))
        self._run_rows(plan, groups, _c.Rows(a.address, a_scales.address if a_scales else None, c.address, 0))
        result = np.empty(out.shape, out.dtype)
        c.copy_out(result)
        out[...] = result

    def _copied(self, array: np.ndarray) -> Buffer:
        buffer = Buffer(self, max(array.nbytes, 1))
        buffer.copy_in(array)
        return buffer

    def _run_rows(self, plan: Plan, groups: Any, rows: _c.Rows) -> None:
        operands = _c.Operands(groups, len(groups), rows, None, 0)
        workspace = plan._take_workspace()
        lib.thresher_run(self._handle, plan._handle, byref(operands), workspace._handle)
        plan._workspaces.append(workspace)

    def __repr__(self) -> str:
        return f"thresher.Engine({self.device!r})"


def need_engine(value: Any) -> Engine:
    if not isinstance(value, Engine):
        raise Error(f"engine is a {type(value).__name__}, not a thresher.Engine")
    return value


def _group_of(index: int, group: Any) -> tuple[int, int, int]:
    try:
        m, n, k = group
    except (TypeError, ValueError):
        raise Error(f"group {index} = {group!r} is not (m, n, k)") from None
    where = f"group {index}: "
    return need_int(m, f"{where}m"), need_int(n, f"{where}n"), need_int(k, f"{where}k")


def _factors_of(factors: Sequence[Factors] | None, packed: Sequence[Weights]) -> list[Factors]:
    if factors is None:
        return [Factors()] * len(packed)
    if len(factors) != len(packed):
        raise Error(f"there are factors of {len(factors)} groups but weights of {len(packed)} groups")
    return [Factors(need_float(alpha, "alpha"), need_float(alpha_up, "alpha_up")) for alpha, alpha_up in factors]


def _weights_of(weights: Any, op: str) -> list[Weights]:
    packed = list(weights) if isinstance(weights, (list, tuple)) else [weights]
    for index, weight in enumerate(packed):
        if not isinstance(weight, Weights):
            raise Error(f"group {index}: weights are a {type(weight).__name__}, not a thresher.Weights")
        if weight.op != op:
            raise Error(f"group {index}: the weights were packed for {weight.op}, not for {op}")
    return packed


def _activations_of(a: Any) -> tuple[str, np.ndarray, np.ndarray | None, float]:
    """The type, the values or codes, the scales and the global scale."""
    if isinstance(a, Matrix):
        return "nvfp4", a.codes, a.scales, a.global_scale
    array = need_array(a, "a", rank=2)
    kind = type_of_values(array, "a")
    if kind == "fp32":
        raise Error("a is of float32; activations are float16, bfloat16 (thresher.to_bf16), "
                    "or NVFP4 (thresher.quantize)")
    return kind, array, None, 1.0


def _one_each(value: Any, groups: Sequence[Any], what: str) -> list[float]:
    values = [value] * len(groups) if np.ndim(value) == 0 else list(value)
    if len(values) != len(groups):
        raise Error(f"{what} has {len(values)} values but there are {len(groups)} groups")
    return [need_float(one, what) for one in values]


def nvrtc_folders() -> list[str]:
    """Where pip has put CUDA's run-time compiler, torch's for example: in this interpreter's packages."""
    return [str(folder) for entry in sys.path if entry
            for folder in sorted(pathlib.Path(entry).glob("nvidia/*/lib")) if any(folder.glob("libnvrtc.so*"))]


def default_cache_folder() -> str | None:
    """As the command's: $XDG_CACHE_HOME/thresher, or ~/.cache/thresher."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if named.startswith("/"):
        return os.path.join(named, "thresher")
    home = os.environ.get("HOME", "")
    return os.path.join(home, ".cache", "thresher") if home.startswith("/") else None
