#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seasons on a real Slurm, and what may happen to them: nothing is lost, nothing is counted twice.

    slurm_season.py THRESHER

One controller and four nodes on the loopback: n3 has one core, n4 a full disk. Contestants fail at
the gates, so that their verdicts are certain. THRESHER_CLUSTER_KILLS says how often coordinators of
a season are killed (20). Exit code 77: no Slurm can be started here.
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import small_slurm

KILLS = int(os.environ.get("THRESHER_CLUSTER_KILLS", "20"))
SUITE = 'name = "tiny"\n[[problem]]\nname = "ragged"\nm = [3, 0, 9]\nn = 64\nk = 128\n'
PITCH = """\
name = "{name}"
suite = "tiny.toml"
claim = {claim}
mechanism = "certain to fail"
[contestant]
source = "{name}.c"
"""
SOURCE = """\
#include <stdlib.h>
#include <time.h>
#include "thresher/contestant.h"
int thresher_contestant_abi_version(void) {{ return THRESHER_CONTESTANT_ABI_VERSION; }}
int thresher_contestant_prepare(const thresher_contestant_problem* problem, void** state,
                                const char** message) {{
  (void)message;
  *state = (void*)problem;
  {prepare}
  return THRESHER_CONTESTANT_OK;
}}
int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {{
  (void)state, (void)calls;
  {run}
  return THRESHER_CONTESTANT_OK;
}}
"""
SLEEP = "struct timespec pause = {2, 0}; nanosleep(&pause, 0);"
# Name: what prepare() does, what run() does, and the check that it loses by.
QUICK = {"declines": ("return THRESHER_CONTESTANT_UNSUPPORTED;", "", "declined"),
         "aborts": ("", "abort();", "exit"),
         "idles": ("", "", "poison"),
         "fails": ("", "return THRESHER_CONTESTANT_FAILED;", "error")}
SLOW = {f"sleeps_{i}": (SLEEP, f"/* {i} */", "poison") for i in range(3)}
# What of an entry does not depend on when or where it was played.
TOLD = {"match": ["round", "pitch", "control", "champion_hash", "challenger_hash"],
        "verdict": ["round", "pitch", "control", "kind", "check"],
        "round": ["round", "controls"],
        "champion": ["round", "pitch"], "seal": ["round", "ballot_count"],
        "constraint": ["predicate"], "end": ["reason", "round_count"]}


