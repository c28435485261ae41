#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel Tuner's strategies on recorded spaces, to compare `thresher tune --simulate` with.

    python3 -m venv /tmp/kernel_tuner && /tmp/kernel_tuner/bin/pip install kernel_tuner==1.5.0
    /tmp/kernel_tuner/bin/python results/search_peers.py --runs 100 results/spaces/*.json -o results/spaces/peers.jsonl

Every strategy that its package brings runs with its default options in Kernel Tuner's own simulation mode. Configurations that
cannot run are a part of the space and of the budget, as they are for us. One line of JSON per space and strategy: the share of the
optimum that each run found, and the median of the best so far. A strategy that fails, or is not done in time, says so in its line.
"""
import argparse
import contextlib
import gzip
import io
import json
import os
import random
import statistics
import sys
import tempfile
import time
import warnings

# brute_force tries everything. skopt, pyatf and pymoo are wrappers of other packages; the first two need them installed.
STRATEGIES = ["random_sample", "minimize", "basinhopping", "diff_evo", "genetic_algorithm", "greedy_ils", "greedy_mls", "mls",
              "ordered_greedy_mls", "pso", "simulated_annealing", "dual_annealing", "firefly_algorithm", "bayes_opt",
              "hybrid_vndx", "adaptive_tabu_greywolf"]


CURVE_POINTS = 40  # of the best so far, over a run


class Space:
    """A T4 file as Kernel Tuner's cache."""

    def __init__(self, path):
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rt") as file:
            results = json.load(file)["results"]
        self.name = os.path.basename(path).split(".")[0]
        keys = [key for key in results[0]["configuration"]
                if len({result["configuration"][key] for result in results}) > 1]
        self.params = {key: sorted({result["configuration"][key] for result in results}) for key in keys}
        self.times = {}
        for result in results:
            point = tuple(result["configuration"][key] for key in keys)
            times = [m["value"] for m in result["measurements"] if m["name"] == result["objectives"][0]]
            self.times[point] = times[0] if result["invalidity"] == "correct" else None
        self.optimum = min(value for value in self.times.values() if value is not None)
        self.cache = self.make_cache()

    def make_cache(self):
        cache = {}
        for point, value in self.times.items():
            entry = dict(zip(self.params, point), time="RuntimeFailedConfig" if value is None else value)
            if value is None:
                entry["__error__"] = "RuntimeFailedConfig"
            for name in ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"):
                entry[name] = 0
            entry["times"] = [] if value is None else [value]
            cache[",".join(map(str, point))] = entry
        return {"device_name": self.name, "kernel_name": "recorded", "problem_size": 1, "tune_params_keys": list(self.params),
                "tune_params": self.params, "objective": "time", "cache": cache}


def run_once(space, cache_path, strategy, budget, seed):
    import kernel_tuner
    import numpy
    random.seed(seed)
    numpy.random.seed(seed)

    def is_recorded(params):
        return tuple(params.values()) in space.times

    results, _ = kernel_tuner.tune_kernel(
        "recorded", "void recorded() {}", 1, [], space.params, restrictions=[is_recorded], lang="C", strategy=strategy,
        strategy_options={"max_fevals": budget}, cache=cache_path, simulation_mode=True, quiet=True, seed=seed)
    tried = list(dict.fromkeys(tuple(result[key] for key in space.params) for result in results))
    assert len(tried) <= budget, f"{strategy} tried {len(tried)} of {budget}"
    times = [space.times[point] or float("inf") for point in tried]
    so_far = [space.optimum / min(times[:max(1, budget * (i + 1) // CURVE_POINTS)]) for i in range(CURVE_POINTS)]
    return so_far, len(tried)


def run_strategy(space, cache_path, strategy, arguments):
    budget = max(1, int(len(space.times) * arguments.budget_share))
    line = {"space": space.name, "strategy": strategy, "size": len(space.times), "budget": budget}
    begin = time.monotonic()
    shares, tried, curves = [], [], []
    try:
        for seed in range(1, arguments.runs + 1):
            if time.monotonic() - begin > arguments.seconds_max:
                line["stopped"] = f"after {len(shares)} of {arguments.runs} runs: {arguments.seconds_max} s were over"
                break
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                so_far, count = run_once(space, cache_path, strategy, budget, seed)
            shares.append(round(so_far[-1], 6))
            curves.append(so_far)
            tried.append(count)
    except Exception as error:  # a strategy of theirs that falls over is a result too
        line["error"] = f"{type(error).__name__}: {error}"
    if shares:
        line.update(runs=len(shares), median=statistics.median(shares), mean=round(statistics.mean(shares), 6),
                    tried=statistics.median(tried), shares=shares,
                    curve=[round(statistics.median(values), 6) for values in zip(*curves)])
    line["seconds"] = round(time.monotonic() - begin, 1)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--budget-share", type=float, default=0.05)
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES)
    parser.add_argument("--seconds-max", type=float, default=600, help="for all runs of a strategy on a space")
    parser.add_argument("-o", "--output", required=True, help="lines are appended")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for path in arguments.files:
        space = Space(path)
        with tempfile.TemporaryDirectory() as folder:
            cache_path = os.path.join(folder, "cache.json")
            with open(cache_path, "w") as file:
                json.dump(space.cache, file)
            for strategy in arguments.strategies:
                line = run_strategy(space, cache_path, strategy, arguments)
                with open(arguments.output, "a") as file:
                    file.write(json.dumps(line) + "\n")
                print({key: value for key, value in line.items() if key not in ("shares", "curve")}, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
