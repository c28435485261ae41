# SPDX-License-Identifier: Apache-2.0
"""Humming (humming-kernels) as a peer: NVFP4 weights, 16-bit activations, by its own layer.

Peer 0 takes the settings that Humming chooses itself, peer 1 the fastest of those that it chooses for
about as many rows, measured when the problem is prepared. Written by the interface of version 0.1.19.
"""
import os
import sys
import time

# Compilers that Humming starts find CUDA where it usually is.
if "CUDA_HOME" not in os.environ and os.path.isdir("/usr/local/cuda"):
    os.environ["CUDA_HOME"] = "/usr/local/cuda"

import torch
from humming.layer import HummingLayer
from humming.tune import get_heuristics_config

import torch_rows as rows

NVFP4 = {"quant_method": "modelopt", "quant_algo": "nvfp4"}
# What vLLM pads to.
N_MULTIPLE, K_MULTIPLE = 256, 128
BEST = 1  # the number of that peer
TRIAL_REPLAYS = 5
TRIAL_CALLS = 8
# Each setting is compiled first, which takes seconds; the likely ones are tried first.
TRIAL_SECONDS = 20
ROWS_FACTOR = 4


class Layer:
    """The weights of all groups, and a call of their product."""

    def __init__(self, problem):
        self.problem = problem
        self.n = rows.one_extent(problem, "n")
        self.k = rows.one_extent(problem, "k")
        self.dtype = rows.TYPES[problem.output]
        self.row_count = sum(group.m for group in problem.groups)
        is_grouped = len(problem.groups) > 1
        self.compute = {"gemm_type": "grouped_contiguous" if is_grouped else "dense"}
        self.layout = layout_of(problem) if is_grouped else None
        sides = 2 if problem.op == "dual" else 1
        self.layer = HummingLayer(
            shape_n=sides * self.n,
            shape_k=self.k,
            weight_config=dict(NVFP4),
            num_experts=len(problem.groups) if is_grouped else None,
            pad_n_to_multiple=N_MULTIPLE,
            pad_k_to_multiple=K_MULTIPLE,
            torch_dtype=self.dtype,
        ).to(rows.DEVICE)
        self.layer.load_from_tensors(self.tensors())
        self.layer.transform()

    def tensors(self):
        def stacked(name, divisor):
            parts = []
            for group in self.problem.groups:
                sides = [group.b] if group.up is None else [group.b, group.up]
                parts.append(
                    torch.cat(
                        [
                            rows.tensor(getattr(side, name), torch.uint8).view(
                                self.n, self.k // divisor
                            )
                            for side in sides
                        ]
                    )
                )
            return torch.stack(parts) if len(parts) > 1 else parts[0]

        return {
            "weight": stacked("codes", 2),
            "weight_scale": stacked("scales", 16).view(torch.float8_e4m3fn),
            # Of a dual's two it takes one: gate() makes up for the other.
            "weight_scale_2": torch.tensor(
                [group.b.global_scale for group in self.problem.groups], device=rows.DEVICE
            ),
        }

    def settings(self):
        """What Humming chooses for so many rows and for somewhat more or fewer, each once, those for
        about as many first."""
        found = get_heuristics_config(
            self.layer.humming_config, gemm_type=self.compute["gemm_type"]
        )

        def ratio(entry):
            low, high, _ = entry
            return max(low / self.row_count, self.row_count / max(high, 1), 1)

        distinct = []
        for entry in sorted(found, key=ratio):
            if ratio(entry) <= ROWS_FACTOR and entry[2] not in distinct:
                distinct.append(entry[2])
        return distinct

    def __call__(self, a, out, setting):
        self.layer(
            a,
            outputs=out,
            expert_layout=self.layout,
            valid_shape_m=self.row_count,
            compute_config=self.compute,
            tuning_config=setting,
        )


def layout_of(problem):
    """Where each group's rows begin, and where the last ones end."""
    counts = torch.tensor([0] + [group.m for group in problem.groups])
    return counts.cumsum(0).to(dtype=torch.int64, device=rows.DEVICE)


def microseconds(run):
    replay = rows.capture([lambda _writes=True: run()] * TRIAL_CALLS)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    replay()
    begin.record()
    for _ in range(TRIAL_REPLAYS):
        replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / (TRIAL_REPLAYS * TRIAL_CALLS)


def best_setting(layer):
    """On blank rows; a setting that does not run here is none."""
    width = layer.n * (2 if layer.problem.op == "dual" else 1)
    a = torch.randn(layer.row_count, layer.k, device=rows.DEVICE).to(layer.dtype)
    out = torch.empty(layer.row_count, width, dtype=layer.dtype, device=rows.DEVICE)
    times = []
    end = time.monotonic() + TRIAL_SECONDS
    for setting in [None, *layer.settings()]:
        if times and time.monotonic() > end:
            break
        try:
            times.append((microseconds(lambda: layer(a, out, setting)), len(times), setting))
        except Exception as error:  # compiled for other rows: too much shared memory, for one
            print(f"humming: left out {setting}: {error}", file=sys.stderr)
    us, _, setting = min(times, key=lambda one: one[:2])
    own = setting or "its own choice"
    print(f"humming: {us:.1f} us, the best of {len(times)}, by {own}", file=sys.stderr)
    return setting


class Humming:
    def __init__(self, problem, peer, first):
        self.layer = Layer(problem)
        self.setting = None
        if peer == BEST:
            self.setting = first.setting if first else best_setting(self.layer)

    def __call__(self, calls):
        problem = self.layer.problem
        a = rows.all_activations(problem, calls, self.layer.dtype)
        c = rows.all_outputs(problem, calls)
        if problem.op == "gemm":
            return lambda _writes=True: self.layer(a, c, self.setting)
        products = torch.empty(a.shape[0], 2 * self.layer.n, dtype=c.dtype, device=rows.DEVICE)
        finish = rows.gate(c, rows.row_factors(problem, calls, up_factor))

        def run(_writes=True):
            self.layer(a, products, self.setting)
            finish(products)

        return run


def up_factor(group, call):
    gate, up = call.alpha * group.b.global_scale, call.alpha_up * group.up.global_scale
    return up / gate


def prepare(problem, peer, _copy, first):
    return Humming(problem, peer, first)


use, foreign, capture, forget = rows.use, rows.foreign, rows.capture, rows.forget
