#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers on the CPU, ours and llama.cpp's in turn, and how many times faster ours is.

    git clone https://github.com/ggml-org/llama.cpp LLAMA
    cmake -S LLAMA -B LLAMA/build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_OPENMP=OFF
    cmake --build LLAMA/build --target ggml
    results/llama_layers.py build/release/thresher LLAMA > results/xeon/llama_layers.jsonl

Every round runs all programs once, each with the same threads, so that all see the same machine. A line has the ratio
of llama.cpp's median to ours of each round: their median, the smallest and the largest.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LAYERS = {"qwen3.6-35b-a3b": "2048x512x256x8", "qwen3-235b-a22b": "4096x1536x72x8"}
TYPES = ["nvfp4", "mxfp4+repack", "q4_0+repack"]


def build(llama, folder):
    program = folder / "ggml_layer"
    libraries = sorted(str(path) for path in (llama / "build").rglob("libggml*.a"))
    subprocess.run(["g++", "-std=c++20", "-O2", f"-I{llama}/ggml/include", HERE / "ggml_layer.cpp", "-o", program,
                    "-Wl,--start-group", *libraries, "-Wl,--end-group", "-pthread", "-ldl", "-lm"], check=True)
    return program


def lines(command):
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thresher", type=pathlib.Path)
    parser.add_argument("llama", type=pathlib.Path, help="a checkout that is built")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--layers", nargs="+", default=list(LAYERS), choices=list(LAYERS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="per number of tokens and program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peer = build(options.llama, pathlib.Path(folder))
        for name in options.layers:
            compare(options, peer, name, LAYERS[name])


def compare(options, peer, name, shape):
    us = {}  # of a program at a number of tokens, one per round
    experts = shape.split("x")[2]
    for number in range(options.rounds):
        print(f"{name}, round {number + 1}", file=sys.stderr)
        for activations in ("bf16", "nvfp4"):
            for row in lines([options.thresher, "bench", "--backend", "cpu", "--layer", name, "--experts", experts,
                              "--threads", options.threads, "--seconds", options.seconds, "--activations", activations,
                              "--tokens", ",".join(map(str, options.tokens)), "--json"]):
                us.setdefault(("ours", activations, row["tokens"]), []).append(row["median_us"])
        for kind in TYPES:
            for row in lines([peer, kind, shape, options.threads, options.seconds, *options.tokens]):
                us.setdefault(("llama.cpp", kind, row["tokens"]), []).append(row["median_us"])
    for tokens in options.tokens:
        for kind in TYPES:
            for activations in ("bf16", "nvfp4"):
                ours, theirs = us["ours", activations, tokens], us["llama.cpp", kind, tokens]
                ratios = sorted(b / a for a, b in zip(ours, theirs))
                print(json.dumps({"layer": name, "experts": int(experts), "tokens": tokens, "peer": f"llama.cpp {kind}",
                                  "activations": activations, "threads": options.threads,
                                  "ours_us": statistics.median(ours), "peer_us": statistics.median(theirs),
                                  "ratio": statistics.median(ratios), "ratio_low": ratios[0],
                                  "ratio_high": ratios[-1], "rounds": len(ratios)}), flush=True)


if __name__ == "__main__":
    main()
