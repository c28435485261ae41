#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What many matches cost whoever coordinates them: real ones, whose contestant ends before it is asked anything.

    noop_matches.py THRESHER [MATCHES [NODES [JOBS]]]      1000 16 250

One round on a Slurm of our own (root, Debian's slurm-wlm and munge): orders, arrays, tasks in their sandboxes, records,
verdicts and every entry of the ledger. Prints the matches a minute and the processor time of the coordinator with the
commands of Slurm that it ran; then the ledger is verified. Exit code 77: no Slurm can be started here.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import small_slurm

SUITE = 'name = "tiny"\n[[problem]]\nname = "ragged"\nm = [3, 0, 9]\nn = 64\nk = 128\n'
PITCH = """\
name = "noop_{index}"
suite = "tiny.toml"
claim = 1.1
mechanism = "ends before it is asked anything"
[contestant]
command = ["sh", "-c", "exit 0 # {index}"]
"""


def play(thresher, folder, env, pitches, jobs):
    """(seconds, processor seconds of the coordinator and what it waited for)"""
    log = open(folder / "round.log", "wb")
    begin = time.monotonic()
    process = subprocess.Popen(
        [thresher, "round", *pitches, "--season", "noop", "--backend", "cpu", "--threads", "1", "--suite", "tiny.toml",
         "--seconds", "36000", "--match-seconds", "20", "--seed", "7", "--ledger", "noop.db", "--on", "slurm",
         "--jobs", str(jobs)], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"the round failed: {(folder / 'round.log').read_text(errors='replace')[-3000:]}")
    return seconds, used.ru_utime + used.ru_stime


def main(thresher, matches="1000", nodes="16", jobs="250"):
    why_not = small_slurm.missing()
    if why_not:
        print(f"no Slurm can be started here: {why_not}", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="thresher-noop-") as name:
        folder = pathlib.Path(name)
        command = str(shutil.copy(thresher, folder / "thresher"))
        (folder / "tiny.toml").write_text(SUITE)
        pitches = [f"noop_{index}.toml" for index in range(int(matches))]
        for index, pitch in enumerate(pitches):
            (folder / pitch).write_text(PITCH.format(index=index))
        with small_slurm.Slurm(folder / "slurm", [f"n{i + 1}" for i in range(int(nodes))]) as slurm:
            seconds, processor_seconds = play(command, folder, slurm.env, pitches, jobs)
        shown = subprocess.run([command, "ledger", "show", "--ledger", "noop.db", "--season", "noop", "--json"],
                               cwd=folder, capture_output=True, text=True, check=True)
        entries = json.loads(shown.stdout)["entries"]
        played = {entry["data"]["id"] for entry in entries if entry["kind"] == "match"}
        subprocess.run([command, "ledger", "verify", "--ledger", "noop.db"], cwd=folder, check=True)
        print(f"matches            {len(played)} of {matches} in {seconds:.1f} s, {60 * len(played) / seconds:.0f} a minute")
        print(f"coordinator        {processor_seconds:.2f} s of processor time, {len(entries)} entries in the ledger")
        return 0 if len(played) == int(matches) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
