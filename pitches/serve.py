#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speaks the referee's protocol (docs/contestants.md) for a program in Python.

  python3 serve.py PROGRAM.py [PACKAGE...]

PROGRAM.py defines prepare(problem), which returns a function run(calls): both get the classes below,
whose bytes lie in memory shared with the referee, so that nothing is copied on the way. The PACKAGEs
must be installed; if one is not, the contestant says so and ends. A pitch names all files in its
command, because the referee tells contestants apart by the files that their commands name.
"""
import dataclasses
import importlib.util
import mmap
import os
import struct
import sys

GROUP = struct.Struct("<7q2f")  # m n k b_codes b_scales up_codes up_scales b_global up_global
CALL = struct.Struct("<4q4f")  # a a_scales c c_stride a_global alpha alpha_up reserved
BYTES = {"fp16": 2, "bf16": 2, "fp32": 4}


@dataclasses.dataclass
class Matrix:
    """rows x k values: two codes per byte, element 2i in the low nibble; one scale per 16."""

    codes: memoryview
    scales: memoryview
    global_scale: float


@dataclasses.dataclass
class Group:
    m: int
    n: int
    k: int
    b: Matrix
    up: Matrix = None  # dual only


@dataclasses.dataclass
class Problem:
    op: str  # "gemm" or "dual"
    activations: str  # "nvfp4", "fp16" or "bf16"
    output: str  # "fp16", "bf16" or "fp32"
    thread_count: int
    groups: list


@dataclasses.dataclass
class Call:
    """What one group reads and writes; None stands for a group without rows."""

    a: Matrix  # NVFP4 activations
    a16: memoryview  # or m x k 16-bit ones
    alpha: float
    alpha_up: float
    c: memoryview  # m x n, rows c_stride elements apart
    c_stride: int


class Arena:
    def __init__(self, hello):
        # Populated, so that no call pays for the first touch of a page.
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        inputs = mmap.mmap(3, int(hello[2]), flags=flags, prot=mmap.PROT_READ)
        self.inputs = memoryview(inputs)
        self.outputs = memoryview(mmap.mmap(4, int(hello[3]), flags=flags))
        self.thread_count = int(hello[4])

    def matrix(self, codes, scales, rows, k, global_scale):
        return Matrix(
            self.inputs[codes : codes + rows * k // 2],
            self.inputs[scales : scales + rows * k // 16],
            global_scale,
        )

    def problem(self, op, activations, output, group_count, table):
        groups = []
        for g in range(int(group_count)):
            m, n, k, b, b_scales, up, up_scales, b_global, up_global = GROUP.unpack_from(
                self.inputs, int(table) + g * GROUP.size
            )
            group = Group(m, n, k, self.matrix(b, b_scales, n, k, b_global))
            if op == "dual":
                group.up = self.matrix(up, up_scales, n, k, up_global)
            groups.append(group)
        return Problem(op, activations, output, self.thread_count, groups)

    def call(self, problem, group, offset):
        a, a_scales, c, stride, a_global, alpha, alpha_up, _ = CALL.unpack_from(self.inputs, offset)
        if group.m == 0:
            return None
        nvfp4 = problem.activations == "nvfp4"
        bytes_of_c = ((group.m - 1) * stride + group.n) * BYTES[problem.output]
        return Call(
            self.matrix(a, a_scales, group.m, group.k, a_global) if nvfp4 else None,
            None if nvfp4 else self.inputs[a : a + 2 * group.m * group.k],
            alpha,
            alpha_up,
            self.outputs[c : c + bytes_of_c],
            stride,
        )

    def calls(self, problem, table):
        return [
            self.call(problem, group, int(table) + g * CALL.size)
            for g, group in enumerate(problem.groups)
        ]


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_line(error):
    return f"error {type(error).__name__}: {' '.join(str(error).split())}"[:280]


def serve(say, arena, prepare):
    prepared = {}
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "prepare":
            problem = arena.problem(*words[1:6])
            prepared[words[0]] = problem, prepare(problem)
            say("done " + words[6])
        elif verb == "run":
            problem, run = prepared[words[0]]
            run(arena.calls(problem, words[1]))
            say("done " + words[2])
        elif verb == "release":
            del prepared[words[0]]
        else:
            return


def main():
    # The referee listens on what was stdout; whatever the program prints must go elsewhere.
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(text):
        channel.write(text + "\n")

    program, packages = sys.argv[1], sys.argv[2:]
    hello = sys.stdin.readline().split()
    if hello[:2] != ["hello", "1"]:
        return say("error this speaks version 1 of the protocol")
    for package in packages:
        if importlib.util.find_spec(package) is None:
            return say(f"error {sys.executable} has no package '{package}'")
    arena = Arena(hello)
    # Large packages take longer to load than the referee waits for a greeting.
    say("hello 1")
    try:
        serve(say, arena, load(program).prepare)
    except Exception as error:  # whatever it is, the referee should hear of it
        say(one_line(error))


main()
