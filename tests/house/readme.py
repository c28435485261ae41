#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README's commands run, and what they print has the shape that README shows.

    readme.py THRESHER

`./run bench` is run with one problem and next to no time, `./run`'s season on a tiny suite with one
pitch; headers of tables and the lines around them must be README's, numbers and words of the
machine aside. Every command of a shell block is known here: a new one needs a row in COMMANDS.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import house

README = house.ROOT / "README.md"
SUITE = """name = "tiny"
description = "for README's season"
[[problem]]
name = "small"
m = [3, 5]
n = 64
k = 128
"""
WITHOUT_PEERS = re.compile(r"apt install|leave --peers out")


def blocks():
    """README's shell blocks: (line number of the command, command, what it prints)."""
    lines = README.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("$ "):
            end = lines.index("```", number)
            yield number, line[2:], lines[number:end]


def run(arguments, **options):
    environment = dict(os.environ, COLUMNS="120")
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False,
                          timeout=300, **options)


def bench(thresher, command):
    """The command itself with the suite's last problem, and little time."""
    words = [thresher, *command.split()[1:], "--backend", "cpu", "--problem", "g2_n4096_k1536",
             "--seconds", "0.02", "--threads", "2"]
    done = run(words)
    if done.returncode != 0 and WITHOUT_PEERS.search(done.stderr):
        words.remove("--peers")
        done = run(words)
    return done


def season(thresher, _):
    """What ./run plays last, of one pitch."""
    with tempfile.TemporaryDirectory() as folder:
        suite = pathlib.Path(folder, "tiny.toml")
        suite.write_text(SUITE)
        return run([thresher, "season", house.ROOT / "pitches/pipeline_stages.toml", "--suite",
                    suite, "--seconds", "4", "--match-seconds", "2", "--threads", "1", "--ledger",
                    pathlib.Path(folder, "ledger.db")])


# What runs each command, the beginning of its table's header, and lines that stand around it.
COMMANDS = {
    "./run bench --suite seeds --peers": (
        bench, "problem", [r"2 threads, gemm, cpu_\w+", r"timed single calls",
                           r"ceilings \(\w+\): DRAM read [\d.]+ GB/s, \d+ GOP/s, \d+ GFLOP/s; "
                           r"noise [\d.]+ %",
                           r"the engine's choice: geomean \S+ of the speed of light"]),
    "./run": (season, "round", [r"Season \d{4}-\d\d-\d\d-\w+, suite \w+, on .+"]),
}


def columns(lines, beginning):
    """The words of a table's header."""
    header = next((line for line in lines if line.startswith(beginning)), "")
    return re.split(r"\s{2,}", header.strip())


def faults_of(number, command, shown, thresher):
    place = house.place(README, number)
    if command not in COMMANDS:
        yield f"{place}: nobody runs {command}: tests/house/readme.py has no row for it"
        return
    play, beginning, around = COMMANDS[command]
    done = play(thresher, command)
    if done.returncode != 0:
        yield f"{place}: {command} fails: {done.stderr.strip()}"
        return
    printed = done.stdout.splitlines()
    wanted, found = columns(shown, beginning), columns(printed, beginning)
    # Peers come last, as many as a machine has.
    if wanted[:len(found)] != found[:len(wanted)] or len(found) < 6:
        yield f"{place}: {command} prints columns {found}, README shows {wanted}"
    for line in around:
        for who, lines in (("README", shown), ("the program", printed)):
            if not any(re.fullmatch(line, one) for one in lines):
                yield f"{place}: {who} has no line like '{line}'"


def main(thresher):
    found = list(blocks())
    faults = [fault for block in found for fault in faults_of(*block, thresher)]
    missing = COMMANDS.keys() - {command for _, command, _ in found}
    faults += [f"README.md: shows no '$ {command}'" for command in sorted(missing)]
    return house.judge(faults, "README shows what the program prints: record it anew")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
