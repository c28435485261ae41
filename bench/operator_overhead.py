#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call of an operator costs beside the arithmetic: microseconds of this thread, the best of many runs.

    operator_overhead.py [cpu|cuda]

Problems are so small that a call is nearly all overhead; what the library itself takes, called by ctypes with
everything ready, is printed beside it. torch.add is the measure of what torch's own operators cost.
"""
import sys
import time
from ctypes import byref

import torch

import thresher
import thresher.torch as tt
from thresher._c import MoeTokens, lib


def microseconds(call, count=3000, repeats=15):
    call()
    best = float("inf")
    for _ in range(repeats):
        start = time.thread_time_ns()
        for _ in range(count):
            call()
        best = min(best, (time.thread_time_ns() - start) / count / 1e3)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return best


def weight(n, k):
    return tt.quantize_weight(torch.randn(n, k))


def main(device):
    torch.set_num_threads(1)
    x = torch.randn(1, 64, device=device).bfloat16()
    grouped = tt.GroupedWeights([weight(32, 64)], device=device)
    experts = [thresher.Expert(weight(32, 64), weight(32, 64), weight(64, 32)) for _ in range(4)]
    layer = tt.Moe(thresher.MoeLayer(tt.engine(device), experts, top_k=2, tokens_max=8, x="bf16"), device)
    ids, weights = torch.tensor([[0, 1]], dtype=torch.int32, device=device), torch.rand(1, 2, device=device)
    out = torch.empty_like(x)
    ready = MoeTokens(x.data_ptr(), 0, ids.data_ptr(), weights.data_ptr(), None, out.data_ptr(), 0, 1)
    gemm, moe = torch.ops.thresher.gemm.default, torch.ops.thresher.moe.default
    rows = {"torch.add": lambda: torch.add(x, x), "gemm": lambda: gemm(x, grouped.id),
            "moe": lambda: moe(x, ids, weights, layer.id),
            "moe, the library alone": lambda: lib.thresher_moe_enqueue(layer.handle, byref(ready), None)}
    for name, call in rows.items():
        print(f"{name:24} {microseconds(call):6.2f} us")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["cuda" if torch.cuda.is_available() else "cpu"])
