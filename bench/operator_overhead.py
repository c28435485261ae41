#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call of an operator costs beside the arithmetic: microseconds of this thread, the best of many rounds.

    operator_overhead.py [cpu|cuda] [--json]

Problems are so small that a call is nearly all overhead. The library alone is the same call by ctypes with everything
ready; the difference is what Python and torch add, by the operator and by the function of thresher.torch that takes
its place where nobody looks on. torch.add is the measure of what torch's own operators cost, and
"nothing" of what any operator in Python costs: one of moe's arguments that only allocates its output. All take turns,
so that a busy machine is busy for all of them.
"""
import json
import sys
import time
from ctypes import byref

import torch

import thresher
import thresher.torch as tt
from thresher._c import MoeTokens, Operands, Rows, lib


def microseconds(calls, count=60, rounds=200):
    """Each call's best round; so few calls that a GPU's queue never fills up and makes them wait."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            call()  # after others' work, the first is slow
            start = time.thread_time_ns()
            for _ in range(count):
                call()
            best[name] = min(best[name], (time.thread_time_ns() - start) / count / 1e3)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
    return best


def weight(n, k):
    return tt.quantize_weight(torch.randn(n, k))


def product(device):
    """An operator's call, and the library's."""
    x = torch.randn(1, 64, device=device).bfloat16()
    grouped = tt.GroupedWeights([weight(32, 64)], device=device)
    gemm = torch.ops.thresher.gemm.default
    out = gemm(x, grouped.id)
    rows = Rows(x.data_ptr(), None, out.data_ptr(), 0)
    (ready,) = grouped._ready.values()
    if device == "cpu":
        call, operands = ready[0], Operands(grouped._groups, 1, rows, None, 0)
        alone = lambda: lib.thresher_run(*call.arguments[:2], byref(operands), call.arguments[3])  # noqa: E731
    else:
        alone = lambda: lib.thresher_enqueue_rows(ready._handle, byref(rows), None)  # noqa: E731
    return (lambda: gemm(x, grouped.id)), (lambda: tt.gemm(x, grouped.id)), alone, out


def layer(device):
    x = torch.randn(1, 64, device=device).bfloat16()
    experts = [thresher.Expert(weight(32, 64), weight(32, 64), weight(64, 32)) for _ in range(4)]
    made = tt.Moe(thresher.MoeLayer(tt.engine(device), experts, top_k=2, tokens_max=8, x="bf16"), device)
    ids, weights = torch.tensor([[0, 1]], dtype=torch.int32, device=device), torch.rand(1, 2, device=device)
    out, moe = torch.empty_like(x), torch.ops.thresher.moe.default
    ready = MoeTokens(x.data_ptr(), 0, ids.data_ptr(), weights.data_ptr(), None, out.data_ptr(), 0, 1)
    alone = lambda: lib.thresher_moe_enqueue(made.handle, byref(ready), None)  # noqa: E731
    return (lambda: moe(x, ids, weights, made.id)), (lambda: tt.moe(x, ids, weights, made.id)), alone, out


def nothing(device):
    """An operator in Python that does as good as nothing."""
    library = torch.library.Library("thresher_overhead", "DEF")
    library.define("nothing(Tensor x, Tensor ids, Tensor weights, int layer, Tensor? shared_weights=None) -> Tensor")
    empty_like = torch.empty_like
    library.impl("nothing", lambda x, ids, weights, layer, shared_weights=None: empty_like(x), device.upper())
    library.impl("nothing", torch.library.fallthrough_kernel, "Autograd")
    x = torch.randn(1, 64, device=device).bfloat16()
    ids, weights = torch.tensor([[0, 1]], dtype=torch.int32, device=device), torch.rand(1, 2, device=device)
    call = torch.ops.thresher_overhead.nothing.default
    return (lambda: call(x, ids, weights, 1)), library


def main(device, as_json):
    torch.set_num_threads(1)
    x = torch.randn(1, 64, device=device).bfloat16()
    calls = {"torch.add": lambda: torch.add(x, x)}
    calls["nothing, in Python"], library = nothing(device)
    kept = [library]  # and what the library writes to
    for name, make in (("gemm", product), ("moe", layer)):
        calls[name], calls[f"{name}, the function"], calls[f"{name}, the library alone"], out = make(device)
        kept.append(out)
    took = microseconds(calls)
    for name in ("gemm", "moe"):
        alone = took[f"{name}, the library alone"]
        took[f"{name}, added by Python and torch"] = took[name] - alone
        took[f"{name}, added by the function"] = took[f"{name}, the function"] - alone
    if as_json:
        us = {name: round(value, 2) for name, value in took.items()}
        print(json.dumps({"device": device, "torch": torch.__version__, "us": us}))
        return
    for name, us in took.items():
        print(f"{name:34} {us:6.2f} us")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--json"]
    main(words[0] if words else "cuda" if torch.cuda.is_available() else "cpu", "--json" in sys.argv)