class Test:
    def __init__(self, thresher, folder):
        self.thresher, self.folder = thresher, folder
        self.faults = []
        (folder / "tiny.toml").write_text(SUITE)
        for rank, (name, (prepare, run, _)) in enumerate({**QUICK, **SLOW}.items()):
            (folder / f"{name}.c").write_text(SOURCE.format(prepare=prepare, run=run))
            (folder / f"{name}.toml").write_text(PITCH.format(name=name, claim=1.1 + 0.2 * rank))

    def expect(self, truth, what):
        if not truth:
            self.faults.append(what)
            print(f"FAILED: {what}", flush=True)

    def command(self, season, ledger, pitches, *more):
        return [self.thresher, "season", "--season", season, "--backend", "cpu", "--threads", "1",
                "--suite", "tiny.toml", "--seconds", "100", "--match-seconds", "20", "--seed", "7",
                "--ledger", ledger, "--jobs", "4", *more, *(f"{name}.toml" for name in pitches)]

    def start(self, command, env=None, tag="out"):
        log = open(self.folder / f"{tag}.log", "ab")
        with log:
            return subprocess.Popen(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, start_new_session=True)

    def log(self, tag):
        return (self.folder / f"{tag}.log").read_text(errors="replace")

    def entries(self, ledger, season):
        shown = subprocess.run([self.thresher, "ledger", "show", "--ledger", ledger, "--season",
                                season, "--json"], cwd=self.folder, capture_output=True, text=True)
        return json.loads(shown.stdout)["entries"] if shown.returncode == 0 else []

    def order(self, ledger, season):
        """Of all there is: which kind of entry follows which, in which round."""
        return [(entry["kind"], entry["data"].get("round")) for entry in self.entries(ledger, season)]

    def check_vote_order(self, ledger, season):
        """Verdicts are drawn in the order of the vote, whoever was ready first."""
        entries = self.entries(ledger, season)
        for round_entry in (entry["data"] for entry in entries if entry["kind"] == "round"):
            ranking = [one["pitch"] for one in round_entry["ranking"]]
            drawn = [entry["data"]["pitch"] for entry in entries
                     if entry["kind"] == "match" and entry["data"]["round"] == round_entry["round"]
                     and not entry["data"]["control"]]
            self.expect(drawn == [pitch for pitch in ranking if pitch in drawn] and drawn,
                        f"{ledger}, round {round_entry['round']}: drawn {drawn}, voted {ranking}")

    def story(self, ledger, season):
        """Which pitch is voted first depends on rates that the machine was measured to have: without that order."""
        return sorted(json.dumps([entry["kind"], *(entry["data"].get(key)
                                                   for key in TOLD[entry["kind"]])])
                      for entry in self.entries(ledger, season) if entry["kind"] in TOLD)

    def check_season(self, ledger, season, pitches):
        """Every match is there once, as it has to be."""
        entries = self.entries(ledger, season)
        matches = [entry["data"] for entry in entries if entry["kind"] == "match"]
        ids = [match["id"] for match in matches]
        self.expect(len(ids) == len(set(ids)), f"{season}: a match is counted twice: {ids}")
        self.expect(sorted(match["pitch"] for match in matches) == sorted(pitches),
                    f"{season}: played {[match['pitch'] for match in matches]}")
        for match in matches:
            expected = {**QUICK, **SLOW}[match["pitch"]][2]
            verdict = match["verdict"]
            self.expect(verdict["check"] == expected,
                        f"{season}: {match['pitch']}: {verdict['check']}: {verdict['reason']}")
        self.expect(entries and entries[-1]["kind"] == "end", f"{season}: does not end")
        return matches


def wait_for(process, seconds, what):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise TimeoutError(what)


def one_season_equals_the_local_one(test, slurm):
    """Also over mixed nodes, one of them with a full disk."""
    here = test.start(test.command("s", "here.db", QUICK), tag="here")
    there = test.start(test.command("s", "there.db", QUICK, "--on", "slurm"), slurm.env, "there")
    test.expect(wait_for(here, 120, "the local season") == 0, f"here: {test.log('here')}")
    test.expect(wait_for(there, 120, "the season on Slurm") == 0, f"there: {test.log('there')}")
    test.check_season("here.db", "s", QUICK)
    matches = test.check_season("there.db", "s", QUICK)
    test.expect(test.story("here.db", "s") == test.story("there.db", "s"),
                f"another story:\n{test.story('here.db', 's')}\n{test.story('there.db', 's')}")
    test.expect(test.order("here.db", "s") == test.order("there.db", "s"),
                f"another order:\n{test.order('here.db', 's')}\n{test.order('there.db', 's')}")
    for ledger in ("here.db", "there.db"):
        test.check_vote_order(ledger, "s")
    nodes = {match["machine"]["node"] for match in matches}
    test.expect("n4" not in nodes, "a match was played on a full disk")
    failures = [path.read_text() for path in test.folder.glob("there.db.cluster/s-*/failures/*")]
    # Which node gets a task is Slurm's to say: quick ones may all fit on the others.
    if not any("n4" in text for text in failures):
        print("no task came to the node with a full disk", flush=True)
    classes = {match["machine"]["class"] for match in matches}
    test.expect(len(classes) == 2, f"classes of machines: {classes}")
    test.expect("is of another class of machines" in test.log("there"), "mixed nodes go unsaid")
    test.expect("2 classes of machines" in " ".join(test.log("there").split()),
                "the summary does not say so")


