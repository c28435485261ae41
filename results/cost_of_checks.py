#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a match costs with one build of thresher against another: the same match of a variant against
itself, with the same heats and blocks, by both in turns on the same machine.

    results/cost_of_checks.py OLD/thresher NEW/thresher [--times 5]

A block was two arms' calls up to a certain commit and is three arms' since: say so beside the ratio.
"""

import argparse
import json
import statistics
import subprocess


def seconds_of(program, arguments):
    command = [program, "match", "--suite", arguments.suite, "--champion", arguments.variant,
               "--challenger", arguments.variant, "--threads", str(arguments.threads),
               "--blocks", str(arguments.blocks), "--heats-max", "5", "--seconds", "600", "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(run.stdout)["seconds"]
    except (ValueError, KeyError):
        raise SystemExit(f"{' '.join(command)} gave no seconds: {run.stderr or run.stdout}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--suite", default="tank_cpu")
    parser.add_argument("--variant", default="cpu_avx2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    ratios = []
    for turn in range(arguments.times):
        # Whoever begins has the machine as the other leaves it.
        programs = [arguments.old, arguments.new]
        order = programs if turn % 2 == 0 else programs[::-1]
        seconds = {program: seconds_of(program, arguments) for program in order}
        ratios.append(seconds[arguments.new] / seconds[arguments.old])
        print(f"{seconds[arguments.old]:8.2f} s {seconds[arguments.new]:8.2f} s  {ratios[-1]:.3f}x",
              flush=True)
    print(f"median {statistics.median(ratios):.3f}x, {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
