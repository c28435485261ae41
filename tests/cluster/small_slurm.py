# SPDX-License-Identifier: Apache-2.0
"""A Slurm of one controller and several nodes on the loopback, without systemd.

    with small_slurm.Slurm(folder, ["n1", "n2"]) as slurm:
        subprocess.run(["sinfo"], env=slurm.env)

Everything lies in `folder`: key, sockets, state, logs. Needs root, and Debian's slurm-wlm and munge.

    small_slurm.py NODES COMMAND...

runs a command beside a Slurm of so many nodes.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = ["munged", "mungekey", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel"]
CONF = """\
ClusterName=small
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
GresTypes=gpu
ReturnToService=2
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool.%n
SlurmdTimeout=5
SlurmctldTimeout=5
KillWait=2
MaxArraySize=1001
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=100000,bf_interval=2
{nodes}
{partitions}
"""
PARTITION = "PartitionName={name} Nodes={nodes} Default={default} MaxTime=60 State=UP OverSubscribe=EXCLUSIVE"


def missing():
    """What a Slurm of our own would need and is not here; empty where it can be started."""
    if os.geteuid() != 0:
        return "not root"
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    return f"no {', '.join(absent)} (Debian: slurm-wlm, munge)" if absent else ""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.05)


class CannotStart(Exception):
    """There are machines on which the daemons do not come up: no fault of what is tested."""


class Slurm:
    def __init__(self, folder, nodes, prefixes=None, first="", gpu_nodes=()):
        """`prefixes`: words in front of the daemon of a node, by its name; `first`: the node that gets a task before
        all others. `gpu_nodes` are a partition "gpu" by themselves; each has a GPU in name, gpu:h200:1."""
        self.folder = pathlib.Path(folder)
        self.nodes = list(nodes)
        self.prefixes = prefixes or {}
        self.first, self.gpu_nodes = first, list(gpu_nodes)
        self.env = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"),
                        PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        self.daemons = {}

    def __enter__(self):
        try:
            self.start()
        except (TimeoutError, OSError, subprocess.CalledProcessError) as fault:
            self.stop()
            raise CannotStart(str(fault)) from fault
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for name in ["state", *(f"spool.{node}" for node in self.nodes)]:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        # The key's owner and nobody else may look into the folders above it.
        os.chmod(self.folder, 0o755)
        port, *ports = free_ports(1 + len(self.nodes))
        (self.folder / "slurm.conf").write_text(CONF.format(
            folder=self.folder, port=port, nodes="\n".join(map(self.node_line, self.nodes, ports)),
            partitions="\n".join(self.partition_lines())))
        (self.folder / "gres.conf").write_text("".join(
            f"NodeName={node} Name=gpu Type=h200 File=/dev/null\n" for node in self.gpu_nodes))
        key = self.folder / "munge.key"
        subprocess.run(["mungekey", "--create", f"--keyfile={key}"], env=self.env, check=True)
        self.spawn("munged", "munged", "--foreground", "--force", f"--key-file={key}",
                   f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
                   f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
        wait_until((self.folder / "munge.socket").exists, 10, "munged does not start")
        self.spawn("slurmctld", "slurmctld", "-D")
        for node in self.nodes:
            self.start_node(node)
        wait_until(self.is_up, 30, "the nodes do not come up")

    def node_line(self, node, port):
        more = f" Weight={1 if node == self.first else 2}" + (" Gres=gpu:h200:1" if node in self.gpu_nodes else "")
        return f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=1{more}"

    def partition_lines(self):
        others = [node for node in self.nodes if node not in self.gpu_nodes]
        yield PARTITION.format(name="all", nodes=",".join(others), default="YES")
        if self.gpu_nodes:
            yield PARTITION.format(name="gpu", nodes=",".join(self.gpu_nodes), default="NO")

    def spawn(self, key, *command):
        log = open(self.folder / f"{key}.out", "ab")
        self.daemons[key] = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL,
                                             stdout=log, stderr=log, start_new_session=True)
        log.close()

    def start_node(self, node):
        self.spawn(node, *self.prefixes.get(node, []), "slurmd", "-D", "-N", node)

    def is_up(self):
        return sum(map(int, self.say("sinfo", "-h", "-t", "idle", "-o", "%D").split())) == len(self.nodes)

    def say(self, *command):
        return subprocess.run(command, env=self.env, capture_output=True, text=True).stdout

    def queue(self):
        """Array tasks that wait or run: (state, node, job, name)"""
        return [tuple(line.split("|")) for line in
                self.say("squeue", "-h", "-r", "-t", "all", "-o", "%T|%N|%i|%j").splitlines()
                if line.split("|")[0] in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")]

    def kill_node(self, node):
        """As a node dies: its daemon, the steps it holds and all that they have started."""
        victims = self.descendants(self.daemons[node].pid) | self.steps_of(node)
        for pid in victims | {self.daemons[node].pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.daemons.pop(node).wait()
        return len(victims)

    def freeze_tasks(self, node):
        """What jobs run on this node stands still, and its daemons do not: until somebody ends it."""
        frozen = 0
        for pid in self.steps_of(node):
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text() != "slurmstepd\n":
                    os.kill(pid, signal.SIGSTOP)
                    frozen += 1
            except (OSError, ProcessLookupError):
                continue
        return frozen

    def steps_of(self, node):
        """The processes that belong to jobs of this node, by what their environment says, and the
        daemons that hold them."""
        wanted = {f"SLURMD_NODENAME={node}".encode(),
                  f"SLURM_CONF={self.env['SLURM_CONF']}".encode()}
        found = set()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if not wanted.issubset(environment):
                    continue
                parent = parent_of(pid)
                holds = pathlib.Path(f"/proc/{parent}/comm").read_text() == "slurmstepd\n"
            except OSError:
                continue
            found |= {pid, *([parent] if holds else [])} | self.descendants(pid)
        return found

    def descendants(self, root):
        children = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                children.setdefault(parent_of(pid), []).append(int(pid))
            except OSError:
                continue
        found, queue = set(), [root]
        while queue:
            below = children.get(queue.pop(), [])
            found.update(below)
            queue.extend(below)
        return found

    def stop(self):
        if "slurmctld" in self.daemons:
            subprocess.run(["scancel", "-u", "root"], env=self.env, timeout=20,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for node in self.nodes:
            if node in self.daemons:
                self.kill_node(node)
        for daemon in reversed(list(self.daemons.values())):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons = {}


def main(node_count, *command):
    why_not = missing()
    if why_not:
        print(f"no Slurm can be started here: {why_not}", file=sys.stderr)
        return 77
    nodes = [f"n{i + 1}" for i in range(int(node_count))]
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="small-slurm-") as folder:
        with Slurm(folder, nodes) as slurm:
            return subprocess.run(command, env=slurm.env).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
