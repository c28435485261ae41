#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures again what results/h200 has of a GPU, the most wanted first, in as many goes as it takes.

    results/measure_h200.py build/release/thresher OUT --minutes 9
    results/measure_h200.py build/release/thresher OUT --minutes 9 --from models
    results/measure_h200.py --list

A step whose time does not fit into what is left is not begun, and the last line says with which one
to go on. Lines of JSON are complete as soon as a problem is, so a step that is cut off leaves the
problems before it. What comes into OUT has the names that results/h200 has. For Humming and torch
beside us the first python3 of PATH must have them (PYTHONPATH counts).
"""
import argparse
import pathlib
import subprocess
import sys
import time

PEERS = "--peers --seconds 0.3"
BF16 = "--activations bf16 --output bf16"
# Name, seconds at most, file, words after `thresher bench --json`. Humming compiles what it has not
# seen, so that its first problems take longest.
BENCHES = [
    ("seeds", 240, "bench.jsonl", f"--suite seeds {PEERS}"),
    ("decode", 240, "bench.jsonl", f"--suite decode {PEERS}"),
    ("seeds_w4a16", 100, "w4a16_peers.jsonl", f"--suite seeds {PEERS} {BF16}"),
    ("decode_w4a16", 100, "w4a16_peers.jsonl", f"--suite decode {PEERS} {BF16}"),
    ("dual", 200, "bench.jsonl", f"--suite dual {PEERS}"),
    ("dual_w4a16", 100, "w4a16_peers.jsonl", f"--suite dual {PEERS} {BF16}"),
    ("models", 400, "bench.jsonl", f"--suite models {PEERS}"),
    ("models_w4a16", 200, "w4a16_peers.jsonl", f"--suite models {PEERS} {BF16}"),
    ("experts", 400, "bench.jsonl", f"--suite experts {PEERS}"),
    ("experts_w4a16", 200, "w4a16_peers.jsonl", f"--suite experts {PEERS} {BF16}"),
    # Whether peers beside us let the card cool: the same with and without, in turn.
    *((f"cooling_{i}_{name}", 40, "cooling.jsonl",
       f"--suite seeds --problem g8_n4096_k7168 --seconds 0.5 {words}")
      for i in (1, 2, 3) for name, words in (("alone", ""), ("peers", "--peers"))),
    ("back_to_back", 80, "bench_back_to_back.jsonl",
     "--suite seeds dual decode --timing back_to_back --seconds 0.3"),
    ("alone", 80, "bench_alone.jsonl", "--suite seeds dual decode --timing alone --seconds 0.3"),
    ("w4a16", 80, "w4a16.jsonl", f"--suite seeds dual decode --sizes device --seconds 0.3 {BF16}"),
    ("device_sizes", 80, "device_sizes.jsonl", "--suite seeds dual decode --sizes device --seconds 0.3"),
]


def steps(thresher, backend):
    """(name, seconds at most, file, command), the most wanted first."""
    here = pathlib.Path(__file__).parent
    commands = {
        name: (seconds, file, [thresher, "bench", "--backend", backend, "--json", *words.split()])
        for name, seconds, file, words in BENCHES
    }
    # Nothing is timed that is not right.
    yield "verify", 120, "verify_small.json", [thresher, "verify", "--backend", backend, "--quick", "--json"]
    for name, step in commands.items():
        if name == "cooling_1_alone":
            # What a search found and the choice does not take (docs/hopper.md).
            for activations in ("nvfp4", "bf16"):
                yield (f"knobs_{activations}", 200, "turned_knobs.jsonl",
                       [sys.executable, here / "turned_knobs.py", thresher, "--backend", backend,
                        "--knob", "steps=2", "--knob", "blocks=2", "--also",
                        f"--activations {activations}"])
        yield name, *step


def run(command, seconds, path):
    """Appends what the command prints; what it tells on stderr goes through."""
    with path.open("a") as file:
        begin = time.monotonic()
        try:
            code = subprocess.run(command, stdout=file, timeout=seconds, check=False).returncode
            how = "done" if code == 0 else f"exit {code}"
        except subprocess.TimeoutExpired:
            how = "cut off"
    print(f"  {how} after {time.monotonic() - begin:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("thresher", nargs="?", default="thresher")
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--from", dest="first", help="the step to begin with")
    parser.add_argument("--only", nargs="+", help="these steps")
    parser.add_argument("--backend", default="gpu")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    every = list(steps(arguments.thresher, arguments.backend))
    names = [name for name, *_ in every]
    unknown = {arguments.first, *(arguments.only or [])} - {None, *names}
    if unknown:
        parser.error(f"there is no step {', '.join(sorted(unknown))}; --list names them")
    if arguments.list:
        for name, seconds, file, command in every:
            print(f"{name}: at most {seconds} s, {file}: {' '.join(map(str, command))}")
        return
    if arguments.out is None:
        parser.error("say where to put the files")
    arguments.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * arguments.minutes
    if arguments.only:
        every = [step for step in every if step[0] in arguments.only]
    elif arguments.first:
        every = every[names.index(arguments.first):]
    for name, seconds, file, command in every:
        left = end - time.monotonic()
        # Most take half of what they may.
        if left < seconds / 2:
            print(f"{left:.0f} s are left; go on with --from {name}")
            return
        print(f"{name}: {' '.join(map(str, command))}", flush=True)
        run(command, min(seconds, left), arguments.out / file)
    print("all done")


if __name__ == "__main__":
    main()
