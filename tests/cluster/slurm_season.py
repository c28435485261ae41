#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seasons on a real Slurm, and what may happen to them: nothing is lost, nothing is counted twice.

    slurm_season.py THRESHER

One controller and six nodes on the loopback: n3 has one core; n4 has a full disk and is given a task before all others;
n5 and n6 are a partition with a GPU each, in name. Most contestants fail at the gates, so that their verdicts are
certain; two are timed. THRESHER_CLUSTER_KILLS says how often coordinators of
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
# A variant against another that is many times as slow, or as fast.
TIMED_SUITE = 'name = "timed"\n[[problem]]\nname = "even"\nm = [8, 8]\nn = 512\nk = 2048\n'
VARIANT_PITCH = """\
name = "{name}"
suite = "timed.toml"
claim = 1.5
mechanism = "certain to be timed"
[contestant]
variant = "{variant}"
"""
TIMED = {"wins": ("cpu_avx2", "cpu_portable", "accepted"), "loses": ("cpu_portable", "cpu_avx2", "rejected")}
ON_GPU_NODES = ["--on", "slurm", "--partition", "gpu", "--gres", "gpu:h200:1"]
GPU_NODES = {"n5", "n6"}
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
        (folder / "timed.toml").write_text(TIMED_SUITE)
        for name, (variant, _, _) in TIMED.items():
            (folder / f"{name}.toml").write_text(VARIANT_PITCH.format(name=name, variant=variant))
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

    def spool(self, ledger, season):
        """Of a season, all that there is under its name: (lists, texts of logs)"""
        folders = list(self.folder.glob(f"{ledger}.cluster/{season}-*"))
        lists = [json.loads(path.read_text()) for folder in folders for path in folder.glob("lists/*.json")]
        return lists, [path.read_text(errors="replace") for folder in folders for path in folder.glob("logs/*")]

    def id_of(self, lists, job):
        """The match that is played by a task such as 12_3."""
        number, index = job.split("_")
        return next(one["ids"][int(index)] for one in lists if one.get("job") == number)

    def check_played_again(self, ledger, season, match_id, why):
        lists, _ = self.spool(ledger, season)
        times = sum(match_id in one["ids"] for one in lists)
        self.expect(times >= 2, f"{match_id} was given to {times} tasks, and {why}")

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


def refused(matches):
    """Of the sandbox's protections, by the kernel that a match was played on."""
    return {tuple(match["verdict"]["missing_protections"]) for match in matches}


def one_season_equals_the_local_one(test, slurm):
    """Also over mixed nodes, one of them with a full disk."""
    here = test.start(test.command("s", "here.db", QUICK), tag="here")
    there = test.start(test.command("s", "there.db", QUICK, "--on", "slurm"), slurm.env, "there")
    test.expect(wait_for(here, 120, "the local season") == 0, f"here: {test.log('here')}")
    test.expect(wait_for(there, 120, "the season on Slurm") == 0, f"there: {test.log('there')}")
    here_matches = test.check_season("here.db", "s", QUICK)
    matches = test.check_season("there.db", "s", QUICK)
    test.expect(test.story("here.db", "s") == test.story("there.db", "s"),
                f"another story:\n{test.story('here.db', 's')}\n{test.story('there.db', 's')}")
    test.expect(test.order("here.db", "s") == test.order("there.db", "s"),
                f"another order:\n{test.order('here.db', 's')}\n{test.order('there.db', 's')}")
    for ledger in ("here.db", "there.db"):
        test.check_vote_order(ledger, "s")
    nodes = {match["machine"]["node"] for match in matches}
    test.expect("n4" not in nodes, "a match was played on a full disk")
    failures = [(path.name.partition(".")[0], json.loads(path.read_text()))
                for path in test.folder.glob("there.db.cluster/s-*/failures/*")]
    on_full_disk = {match_id for match_id, failure in failures if failure["node"] == "n4"}
    test.expect(on_full_disk, "no task came to the node with a full disk")
    for match_id in on_full_disk:
        test.check_played_again("there.db", "s", match_id, "its disk was full")
    test.expect(refused(matches) == refused(here_matches),
                f"nodes refuse {refused(matches)}, and this machine {refused(here_matches)}")
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
    # Whoever comes to the full disk is gone at once.
    on_disks = lambda: [one for one in running(slurm, "slow") if one[0] != "n4"]
    small_slurm.wait_until(lambda: len(on_disks()) >= 2, 150, "no two matches of 'slow' run at once")
    (node, job), (_, requeued) = on_disks()[:2]
    lists, _ = test.spool("both.db", "slow")
    lost = [(test.id_of(lists, job), f"its node {node} was killed"), (test.id_of(lists, requeued), "it was requeued")]
    requeue = subprocess.run(["scontrol", "requeue", requeued], env=slurm.env, capture_output=True, text=True)
    test.expect(requeue.returncode == 0, f"requeue: {requeue.stderr}")
    test.expect(slurm.kill_node(node) > 0, "nothing ran on the node that was killed")
    print(f"killed {node} with {job}, requeued {requeued}", flush=True)
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
    for match_id, why in lost:
        test.check_played_again("both.db", "slow", match_id, why)


