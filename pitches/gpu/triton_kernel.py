# SPDX-License-Identifier: Apache-2.0
"""All groups in one Triton kernel, for pitches/serve.py in a match on a GPU.

A program computes one tile of C: it decodes NVFP4 in registers, multiplies on the tensor cores and
finishes in the same kernel. A byte holds elements 2i and 2i + 1, so low and high nibbles make two
products, of the even and of the odd elements of k, and nothing has to be interleaved. Decoded values
have at most 6 significant bits: exact in fp16 and in bf16.
"""
import typing

import torch
import triton
import triton.language as tl

TRITON_TYPES = {"nvfp4": tl.float16, "fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32}
TILE_ROWS, TILE_COLUMNS, TILE_BYTES = 64, 128, 64
# A row of the table of groups: addresses of A, its scales, B, its scales, B_up, its scales and C,
# then the stride of C, m, n and k.
FIELDS = 11

if not torch.cuda.is_available():
    raise RuntimeError("Triton compiles for GPUs, and torch finds none")


@triton.jit
def decode(codes, scales):
    """E2M1 times E4M3, exactly: their fields land in those of fp16, times 2^-14 and 2^-8."""
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
def address(table, group, column: tl.constexpr, columns: tl.constexpr, dtype: tl.constexpr):
    return tl.load(table + group * columns + column).to(tl.pointer_type(dtype))


@triton.jit
def tile(
    table, factors, tiles,
    NVFP4: tl.constexpr, DUAL: tl.constexpr, INPUT: tl.constexpr, OUTPUT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, BYTES: tl.constexpr, FIELDS: tl.constexpr,
):
    program = tl.program_id(0)
    group = tl.load(tiles + 3 * program)
    rows = tl.load(tiles + 3 * program + 1) * ROWS + tl.arange(0, ROWS).to(tl.int64)
    columns = tl.load(tiles + 3 * program + 2) * COLUMNS + tl.arange(0, COLUMNS).to(tl.int64)
    stride = tl.load(table + group * FIELDS + 7)
    m = tl.load(table + group * FIELDS + 8)
    n = tl.load(table + group * FIELDS + 9)
    k = tl.load(table + group * FIELDS + 10)
    b = address(table, group, 2, FIELDS, tl.uint8)
    b_scales = address(table, group, 3, FIELDS, tl.uint8)
    up = address(table, group, 4, FIELDS, tl.uint8)
    up_scales = address(table, group, 5, FIELDS, tl.uint8)

    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    sums_up = tl.zeros((ROWS, COLUMNS), tl.float32)
    for begin in range(0, k // 2, BYTES):
        column = begin + tl.arange(0, BYTES)
        mask = column < k // 2
        if NVFP4:
            a = address(table, group, 0, FIELDS, tl.uint8)
            a_scales = address(table, group, 1, FIELDS, tl.uint8)
            even, odd = load_halves(a, a_scales, rows, m, k, column, mask)
        else:
            there = (rows < m)[:, None] & mask[None, :]
            first = address(table, group, 0, FIELDS, INPUT) + rows[:, None] * k + 2 * column[None, :]
            even = tl.load(first, mask=there, other=0)
            odd = tl.load(first + 1, mask=there, other=0)
        sums = multiply(sums, even, odd, b, b_scales, columns, n, k, column, mask)
        if DUAL:
            sums_up = multiply(sums_up, even, odd, up, up_scales, columns, n, k, column, mask)

    result = sums * tl.load(factors + 2 * group)
    if DUAL:
        result = result / (1 + tl.exp(-result)) * (sums_up * tl.load(factors + 2 * group + 1))
    there = (rows < m)[:, None] & (columns < n)[None, :]
    c = address(table, group, 6, FIELDS, OUTPUT)
    tl.store(c + rows[:, None] * stride + columns[None, :], result.to(OUTPUT), mask=there)


class Bound(typing.NamedTuple):
    """What one group reads and writes in a call."""

    a: int
    a_scales: int
    c: int
    c_stride: int
    factor: float
    factor_up: float


NOTHING = Bound(0, 0, 0, 0, 0.0, 0.0)  # a group without rows


class Prepared:
    def __init__(self, problem):
        self.problem = problem
        self.nvfp4 = problem.activations == "nvfp4"
        tiles = [
            (g, row, column)
            for g, group in enumerate(problem.groups)
            for row in range(triton.cdiv(group.m, TILE_ROWS))
            for column in range(triton.cdiv(group.n, TILE_COLUMNS))
        ]
        self.tile_count = len(tiles)
        self.tiles = torch.tensor(tiles, dtype=torch.int32).cuda()
        self.compile()

    def compile(self):
        """Compiling belongs to preparing: one launch on memory of our own."""
        rows = max(group.m for group in self.problem.groups)
        widest = max(max(group.n, group.k) for group in self.problem.groups)
        blank = torch.zeros(4 * max(1, rows * widest), dtype=torch.uint8, device="cuda")
        place = blank.data_ptr()
        self.launcher([Bound(place, place, place, g.n, 0.0, 0.0) for g in self.problem.groups])()
        torch.cuda.synchronize()

    def row(self, group, bound):
        up = group.up or group.b
        weights = group.b.codes, group.b.scales, up.codes, up.scales
        addresses = bound.a, bound.a_scales, *(part.address for part in weights), bound.c
        return [*addresses, bound.c_stride, group.m, group.n, group.k]

    def bound(self, group, call):
        if call is None:
            return NOTHING
        a = call.a.codes if call.a else call.a16
        a_scales = call.a.scales.address if call.a else 0
        a_global = call.a.global_scale if call.a else 1.0
        up_global = group.up.global_scale if group.up else 1.0
        factor = call.alpha * a_global * group.b.global_scale
        factor_up = call.alpha_up * a_global * up_global
        return Bound(a.address, a_scales, call.c.address, call.c_stride, factor, factor_up)

    def launcher(self, bounds):
        rows = [self.row(group, bound) for group, bound in zip(self.problem.groups, bounds)]
        table = torch.tensor(rows, dtype=torch.int64).cuda()
        factors = torch.tensor([(bound.factor, bound.factor_up) for bound in bounds]).cuda()
        torch.cuda.synchronize()

        def run():
            if self.tile_count == 0:
                return
            tile[(self.tile_count,)](
                table, factors, self.tiles,
                NVFP4=self.nvfp4, DUAL=self.problem.op == "dual",
                INPUT=TRITON_TYPES[self.problem.activations], OUTPUT=TRITON_TYPES[self.problem.output],
                ROWS=TILE_ROWS, COLUMNS=TILE_COLUMNS, BYTES=TILE_BYTES, FIELDS=FIELDS,
                num_warps=8, num_stages=3,
            )

        return run

    def bind(self, calls):
        groups = self.problem.groups
        return self.launcher([self.bound(group, call) for group, call in zip(groups, calls)])


def prepare(problem):
    return Prepared(problem).bind
