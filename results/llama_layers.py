#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers on the CPU, ours and in turn llama.cpp's and ik_llama.cpp's, and how many times faster ours is.

    git clone https://github.com/ggml-org/llama.cpp LLAMA
    cmake -S LLAMA -B LLAMA/build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DGGML_OPENMP=OFF
    cmake --build LLAMA/build --target ggml
    git clone https://github.com/ikawrakow/ik_llama.cpp IK
    cmake -S IK -B IK/build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF
    cmake --build IK/build --target ggml
    results/llama_layers.py build/release/thresher LLAMA --ik IK > results/epyc/llama_layers.jsonl

Every round runs all programs once, each with the same threads, so that all see the same machine. A line has the ratio
of the peer's median to ours of each round: their median, the smallest and the largest; and, of ours, at what share of
the DRAM's speed of its round weights were read.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LAYERS = {"qwen3.6-35b-a3b": "2048x512x256x8", "qwen3-235b-a22b": "4096x1536x72x8"}
TYPES = {"llama.cpp": ["nvfp4", "mxfp4+repack", "q4_0+repack"], "ik_llama.cpp": ["mxfp4_r8"]}


def build(checkout, flags, program):
    libraries = sorted(str(path) for path in (checkout / "build").rglob("libggml*.a"))
    subprocess.run(["g++", "-std=c++20", "-O2", f"-I{checkout}/ggml/include", *flags, HERE / "ggml_layer.cpp", "-o",
                    program, "-Wl,--start-group", *libraries, "-Wl,--end-group", "-fopenmp", "-pthread", "-ldl",
                    "-lm"], check=True)
    return program


def lines(command):
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, env=os.environ | {"OMP_PROC_BIND": "true"})
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thresher", type=pathlib.Path)
    parser.add_argument("llama", type=pathlib.Path, help="a checkout that is built")
    parser.add_argument("--ik", type=pathlib.Path, help="one of ik_llama.cpp")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--layers", nargs="+", default=list(LAYERS), choices=list(LAYERS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="per number of tokens and program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        peers = {"llama.cpp": build(options.llama, [], folder / "llama")}
        if options.ik:
            peers["ik_llama.cpp"] = build(options.ik, ["-DIK_LLAMA"], folder / "ik")
        for name in options.layers:
            compare(options, peers, name, LAYERS[name])


def compare(options, peers, name, shape):
    us = {}  # of a program at a number of tokens, one per round
    shares = {}  # of the DRAM's speed, at which ours reads weights
    experts = shape.split("x")[2]
    for number in range(options.rounds):
        print(f"{name}, round {number + 1}", file=sys.stderr)
        for activations in ("bf16", "nvfp4"):
            for row in lines([options.thresher, "bench", "--backend", "cpu", "--layer", name, "--experts", experts,
                              "--threads", options.threads, "--seconds", options.seconds, "--activations", activations,
                              "--tokens", ",".join(map(str, options.tokens)), "--json"]):
                us.setdefault(("ours", activations, row["tokens"]), []).append(row["median_us"])
                share = row["weight_gb_per_s"] / row["ceilings"]["read_gb_per_s"]
                shares.setdefault((activations, row["tokens"]), []).append(share)
        for peer, program in peers.items():
            for kind in TYPES[peer]:
                for row in lines([program, kind, shape, options.threads, options.seconds, *options.tokens]):
                    us.setdefault((peer, kind, row["tokens"]), []).append(row["median_us"])
    for tokens in options.tokens:
        for peer, kind in [(peer, kind) for peer in peers for kind in TYPES[peer]]:
            for activations in ("bf16", "nvfp4"):
                ours, theirs = us["ours", activations, tokens], us[peer, kind, tokens]
                ratios = sorted(b / a for a, b in zip(ours, theirs))
                print(json.dumps({"layer": name, "experts": int(experts), "tokens": tokens, "peer": f"{peer} {kind}",
                                  "activations": activations, "threads": options.threads,
                                  "ours_us": statistics.median(ours), "peer_us": statistics.median(theirs),
                                  "dram_shares": [round(share, 3) for share in shares[activations, tokens]],
                                  "ratio": statistics.median(ratios), "ratio_low": ratios[0],
                                  "ratio_high": ratios[-1], "rounds": len(ratios)}), flush=True)


if __name__ == "__main__":
    main()