def a_partition_and_its_devices(test, slurm):
    """--partition and --gres, for the doctor and for rounds; whose verdicts are timed on the nodes."""
    doctor = subprocess.run([test.thresher, "doctor", *ON_GPU_NODES, "--backend", "cpu", "--spool", "doctor", "--json"],
                            cwd=test.folder, env=slurm.env, capture_output=True, text=True, timeout=120)
    test.expect(doctor.returncode == 0, f"doctor: {doctor.stdout}{doctor.stderr}")
    said = json.loads(doctor.stdout)
    nodes = {node for one in said["classes"].values() for node in one}
    test.expect(said["answered"] == 1 and nodes and nodes <= GPU_NODES, f"doctor: {said}")
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("no AVX2: nobody wins or loses for sure", flush=True)
        return
    for name, (_, champion, kind) in TIMED.items():
        played = subprocess.run(
            [test.thresher, "round", f"{name}.toml", "--season", name, "--backend", "cpu", "--threads", "1", "--suite",
             "timed.toml", "--champion", champion, "--seconds", "100", "--match-seconds", "30", "--seed", "7",
             "--ledger", "round.db", *ON_GPU_NODES], cwd=test.folder, env=slurm.env, capture_output=True, text=True,
            timeout=150)
        test.expect(played.returncode == 0, f"round: {played.stdout[-2000:]}{played.stderr[-2000:]}")
        matches = [entry["data"] for entry in test.entries("round.db", name) if entry["kind"] == "match"]
        test.expect([match["verdict"]["kind"] for match in matches] == [kind],
                    f"{name}: {[match['verdict'] for match in matches]}")
        test.expect(all(match["machine"]["node"] in GPU_NODES for match in matches), f"{name}: played on {matches}")
        test.expect(all(match["samples"]["rounds"] for match in matches), f"{name}: nothing was timed")


class TimesOut:
    """A match whose task stands still until Slurm ends it: that takes its minute, while other things happen. Its
    coordinator is interrupted as by Ctrl-C meanwhile, and another one goes on."""

    def __init__(self, test, slurm):
        self.test = test
        command = test.command("late", "late.db", ["sleeps_0"], *ON_GPU_NODES)
        self.season = test.start(command, slurm.env, "late")
        small_slurm.wait_until(lambda: running(slurm, "late"), 60, "no match of 'late' runs")
        self.node, job = running(slurm, "late")[0]
        self.match_id = test.id_of(test.spool("late.db", "late")[0], job)
        small_slurm.wait_until(lambda: slurm.freeze_tasks(self.node), 10, "nothing of 'late' could be frozen")
        limit = subprocess.run(["scontrol", "update", f"jobid={job}", "timelimit=1"], env=slurm.env,
                               capture_output=True, text=True)
        test.expect(limit.returncode == 0, f"timelimit: {limit.stderr}")
        # SIGINT is ignored by what a script starts in the background.
        self.season.terminate()
        code = wait_for(self.season, 10, "the coordinator that was interrupted")
        test.expect(code == 128 + signal.SIGTERM and "stay in Slurm's queue" in test.log("late"),
                    f"interrupted: {code}: {test.log('late')}")
        test.expect(running(slurm, "late"), "the task of an interrupted coordinator is gone")
        self.season = test.start(command, slurm.env, "late")

    def finish(self):
        test = self.test
        test.expect(wait_for(self.season, 150, "the season whose task times out") == 0,
                    f"late: {test.log('late')[-2000:]}")
        test.check_season("late.db", "late", ["sleeps_0"])
        test.check_played_again("late.db", "late", self.match_id, "its time was over")
        record = next(test.folder.glob(f"late.db.cluster/late-*/records/{self.match_id}.json"))
        test.expect({json.loads(record.read_text())["machine"]["node"]} == GPU_NODES - {self.node},
                    f"{self.match_id} was played again on {self.node}, where its time was over")
        test.expect(any("TIME LIMIT" in text for text in test.spool("late.db", "late")[1]), "Slurm did not end it")


def one_class_of_machines(test, slurm):
    """--classes: what is asked of one class is played and tuned there and nowhere else."""
    season = test.start(test.command("one", "there.db", ["declines"], "--classes", ", 1 CORE", "--on", "slurm"),
                        slurm.env, "one")
    # What computes is left to the nodes: the class says it.
    tune = [test.thresher, "tune", "--suite", "tiny.toml", "--tokens", "6,12",
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
    test.expect([len(one["entries"]) for one in plan["machines"]] == [2, 2], f"two problems on each of two classes: {plan}")
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
        with small_slurm.Slurm(test.folder / "slurm", ["n1", "n2", "n3", "n4", *sorted(GPU_NODES)],
                               {"n3": ["taskset", "-c", "0"], "n4": full_disk}, first="n4",
                               gpu_nodes=GPU_NODES) as slurm:
            late = TimesOut(test, slurm)
            for step in (one_season_equals_the_local_one, one_class_of_machines, a_partition_and_its_devices,
                         everything_goes_wrong):
                step(test, slurm)
                print(f"{step.__name__}: {time.monotonic() - begin:.0f} s", flush=True)
            late.finish()
            print(f"a_task_that_times_out: {time.monotonic() - begin:.0f} s", flush=True)
            for ledger in ("here.db", "there.db", "both.db", "late.db", "round.db"):
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