def kill_coordinators(test, slurm, seed):
    """Again and again at random moments, of one season after the other; the last one plays to the end.

    A few die before the season has begun, the others while it is played. Returns the seasons, the last one's command
    and its process."""
    draw = random.Random(seed)
    kills = kills_while_played = 0
    seasons = []
    while True:
        seasons.append(f"quick{len(seasons)}")
        command = test.command(seasons[-1], "both.db", QUICK, "--on", "slurm")
        while True:
            process = test.start(command, slurm.env, "killed" if kills < KILLS else "last")
            if kills == KILLS:
                print(f"{KILLS} coordinators killed in {len(seasons)} seasons, {kills_while_played} while they were played")
                test.expect(kills_while_played >= KILLS // 4, "too few were killed while a season was played")
                return seasons, command, process
            has_begun = bool(test.entries("both.db", seasons[-1]))
            try:
                process.wait(draw.uniform(0.05, 2) if has_begun or kills < KILLS // 5 else draw.uniform(3, 8))
                break
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                kills_while_played += has_begun


def running(slurm, season):
    return [(node, job) for state, node, job, name in slurm.queue()
            if state == "RUNNING" and f"-{season}-" in name]


def everything_goes_wrong(test, slurm):
    """Two seasons in one ledger at once; coordinators, a node and tasks die under them."""
    seed = random.randrange(1 << 30)
    print(f"kills: {KILLS}, seed {seed}", flush=True)
    slow = test.command("slow", "both.db", SLOW, "--on", "slurm")
    other = test.start(slow, slurm.env, "slow")
    small_slurm.wait_until(lambda: running(slurm, "slow"), 150, "no match of 'slow' runs")
    node, job = running(slurm, "slow")[0]
    rest = [one for one in running(slurm, "slow") if one[0] != node]
    test.expect(slurm.kill_node(node) > 0, "nothing ran on the node that was killed")
    if rest:
        slurm.say("scontrol", "requeue", rest[0][1])
    print(f"killed {node} with {job}, requeued {[one[1] for one in rest[:1]]}", flush=True)
    seasons, quick, killed = kill_coordinators(test, slurm, seed)
    again = test.start(quick, slurm.env, "second")
    # Whoever holds the season plays it; the other is refused, or comes when it has ended. It has for both if the last
    # kill met a coordinator that had written the end and was not gone yet.
    codes = [wait_for(killed, 150, "the season that was killed"),
             wait_for(again, 150, "the second coordinator")]
    said = test.log("last") + test.log("second")
    test.expect(0 in codes or "has ended" in said, f"neither coordinator comes to an end: {said[-2000:]}")
    test.expect(codes == [0, 0] or "is being played already" in said or "has ended" in said,
                f"two coordinators at once: {codes}: {said[-2000:]}")
    test.expect(wait_for(other, 150, "the season whose node died") == 0,
                f"slow: {test.log('slow')[-2000:]}")
    for season in seasons:
        test.check_season("both.db", season, QUICK)
    test.check_season("both.db", "slow", SLOW)


def one_class_of_machines(test, slurm):
    """--classes: what is asked of one class is played and tuned there and nowhere else."""
    season = test.start(test.command("one", "there.db", ["declines"], "--classes", ", 1 CORE", "--on", "slurm"),
                        slurm.env, "one")
    tune = [test.thresher, "tune", "--backend", "cpu", "--suite", "tiny.toml", "--tokens", "6,12",
            "--budget", "4s", "--on", "slurm", "--output", "plan.json", "--json"]
    killed = test.start([*tune, "--classes", ", 1 core", "2 cores"], slurm.env, "tune-killed")
    try:
        killed.wait(3)
    except subprocess.TimeoutExpired:
        killed.kill()
        killed.wait()
    tuned = subprocess.run([*tune, "--classes", ", 1 core", "2 cores"], cwd=test.folder, env=slurm.env,
                           capture_output=True, text=True, timeout=150)
    test.expect(tuned.returncode == 0, f"tune: {tuned.stderr[-2000:]}")
    problems = json.loads(tuned.stdout)["problems"]
    test.expect([one["tokens"] for one in problems] == [6, 6, 12, 12], f"tuned: {problems}")
    stamps = {path: path.stat().st_mtime_ns for path in test.folder.glob("plan.json.cluster/tune/records/*")}
    records = [json.loads(path.read_text())["machine"] for path in stamps]
    test.expect(sorted(record["class"].rpartition(", ")[2] for record in records) == ["1 core", "1 core", "2 cores", "2 cores"],
                f"tuned on: {records}")
    plan = json.loads((test.folder / "plan.json").read_text())
    # On a busy machine both classes get one thread, and a processor with one thread is one machine of a plan.
    test.expect({len(one["entries"]) for one in plan["machines"]} == {2}, f"two problems on each machine: {plan}")
    again = subprocess.run([*tune, "--classes", ", 1 core"], cwd=test.folder, env=slurm.env, capture_output=True,
                           text=True, timeout=60)
    test.expect(again.returncode == 0 and len(json.loads(again.stdout)["problems"]) == 2, f"again: {again.stderr}")
    after = {path: path.stat().st_mtime_ns for path in test.folder.glob("plan.json.cluster/tune/records/*")}
    test.expect(after == stamps, f"tuned again: {after} after {stamps}")
    nowhere = subprocess.run([*tune, "--classes", "abacus"], cwd=test.folder, env=slurm.env, capture_output=True,
                             text=True, timeout=60)
    test.expect(nowhere.returncode != 0 and "no node is of a class called abacus" in nowhere.stderr,
                f"a class that no node has: {nowhere.stderr[-2000:]}")
    test.expect(wait_for(season, 150, "the season on one class") == 0, f"one: {test.log('one')[-2000:]}")
    matches = test.check_season("there.db", "one", ["declines"])
    test.expect({match["machine"]["node"] for match in matches} == {"n3"}, f"played on {matches}")


def main(thresher):
    why_not = small_slurm.missing()
    if not why_not and subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        why_not = "no mount namespace for a node with a full disk"
    if why_not:
        print(f"skipped: no Slurm can be started here: {why_not}")
        return 77
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="thresher-slurm-") as name:
        # A node of its own /tmp would not find a program that lies there.
        command = shutil.copy(thresher, pathlib.Path(name) / "thresher")
        test = Test(str(command), pathlib.Path(name))
        full_disk = ["unshare", "-m", "sh", "-c",
                     'mount -t tmpfs -o size=16k tmpfs /tmp && exec "$@"', "sh"]
        with small_slurm.Slurm(test.folder / "slurm", ["n1", "n2", "n3", "n4"],
                               {"n3": ["taskset", "-c", "0"], "n4": full_disk}) as slurm:
            for step in (one_season_equals_the_local_one, one_class_of_machines, everything_goes_wrong):
                step(test, slurm)
                print(f"{step.__name__}: {time.monotonic() - begin:.0f} s", flush=True)
            for ledger in ("here.db", "there.db", "both.db"):
                audit = subprocess.run([test.thresher, "ledger", "verify", "--ledger", ledger],
                                       cwd=test.folder, capture_output=True, text=True)
                test.expect(audit.returncode == 0, f"{ledger}: {audit.stdout}{audit.stderr}")
            left = [task for task in slurm.queue() if "thresher" in task[3]]
            test.expect(not left, f"left in the queue: {left}")
        if test.faults:
            print("\n".join(str(path.relative_to(test.folder)) for path in
                            sorted(test.folder.glob("*.cluster/**/*.json"))))
    return 1 if test.faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except small_slurm.CannotStart as fault:
        print(f"skipped: no Slurm can be started here: {fault}")
        sys.exit(77)
