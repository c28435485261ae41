#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The referee's tests on a kernel that has all its controllers in version 2 of the groups: in a virtual machine.

    cgroup2_machine.py THRESHER REFEREE_TESTS [--kernel FILE] [--place NAME] [--filter FILTER] [--kvm]

A machine that mounts controllers in version 1 has none of them left for version 2. The virtual one has this machine's
files, read-only (virtiofs), folders of its own in memory where tests write, and no network. The tests run in every
place in which a referee may find itself. FILE, or $THRESHER_KERNEL, must have virtiofs and virtio built in, as vmlinuz
of Debian's linux-image-*-cloud-amd64 has. Exit code 77: there is none, or it cannot be started.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

SERVERS = ["/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd", "/usr/lib/virtiofsd"]
MINUTES = 20
# Not what is a matter of a real machine's speed: an emulated one takes long to stop and to fill gigabytes.
CHEATS = ("widens:widens_unbound:widens_briefly:widens_briefly_unbound:widens_by_children*:burning_signals:"
          "kernel_busy*:forks:traps:stops_itself:environment*:ledger*")
HELD = ":".join(["ConfinedMemory.*:Sandbox.*:Catalogue/Cheats.Loses/forks_without_end:Catalogue/Cheats.Loses/crashes"] +
                [f"Catalogue/ConfinedCheats.GainNothing/{name}" for name in CHEATS.split(":")])
