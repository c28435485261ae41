#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what the engine chooses for a suite on this machine's GPU, and then every shape that it
chooses from (knobs_for in src/gpu/choose.cpp), as lines of `thresher bench --json`.

    results/choice.py build/release/thresher > results/h200/choice.jsonl
"""
import argparse
import subprocess


def shapes():
    for tokens in (8, 16, 32, 48, 64, 80, 96, 112, 128):
        for rows in (128, 256):
            knobs = {"tokens": tokens, "rows": rows}
            knobs["stages"] = (6 if rows == 256 else 7) if tokens > 64 else 8
            knobs["steps"] = 2 if rows == 256 and (tokens >= 64 or tokens <= 16) else 4
            knobs["store"] = "vectors" if tokens >= 64 else "direct"
            knobs["prologue"] = "kernel" if tokens == 16 else "inside"
            yield knobs
            if tokens % 32 == 0:
                yield knobs | {"schedule": "balanced"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("thresher")
    parser.add_argument("--suite", default="experts")
    arguments = parser.parse_args()
    bench = [arguments.thresher, "bench", "--backend", "gpu", "--json", "--suite", arguments.suite]
    subprocess.run([*bench, "--seconds", "0.1"], check=True)
    names = ["gpu_sm90:" + ",".join(f"{k}={v}" for k, v in knobs.items()) for knobs in shapes()]
    every = [word for name in names for word in ("--variant", name)]
    subprocess.run([*bench, "--seconds", "0.03", *every], check=True)


if __name__ == "__main__":
    main()
