#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what the engine chooses for suites on this machine's GPU, and then everything that it
chooses from (`thresher variants --choices`), as lines of `thresher bench --json`.

    results/choice.py build/release/thresher > results/h200/choice.jsonl
"""
import argparse
import json
import subprocess


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("thresher")
    parser.add_argument("--suite", nargs="+", default=["seeds", "dual", "decode", "experts", "models"])
    arguments = parser.parse_args()
    listed = subprocess.run(
        [arguments.thresher, "variants", "--backend", "gpu", "--choices", "--json"],
        check=True, capture_output=True)
    names = [entry["variant"] for entry in json.loads(listed.stdout)["variants"]]
    every = [word for name in names for word in ("--variant", name)]
    for suite in arguments.suite:
        bench = [arguments.thresher, "bench", "--backend", "gpu", "--json", "--suite", suite]
        subprocess.run([*bench, "--seconds", "0.1"], check=True)
        subprocess.run([*bench, "--seconds", "0.03", *every], check=True)


if __name__ == "__main__":
    main()