# Where a referee may find itself, how it gets there, the tests that tell it, and the layers that must be granted or
# named as missing there.
PLACES = {
    "root": ("root's own group, which may have both processes and limits below it", "", "Seat.*:*LimitsOfVersion2*",
             []),
    "own": ("a group that holds nobody else: a seat is taken", "enter own", HELD, []),
    "given": ("such a group of somebody who is not root", "enter given; give; become", HELD, []),
    "shared": ("a group that others live in: no limits below it", "sleep 1000000 & enter shared", HELD,
               ["memory limit of all processes", "bound cores"]),
}
INIT = """#!/bin/sh
house={house}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/shm /dev/pts /dev/mqueue
mount -t tmpfs tmpfs /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount --bind "$house" /mnt
for folder in /tmp /run /var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "$folder"; done
[ -d "$house" ] || {{ mkdir -p "$house" && mount --bind /mnt "$house"; }}
exec </dev/null >/dev/ttyS1 2>&1
stty -F /dev/ttyS1 -onlcr
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH HOME=/tmp LANG=C.UTF-8
groups=/sys/fs/cgroup
cd "$house"
# As distributions have it: a program of root's takes care of core dumps, but not of contestants'.
echo "|/usr/bin/touch /tmp/dumped-%p" >/proc/sys/kernel/core_pattern
sh -c 'kill -SEGV $$' 2>/dev/null
for one in 1 2 3 4 5 6 7 8 9; do [ -e /tmp/dumped-* ] && break; sleep 0.2; done
rm /tmp/dumped-* && echo "DUMPS ARE SEEN"
enter() {{
  for one in cpuset memory pids; do echo "+$one" >$groups/cgroup.subtree_control; done
  mkdir -p $groups/$1
  [ $1 != shared ] || for one in $(jobs -p); do echo $one >$groups/$1/cgroup.procs; done
  here=$groups/$1
}}
give() {{ chown 1234:1234 $here $here/cgroup.procs $here/cgroup.threads $here/cgroup.subtree_control; }}
become() {{ user="setpriv --reuid=1234 --regid=1234 --clear-groups"; }}
in_group() {{ sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' $here $user "$@"; }}
# Commands have a caretaker that takes their seat away when they have ended; tests have not.
look_for_seat() {{
  for one in 1 2 3 4 5 6 7 8 9; do [ -e $here/thresher-seat-* ] || return; sleep 0.2; done
  echo "SEAT IS LEFT"
}}
take_seat_away() {{
  [ -e $here/thresher-seat-* ] || return
  for one in cpuset memory pids; do echo "-$one" >$here/cgroup.subtree_control; done
  rmdir $here/thresher-seat-*
}}
test_in() {{
  echo "PLACE $1"
  here=$groups
  user=
  eval "$2"
  (in_group {program} doctor --json 2>/dev/null)
  echo TESTS
  look_for_seat
  # An emulated core is taken away for a while like any process, and who loses it on its way to a stop seems to have run
  # while it was stopped: whoever fails has two tries more.
  failed=$3
  for try in 1 2 3; do
    take_seat_away
    (in_group {tests} --gtest_color=no "--gtest_filter=$failed") >/tmp/tests.out
    status=$?
    cat /tmp/tests.out
    [ $status = 0 ] && break
    failed=$(sed -n 's/^\\[  FAILED  \\] \\([^ ,]*\\).* ms)$/\\1/p' /tmp/tests.out | paste -sd: -)
  done
  echo "ENDED $1 $status"
  find $groups /tmp -name 'thresher-cage-*' -o -name 'thresher-scratch-*' -o -name 'dumped-*'
  echo "LOOKED $1"
}}
{steps}
echo "ALL DONE"
sync
echo o >/proc/sysrq-trigger
sleep 100
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def start(folder, kernel, init, kvm):
    """The machine, and the server of its files. `init` is what it does, as process 1."""
    server = next((path for path in SERVERS if os.access(path, os.X_OK)), None)
    qemu = shutil.which("qemu-system-x86_64")
    if os.geteuid() != 0:
        skip("only root can hand out all files")
    if not qemu or not server:
        skip("no qemu-system-x86_64 with virtiofsd (Debian: qemu-system-x86)")
    if not kernel or not os.access(kernel, os.R_OK):
        skip(f"no kernel {kernel or 'in $THRESHER_KERNEL'} (Debian: vmlinuz of a linux-image-*-cloud-amd64)")
    files = subprocess.Popen([server, f"--socket-path={folder}/files", "-o", "source=/,cache=always,sandbox=chroot"],
                             stdout=subprocess.DEVNULL, stderr=open(folder / "files.log", "w"))
    deadline = time.monotonic() + 10
    while not (folder / "files").exists():
        if time.monotonic() > deadline or files.poll() is not None:
            skip("virtiofsd does not start: " + (folder / "files.log").read_text()[-300:])
        time.sleep(0.05)
    how = ["-accel", "kvm", "-cpu", "host"] if kvm else ["-accel", "tcg,thread=multi", "-cpu", "max"]
    machine = subprocess.Popen(
        [qemu, *how, "-smp", "2", "-m", "4096",
         "-object", "memory-backend-memfd,id=memory,size=4096M,share=on", "-machine", "q35,memory-backend=memory",
         "-nodefaults", "-nographic", "-no-reboot",
         "-chardev", f"socket,id=files,path={folder}/files", "-device", "vhost-user-fs-pci,chardev=files,tag=files",
         "-serial", f"file:{folder}/console", "-serial", f"file:{folder}/said", "-kernel", kernel, "-append",
         f"rootfstype=virtiofs root=files ro console=ttyS0 panic=-1 quiet init={init}"],
        stdin=subprocess.DEVNULL, stdout=open(folder / "machine.log", "w"), stderr=subprocess.STDOUT)
    return machine, files


def judge(said, place, missing):
    """What went wrong in a place; prints what went well."""
    text = re.search(rf"^PLACE {place}$(.*?)^ENDED {place} (\d+)$(.*?)^LOOKED {place}$", said, re.S | re.M)
    if not text:
        return [f"{place}: did not end"]
    output, left = text.group(1), text.group(3).split()
    failed = re.findall(r"^\[  FAILED  \] ([^\s,]+).* \(\d+ ms\)$", output, re.M)
    passed = set(re.findall(r"^\[       OK \] (\S+)", output, re.M))
    failed = sorted(set(failed) - passed)
    skipped = re.findall(r"^\[  SKIPPED \] ([^\s,]+).* \(\d+ ms\)$", output, re.M)
    faults = [f"{place}: {name}" for name in failed]
    print(f"{place}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped: {' '.join(skipped)}")
    if not passed or (text.group(2) != "0" and not faults):
        faults.append(f"{place}: ended with {text.group(2)}")
    try:
        sandbox = json.loads(output.partition("TESTS")[0])["sandbox"]
    except (ValueError, KeyError):
        return faults + [f"{place}: no word from the doctor"]
    for layer in sandbox:
        if layer["granted"] == (layer["name"] in missing):
            faults.append(f"{place}: {layer['name']} is {'' if layer['granted'] else 'not '}granted {layer['why_not']}")
    faults += [f"{place}: {group} is left" for group in left]
    if "SEAT IS LEFT" in output:
        faults.append(f"{place}: the doctor's seat is left")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("tests")
    parser.add_argument("--kernel", default=os.environ.get("THRESHER_KERNEL"))
    parser.add_argument("--place", choices=PLACES, action="append")
    parser.add_argument("--filter", help="of GTest's, instead of the place's own")
    parser.add_argument("--kvm", action="store_true", help="where that works it takes seconds, not minutes")
    arguments = parser.parse_args()
    places = {name: PLACES[name] for name in arguments.place or PLACES}
    house = pathlib.Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory(prefix="thresher_machine_") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        init = folder / "init"
        steps = "\n".join(f"test_in {place} {shlex.quote(how)} {shlex.quote(arguments.filter or tests)}"
                          for place, (_, how, tests, _) in places.items())
        program, binary = (shlex.quote(os.path.abspath(path)) for path in (arguments.program, arguments.tests))
        init.write_text(INIT.format(house=shlex.quote(str(house)), program=program, tests=binary, steps=steps))
        init.chmod(0o755)
        machine, files = start(folder, arguments.kernel, init, arguments.kvm)
        try:
            machine.wait(60 * MINUTES)
        except subprocess.TimeoutExpired:
            print(f"stopped after {MINUTES} minutes")
        finally:
            machine.kill()
            files.terminate()
        said = (folder / "said").read_text(errors="replace") if (folder / "said").exists() else ""
        faults = [fault for place, (_, _, _, missing) in places.items() for fault in judge(said, place, missing)]
        if "DUMPS ARE SEEN" not in said:
            faults.append("nobody takes care of core dumps, so nobody sees who makes them")
        if faults:
            print(said)
            print((folder / "console").read_text(errors="replace")[-3000:])
            print((folder / "machine.log").read_text(errors="replace")[-3000:])
        print("\n".join(faults) or "all is held")
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
