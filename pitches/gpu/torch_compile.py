# SPDX-License-Identifier: Apache-2.0
"""The products through torch.compile, for pitches/serve.py in a match on a GPU.

Weights are decoded once, to bf16 or fp16: decoded values have at most 6 significant bits, so both
are exact, and the tensor cores add up exact products in FP32.
"""
import os

# Compiled code goes to the one folder that may be written, by no process but this one.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.environ["HOME"], "inductor")
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch

if not torch.cuda.is_available():
    raise RuntimeError("this contestant computes on a GPU, and torch finds none")

TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
MAGNITUDES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M1 = torch.tensor(MAGNITUDES + [-value for value in MAGNITUDES]).cuda()
E4M3 = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float().cuda()

# Sums stay in FP32 however k is split.
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def tensor(device_bytes, dtype, shape):
    return torch.as_tensor(device_bytes, device="cuda").view(dtype).view(shape)


def decode(codes, scales, dtype):
    values = E2M1[torch.stack((codes & 15, codes >> 4), dim=-1).flatten(-2).int()]
    return (values * E4M3[scales.int()].repeat_interleave(16, dim=-1)).to(dtype)


def matrix(nvfp4, rows, k):
    codes = tensor(nvfp4.codes, torch.uint8, (rows, k // 2))
    return codes, tensor(nvfp4.scales, torch.uint8, (rows, k // 16))


def rows_of(parts, dtype):
    """NVFP4 codes and scales, or 16-bit values."""
    return decode(*parts, dtype) if len(parts) == 2 else parts[0]


def multiply(rows, weights):
    return torch.mm(rows, weights.T, out_dtype=torch.float32)


@torch.compile(dynamic=True)
def gemm(parts, weights, factor, output):
    return (multiply(rows_of(parts, weights.dtype), weights) * factor).to(output)


@torch.compile(dynamic=True)
def dual(parts, gate, up, factor, factor_up, output):
    rows = rows_of(parts, gate.dtype)
    product = torch.nn.functional.silu(multiply(rows, gate) * factor) * (multiply(rows, up) * factor_up)
    return product.to(output)


class Prepared:
    def __init__(self, problem):
        self.problem = problem
        self.output = TYPES[problem.output]
        self.dtype = TYPES.get(problem.activations, torch.bfloat16)
        self.weights = [self.decoded(group.b, group) for group in problem.groups]
        self.ups = [group.up and self.decoded(group.up, group) for group in problem.groups]
        # Compiling belongs to preparing: try every group once.
        for g, group in enumerate(problem.groups):
            if group.m > 0:
                one = torch.ones((), device="cuda")
                self.product(g, self.blank_rows(group), one, one)

    def decoded(self, nvfp4, group):
        return decode(*matrix(nvfp4, group.n, group.k), self.dtype)

    def blank_rows(self, group):
        if self.problem.activations != "nvfp4":
            return (torch.zeros(group.m, group.k, dtype=self.dtype, device="cuda"),)
        byte_counts = group.k // 2, group.k // 16
        return tuple(torch.zeros(group.m, n, dtype=torch.uint8, device="cuda") for n in byte_counts)

    def product(self, g, parts, factor, factor_up):
        if self.problem.op == "gemm":
            return gemm(parts, self.weights[g], factor, self.output)
        return dual(parts, self.weights[g], self.ups[g], factor, factor_up, self.output)

    def bind_group(self, g, group, call):
        if call.a:
            parts, a_global = matrix(call.a, group.m, group.k), call.a.global_scale
        else:
            parts, a_global = (tensor(call.a16, self.dtype, (group.m, group.k)),), 1.0
        # As tensors: a number would be compiled in.
        factor = torch.tensor(call.alpha * a_global * group.b.global_scale).cuda()
        up_global = group.up.global_scale if group.up else 1.0
        factor_up = torch.tensor(call.alpha_up * a_global * up_global).cuda()
        c = torch.as_tensor(call.c, device="cuda").view(self.output)
        c = c.as_strided((group.m, group.n), (call.c_stride, 1))
        return lambda: c.copy_(self.product(g, parts, factor, factor_up))

    def bind(self, calls):
        groups = enumerate(zip(self.problem.groups, calls))
        bound = [self.bind_group(g, group, call) for g, (group, call) in groups if call is not None]

        def run():
            for one in bound:
                one()

        return run


def prepare(problem):
    return Prepared(problem).bind
