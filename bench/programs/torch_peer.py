# SPDX-License-Identifier: Apache-2.0
"""torch as a peer: weights decoded beforehand, products by torch's own BLAS.

On a CPU peer 0 multiplies in FP32 and writes FP32, peer 1 in the 16-bit type of the activations. On
a GPU its only peer is torch._grouped_mm, one product for all groups.
"""
import torch

import torch_rows as rows


def silu_and_multiply(products, n, factor, factor_up, c):
    """c = silu(gate * factor) * (up * factor_up) in FP32, rounded once."""
    gate = products[:, :n].float().mul_(factor)
    torch.nn.functional.silu(gate, inplace=True)
    c.copy_(gate.mul_(products[:, n:]).mul_(factor_up))


class OnHost:
    """A product per group and call, gate and up as one of twice the columns."""

    def __init__(self, problem, first):
        torch.set_num_threads(problem.thread_count)
        self.problem = problem
        self.dtype = rows.TYPES[problem.output]
        self.weights = (
            [None if weight is None else weight.clone() for weight in first.weights]
            if first
            else [rows.weights(group, self.dtype) if group.m else None for group in problem.groups]
        )

    def bind_group(self, g, group, call):
        a = rows.activations(self.problem, group, call)
        c = rows.output(self.problem, group, call)
        weights = self.weights[g].T
        factor = call.alpha * group.b.global_scale
        if self.problem.op == "gemm":
            # alpha is applied before the result is rounded.
            return lambda: torch.addmm(c, a.to(self.dtype), weights, beta=0, alpha=factor, out=c)
        factor_up = call.alpha_up * group.up.global_scale
        return lambda: silu_and_multiply(
            torch.mm(a.to(self.dtype), weights), group.n, factor, factor_up, c
        )

    def __call__(self, calls):
        runs = [
            self.bind_group(g, group, call)
            for g, (group, call) in enumerate(zip(self.problem.groups, calls))
            if call
        ]

        def run():
            for one in runs:
                one()

        return run


class Grouped:
    """All groups in one product. Global scales and alpha are in weights and activations, rounded: a
    model that keeps its weights in 16 bits has them there."""

    def __init__(self, problem, first):
        self.problem = problem
        self.n = rows.one_extent(problem, "n")
        self.k = rows.one_extent(problem, "k")
        self.dtype = rows.TYPES[problem.output]
        self.weights = first.weights.clone() if first else self.decoded()

    def decoded(self):
        stack = torch.empty(
            len(self.problem.groups), self.n * (2 if self.problem.op == "dual" else 1), self.k,
            dtype=self.dtype, device=rows.DEVICE,
        )
        for g, group in enumerate(self.problem.groups):
            stack[g] = rows.weights(group, self.dtype, with_global_scales=True)
        return stack

    def __call__(self, calls):
        a = rows.all_activations(self.problem, calls, self.dtype)
        ends = rows.ends(self.problem)
        c = rows.all_outputs(self.problem, calls)
        weights = self.weights.transpose(1, 2)
        if self.problem.op == "dual":
            ups = rows.row_factors(
                self.problem, calls, lambda _group, call: call.alpha_up / call.alpha
            )
            finish = rows.gate(c, ups)
            return lambda _writes=True: finish(torch._grouped_mm(a, weights, offs=ends))

        def run(writes=True):
            products = torch._grouped_mm(a, weights, offs=ends)
            if writes:
                c.copy_(products)

        return run


def prepare(problem, _peer, _copy, first):
    return (Grouped if rows.on_device(problem) else OnHost)(problem, first)


use, foreign, capture, forget = rows.use, rows.foreign, rows.capture, rows.forget
