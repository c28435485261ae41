# SPDX-License-Identifier: Apache-2.0
"""The products through torch.compile, for pitches/serve.py.

Decoded values have at most 6 significant bits, fp16 activations 11: exact in TF32, so that on a GPU
the tensor cores may multiply floats and still add up exact products in FP32.
"""
import warnings

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
MAGNITUDES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M1 = torch.tensor(MAGNITUDES + [-value for value in MAGNITUDES], device=DEVICE)
E4M3 = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float().to(DEVICE)

torch.backends.cuda.matmul.allow_tf32 = True
warnings.filterwarnings("ignore", message="The given buffer is not writable")
# Recording a CUDA graph is what saves launches; a CPU has none to record.
compiled = torch.compile(dynamic=True, mode="reduce-overhead" if DEVICE == "cuda" else "default")


def tensor(view, dtype, shape):
    return torch.frombuffer(view, dtype=dtype).view(shape).to(DEVICE)


def decode(codes, scales):
    values = E2M1[torch.stack((codes & 15, codes >> 4), dim=-1).flatten(-2).int()]
    return values * E4M3[scales.int()].repeat_interleave(16, dim=-1)


def matrix(nvfp4, rows, k):
    codes = tensor(nvfp4.codes, torch.uint8, (rows, k // 2))
    return codes, tensor(nvfp4.scales, torch.uint8, (rows, k // 16))


def rows_of(parts):
    """NVFP4 codes and scales, or 16-bit values."""
    return decode(*parts) if len(parts) == 2 else parts[0].float()


@compiled
def gemm(parts, weights, factor, output):
    return (rows_of(parts) @ weights.T * factor).to(output)


@compiled
def dual(parts, gate, up, factor, factor_up, output):
    rows = rows_of(parts)
    product = torch.nn.functional.silu(rows @ gate.T * factor) * (rows @ up.T * factor_up)
    return product.to(output)


class Prepared:
    def __init__(self, problem):
        torch.set_num_threads(problem.thread_count)
        self.problem = problem
        self.output = TYPES[problem.output]
        self.weights = [decode(*matrix(group.b, group.n, group.k)) for group in problem.groups]
        self.ups = [
            decode(*matrix(group.up, group.n, group.k)) if problem.op == "dual" else None
            for group in problem.groups
        ]
        # Compiling belongs to preparing: try every group once.
        for g, group in enumerate(problem.groups):
            if group.m > 0:
                self.product(g, self.blank_rows(group), 1.0, 1.0)

    def blank_rows(self, group):
        if self.problem.activations != "nvfp4":
            dtype = TYPES[self.problem.activations]
            return (torch.zeros(group.m, group.k, dtype=dtype, device=DEVICE),)
        byte_counts = group.k // 2, group.k // 16
        return tuple(torch.zeros(group.m, n, dtype=torch.uint8, device=DEVICE) for n in byte_counts)

    def rows(self, group, call):
        if call.a:
            return matrix(call.a, group.m, group.k)
        return (tensor(call.a16, TYPES[self.problem.activations], (group.m, group.k)),)

    def product(self, g, parts, factor, factor_up):
        # As tensors: a number would be compiled in.
        factor = torch.tensor(factor, device=DEVICE)
        if self.problem.op == "gemm":
            return gemm(parts, self.weights[g], factor, self.output)
        factor_up = torch.tensor(factor_up, device=DEVICE)
        return dual(parts, self.weights[g], self.ups[g], factor, factor_up, self.output)

    def run(self, calls):
        for g, (group, call) in enumerate(zip(self.problem.groups, calls)):
            if call is None:
                continue
            a_global = call.a.global_scale if call.a else 1.0
            factor = call.alpha * a_global * group.b.global_scale
            factor_up = call.alpha_up * a_global * group.up.global_scale if group.up else 1.0
            c = torch.frombuffer(call.c, dtype=self.output)
            c.as_strided((group.m, group.n), (call.c_stride, 1)).copy_(
                self.product(g, self.rows(group, call), factor, factor_up)
            )


def prepare(problem):
    return Prepared(problem).run
