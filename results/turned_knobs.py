#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the engine's choice for each problem of some suites against the same variant with one knob
turned, as lines of `thresher bench --json`: the choice first, then whatever of the turned ones runs.

    results/turned_knobs.py build/release/thresher --knob steps=2 --knob blocks=2 > turned.jsonl
    results/turned_knobs.py --summary turned.jsonl
"""
import argparse
import json
import pathlib
import subprocess
import sys

SUITES = ["seeds", "dual", "decode", "experts", "models"]


def bench(arguments, suite, *more):
    command = [arguments.thresher, "bench", "--backend", arguments.backend, "--json", "--suite", suite,
               "--seconds", str(arguments.seconds), *arguments.also.split(), *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"{' '.join(command)}: exit {done.returncode}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def turned(variant, knob):
    """`variant` with that knob in the place of its own."""
    body, _, knobs = variant.partition(":")
    name = knob.partition("=")[0]
    kept = [one for one in knobs.split(",") if one and one.partition("=")[0] != name]
    return f"{body}:{','.join([*kept, knob])}"


def time_all(arguments):
    for suite in arguments.suite:
        for choice in bench(arguments, suite):
            variants = [choice["variant"], *(turned(choice["variant"], knob) for knob in arguments.knob)]
            words = [word for variant in variants for word in ("--variant", variant)]
            for row in bench(arguments, suite, "--problem", choice["problem"], *words):
                print(json.dumps({**row, "choice": choice["variant"]}), flush=True)


def summarise(path):
    choices = {}
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    key = lambda row: (row["suite"], row["problem"], row["activations"])
    for row in rows:
        if row["variant"] == row["choice"]:
            choices[key(row)] = row["median_us"]
    for row in rows:
        if row["variant"] != row["choice"] and key(row) in choices:
            ratio = choices[key(row)] / row["median_us"]
            print(f"{ratio:.3f}x  {' '.join(key(row))}  {row['variant']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("thresher", nargs="?")
    parser.add_argument("--summary", help="a file of such lines: how much faster each turned one was")
    parser.add_argument("--knob", action="append", default=[], help="as in steps=2")
    parser.add_argument("--suite", nargs="+", default=SUITES)
    parser.add_argument("--backend", default="gpu")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--also", default="", help="more options for bench, in one word")
    arguments = parser.parse_args()
    if arguments.summary:
        summarise(arguments.summary)
    elif not arguments.thresher or not arguments.knob:
        parser.error("say the program and at least one --knob, or --summary FILE")
    else:
        time_all(arguments)


if __name__ == "__main__":
    main()
