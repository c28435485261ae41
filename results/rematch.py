#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays the seeds' contestants on this machine's GPU, each against the plain kernel and against the
engine's choice, and prints one JSON object per match.

    results/rematch.py build/release/thresher > results/h200/rematch.jsonl

A contestant is its pitch's knobs laid over the plain kernel, or its pitch's program. Progress goes
to stderr; a match that cannot be played is told there and left out.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PITCHES = ROOT / "pitches" / "gpu"
PLAIN = {"kernel": "plain", "launches": "per_group", "dual": "two_pass"}
# In the order of the seeds' rounds.
CONTESTANTS = [
    "pipeline_stages", "tile_shape", "bulk_store_epilogue", "warp_specialisation",
    "stream_parallelism", "graph", "two_pass_dual", "fused_dual", "triton", "torch_compile",
]  # fmt: skip
# What the seeds claimed where our pitch says something else.
CLAIMED = {
    "two_pass_dual": "right results", "fused_dual": None,
    "triton": "1.02x to 1.07x", "torch_compile": "10x to 50x",
}  # fmt: skip
# What the seeds say came of it, as `thresher scoreboard --season seeds` tells it.
REPORTED = {"pipeline_stages": "0.735x", "tile_shape": "wrong results"}


def variant_name(knobs):
    return "gpu_sm90:" + ",".join(f"{name}={value}" for name, value in knobs.items())


def claim_text(name, pitch):
    if name in CLAIMED:
        return CLAIMED[name]
    claim = pitch.get("claim") or {}
    if "low" in claim:
        return f"{claim['low']:g}x to {claim['high']:g}x"
    values = [v if isinstance(v, float) else v["low"] for v in pitch["claim_by_problem"].values()]
    return f"{min(values):g}x to {max(values):g}x"


def challenger_of(pitch):
    contestant = pitch["contestant"]
    if "command" in contestant:
        return ["--", *contestant["command"]]
    return ["--challenger", variant_name(PLAIN | contestant["knobs"])]


def play(arguments, name, against):
    pitch = tomllib.loads((PITCHES / f"{name}.toml").read_text())
    champion = variant_name(PLAIN) if against == "plain" else "default"
    command = [str(arguments.thresher), "match", "--backend", "gpu", "--json"]
    command += ["--suite", pitch["suite"], "--seconds", str(arguments.seconds)]
    command += ["--champion", champion, *challenger_of(pitch)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PITCHES)
    try:
        match = json.loads(done.stdout)
    except json.JSONDecodeError:
        print(f"{name} against {against}: {done.stderr.strip()[-400:]}", file=sys.stderr)
        return
    for long in ("samples", "log"):
        del match[long]
    head = {"contestant": name, "against": against, "claim": claim_text(name, pitch)}
    print(json.dumps(head | {"reported": REPORTED.get(name)} | match), flush=True)
    verdict = match["verdict"]
    print(f"{name} against {against}: {verdict['kind']}, {match['seconds']:.0f} s",
          file=sys.stderr, flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("thresher", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--seconds", type=float, default=25, help="longest time of a match")
    parser.add_argument("--only", nargs="*", choices=CONTESTANTS, default=CONTESTANTS)
    arguments = parser.parse_args()
    for name in arguments.only:
        for against in ("plain", "champion"):
            play(arguments, name, against)


if __name__ == "__main__":
    main()
