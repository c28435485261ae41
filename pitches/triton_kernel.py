# SPDX-License-Identifier: Apache-2.0
"""A tile of C in Triton, for pitches/serve.py: decode, multiply, finish and store in one kernel.

A byte holds elements 2i and 2i + 1, so that low and high nibbles make two products, of the even and
of the odd elements of k, and nothing has to be interleaved.
"""
import warnings

import torch
import triton
import triton.language as tl

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
TILE_ROWS, TILE_COLUMNS, TILE_BYTES = 64, 64, 64

if not torch.cuda.is_available():
    raise RuntimeError("Triton compiles for GPUs, and torch finds none")
warnings.filterwarnings("ignore", message="The given buffer is not writable")


@triton.jit
def decode(codes, scales):
    """E2M1 nibbles times E4M3 scales, exactly: their fields land in those of fp16, times 2^-14 and 2^-8."""
    codes = codes.to(tl.uint16)
    scales = scales.to(tl.uint16)
    value = (((codes & 7) << 9) | ((codes & 8) << 12)).to(tl.float16, bitcast=True)
    scale = (((scales & 127) << 7) | ((scales & 128) << 8)).to(tl.float16, bitcast=True)
    return (value * 16384.0).to(tl.float16) * (scale * 256.0).to(tl.float16)


@triton.jit
def load_halves(codes, scales, rows, row_count, k, column, mask):
    """The even and the odd elements of a tile of NVFP4 rows."""
    there = (rows < row_count)[:, None] & mask[None, :]
    byte = tl.load(codes + rows[:, None] * (k // 2) + column[None, :], mask=there, other=0)
    scale = tl.load(scales + rows[:, None] * (k // 16) + (column // 8)[None, :], mask=there, other=0)
    return decode(byte & 15, scale), decode(byte >> 4, scale)


@triton.jit
def multiply(sums, even, odd, b, b_scales, columns, n, k, column, mask):
    low, high = load_halves(b, b_scales, columns, n, k, column, mask)
    sums = tl.dot(even, tl.trans(low.to(even.dtype)), sums)
    return tl.dot(odd, tl.trans(high.to(odd.dtype)), sums)


@triton.jit
def tile(
    a, a_scales, b, b_scales, up, up_scales, c, m, n, k, factor, factor_up,
    NVFP4: tl.constexpr, DUAL: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, BYTES: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    sums_up = tl.zeros((ROWS, COLUMNS), tl.float32)
    for begin in range(0, k // 2, BYTES):
        column = begin + tl.arange(0, BYTES)
        mask = column < k // 2
        if NVFP4:
            even, odd = load_halves(a, a_scales, rows, m, k, column, mask)
        else:
            there = (rows < m)[:, None] & mask[None, :]
            first = a + rows[:, None] * k + 2 * column[None, :]
            even = tl.load(first, mask=there, other=0)
            odd = tl.load(first + 1, mask=there, other=0)
        sums = multiply(sums, even, odd, b, b_scales, columns, n, k, column, mask)
        if DUAL:
            sums_up = multiply(sums_up, even, odd, up, up_scales, columns, n, k, column, mask)
    result = sums * factor
    if DUAL:
        result = result / (1 + tl.exp(-result)) * (sums_up * factor_up)
    there = (rows < m)[:, None] & (columns < n)[None, :]
    place = c + rows[:, None] * n + columns[None, :]
    tl.store(place, result.to(c.dtype.element_ty), mask=there)


def tensor(view, dtype=torch.uint8):
    return torch.frombuffer(view, dtype=dtype).cuda()


class Prepared:
    def __init__(self, problem):
        self.problem = problem
        self.output = TYPES[problem.output]
        self.weights = [self.move(group) for group in problem.groups]

    def move(self, group):
        matrices = [group.b] if group.up is None else [group.b, group.up]
        return [tensor(part) for matrix in matrices for part in (matrix.codes, matrix.scales)]

    def product(self, group, weights, call):
        a = tensor(call.a.codes) if call.a else tensor(call.a16, TYPES[self.problem.activations])
        a_scales = tensor(call.a.scales) if call.a else a
        a_global = call.a.global_scale if call.a else 1.0
        up = group.up is not None
        c = torch.empty(group.m, group.n, dtype=self.output, device="cuda")
        grid = triton.cdiv(group.m, TILE_ROWS), triton.cdiv(group.n, TILE_COLUMNS)
        tile[grid](
            a, a_scales, *weights[:2], *weights[-2:], c, group.m, group.n, group.k,
            call.alpha * a_global * group.b.global_scale,
            call.alpha_up * a_global * group.up.global_scale if up else 1.0,
            NVFP4=call.a is not None, DUAL=up,
            ROWS=TILE_ROWS, COLUMNS=TILE_COLUMNS, BYTES=TILE_BYTES,
        )
        return c

    def run(self, calls):
        # All groups are launched before the first result is waited for.
        results = [
            call and self.product(group, weights, call)
            for group, weights, call in zip(self.problem.groups, self.weights, calls)
        ]
        for group, call, result in zip(self.problem.groups, calls, results):
            if call is not None:
                c = torch.frombuffer(call.c, dtype=self.output)
                c.as_strided((group.m, group.n), (call.c_stride, 1)).copy_(result)


def prepare(problem):
    return Prepared(problem).run
