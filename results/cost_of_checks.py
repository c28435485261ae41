#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a match costs with one build of thresher against another: the same match of a variant against
itself, with the same heats and blocks, by both in turns on the same machine.

    results/cost_of_checks.py OLD/thresher NEW/thresher [--times 5]

A block was two arms' calls up to a certain commit and is three arms' since, and the pilot asks for as many of them as
the rest of a heat takes: so blocks are counted, and the time of one is compared as well. Say so beside the ratio.
"""

import argparse
import json
import statistics
import subprocess


def played_by(program, arguments):
    """Seconds and blocks of a match."""
    command = [program, "match", "--suite", arguments.suite, "--champion", arguments.variant,
               "--challenger", arguments.variant, "--threads", str(arguments.threads),
               "--blocks", str(arguments.blocks), "--heats-max", "5", "--seconds", "600", "--json"]
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        match = json.loads(run.stdout)
        return match["seconds"], match["verdict"]["estimate"]["blocks"]
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
    ratios_of_a_block = []
    for turn in range(arguments.times):
        # Whoever begins has the machine as the other leaves it.
        programs = [arguments.old, arguments.new]
        order = programs if turn % 2 == 0 else programs[::-1]
        played = {program: played_by(program, arguments) for program in order}
        (old_seconds, old_blocks), (new_seconds, new_blocks) = played[arguments.old], played[arguments.new]
        ratios.append(new_seconds / old_seconds)
        ratios_of_a_block.append(ratios[-1] * old_blocks / new_blocks)
        print(f"{old_seconds:8.2f} s {old_blocks:5} blocks {new_seconds:8.2f} s {new_blocks:5} blocks  "
              f"{ratios[-1]:.3f}x, of a block {ratios_of_a_block[-1]:.3f}x", flush=True)
    for what, found in (("match", ratios), ("block", ratios_of_a_block)):
        print(f"{what}: median {statistics.median(found):.3f}x, {min(found):.3f} to {max(found):.3f}")


if __name__ == "__main__":
    main()
