#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python contestants of pitches/ against a small referee of its own.

  python3 tests/tank/serve_check.py pitches

Speaks the protocol to serve.py with a plain program, and to the shipped programs where their
packages are installed; where they are not, the complaint is checked instead. The reference is float64.
"""
import importlib.util
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

PITCHES = pathlib.Path(sys.argv[1]).resolve()
PLAIN = '''
import math, struct
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M1 += [-value for value in E2M1]
def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    return mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
def values(matrix, row, k):
    codes = [E2M1[byte >> 4 * half & 15] for byte in matrix.codes[row * k // 2 : (row + 1) * k // 2] for half in (0, 1)]
    return [code * e4m3(matrix.scales[(row * k + i) // 16]) for i, code in enumerate(codes)]
def silu(x): return x / (1 + math.exp(-x)) if x > -700 else 0.0
def dot(a, b): return sum(x * y for x, y in zip(a, b))
def prepare(problem):
    print("what a program prints must not reach the referee")
    def run(calls):
        for group, call in zip(problem.groups, calls):
            for i in range(group.m):
                row = values(call.a, i, group.k)
                for j in range(group.n):
                    x = dot(row, values(group.b, j, group.k)) * call.alpha * call.a.global_scale * group.b.global_scale
                    if group.up: x = silu(x) * dot(row, values(group.up, j, group.k)) * call.alpha_up * call.a.global_scale * group.up.global_scale
                    struct.pack_into("<f", call.c, 4 * (i * call.c_stride + j), x)
    return run
'''
SCALES = range(0x28, 0x40)  # 2^-2 to 2
NO_GPU = "Triton compiles for GPUs, and torch finds none"
FORMATS = {"fp16": "<e", "fp32": "<f"}


def e2m1(code):
    value = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][code & 7]
    return -value if code & 8 else value


def e4m3(code):
    return (8 + (code & 7)) * 2.0 ** ((code >> 3 & 15) - 10)


class Matrix:
    def __init__(self, rows, k):
        self.rows, self.k, self.global_scale = rows, k, random.choice([0.5, 1.0, 3.0])
        self.codes = random.randbytes(rows * k // 2)
        self.scales = bytes(random.choices(SCALES, k=rows * k // 16))

    def value(self, row, i):
        byte = self.codes[(row * self.k + i) // 2]
        return e2m1(byte >> 4 * (i % 2) & 15) * e4m3(self.scales[(row * self.k + i) // 16])

    def row(self, row):
        return [self.value(row, i) * self.global_scale for i in range(self.k)]


class Arena:
    """Bytes of the inputs, put one behind the other."""

    def __init__(self):
        self.data = bytearray()

    def put(self, data):
        self.data += bytes(-len(self.data) % 64)
        self.data += data
        return len(self.data) - len(data)


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def silu(x):
    return x / (1 + math.exp(-x)) if x > -700 else 0.0


class Contestant:
    def __init__(self, command, inputs, output_bytes):
        self.outputs = os.memfd_create("outputs")
        os.ftruncate(self.outputs, output_bytes)
        arena = os.memfd_create("inputs")
        os.write(arena, inputs)

        def place():
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate((arena, self.outputs))]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)

        self.process = subprocess.Popen(
            command, cwd=PITCHES, preexec_fn=place, pass_fds=(3, 4), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        self.greeting = self.ask(f"hello 1 {len(inputs)} {output_bytes} 2")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")

    def end(self):
        self.process.stdin.close()
        errors = self.process.stderr.read()
        self.process.wait(30)
        return errors


def play(command, op, output, groups):
    arena = Arena()
    problem, calls, table, call_table = [], [], b"", b""
    at, size = 0, 2 if output == "fp16" else 4
    for m, n, k in groups:
        b, up, a = Matrix(n, k), Matrix(n, k), Matrix(m, k)
        problem.append((m, n, k, b, up))
        offsets = [arena.put(part) for part in (b.codes, b.scales, up.codes, up.scales)]
        table += struct.pack("<7q2f", m, n, k, *offsets, b.global_scale, up.global_scale)
        stride = n + 3
        calls.append((a, at, stride, 0.25, 0.125))
        a_offsets = [arena.put(a.codes), arena.put(a.scales)]
        call_table += struct.pack("<4q4f", *a_offsets, at if m else -1, stride, a.global_scale, 0.25, 0.125, 0)
        at += m * stride * size
    tables = arena.put(table), arena.put(call_table)
    contestant = Contestant(command, bytes(arena.data), at + 4096)
    if contestant.greeting != "hello 1":
        return contestant.greeting
    for line, answer in [
        (f"prepare 0 {op} nvfp4 {output} {len(groups)} {tables[0]} 77", "done 77"),
        (f"run 0 {tables[1]} 78", "done 78"),
        (f"run 0 {tables[1]} 79", "done 79"),
    ]:
        heard = contestant.ask(line)
        if heard != answer:
            return f"{line}: {heard}\n{contestant.end()}"
    outputs = os.pread(contestant.outputs, at + 4096, 0)
    contestant.end()
    return compare(op, output, problem, calls, outputs, at)


def compare(op, output, problem, calls, outputs, end):
    size = struct.calcsize(FORMATS[output])
    written = bytearray(len(outputs))
    for (m, n, k, b, up), (a, at, stride, alpha, alpha_up) in zip(problem, calls):
        columns, columns_up = [b.row(j) for j in range(n)], [up.row(j) for j in range(n)]
        for i in range(m):
            row = a.row(i)
            for j in range(n):
                want = dot(row, columns[j]) * alpha
                if op == "dual":
                    want = silu(want) * dot(row, columns_up[j]) * alpha_up
                place = at + (i * stride + j) * size
                got = struct.unpack_from(FORMATS[output], outputs, place)[0]
                written[place : place + size] = b"x" * size
                if not abs(got - want) <= abs(want) * 2.0**-10 + 1e-3:
                    return f"row {i}, column {j}: {got}, not {want}"
    stray = [i for i, byte in enumerate(outputs) if byte and not written[i]]
    return f"wrote to byte {stray[0]}, which is not C" if stray else "right"


def expect(what, got, wanted):
    print(f"{what}: {got}")
    if got != wanted:
        sys.exit(f"expected: {wanted}")


def check_shipped(program, packages):
    command = [sys.executable, "serve.py", program, *packages]
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        wanted = f"error {sys.executable} has no package '{missing[0]}'"
        return expect(program, play(command, "gemm", "fp16", [(1, 1, 16)]), wanted)
    for op, output in (("gemm", "fp16"), ("dual", "fp32")):
        heard = play(command, op, output, [(3, 17, 48), (0, 17, 48), (70, 33, 160)])
        if NO_GPU in heard:
            return print(f"{program}: {NO_GPU}")
        expect(f"{program} {op} {output}", heard, "right")


def main():
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / "plain.py"
        plain.write_text(PLAIN)
        for op in ("gemm", "dual"):
            command = [sys.executable, "serve.py", str(plain), "struct"]
            expect(f"plain {op}", play(command, op, "fp32", [(2, 5, 32), (0, 5, 32), (3, 4, 16)]), "right")
        plain.write_text("def prepare(problem):\n    raise ValueError('no such\\nluck')\n")
        heard = play([sys.executable, "serve.py", str(plain)], "gemm", "fp32", [(1, 1, 16)])
        expect("a failing program", heard.splitlines()[0].split(": ", 1)[1], "error ValueError: no such luck")
    check_shipped("torch_compile.py", ["torch"])
    check_shipped("triton_kernel.py", ["torch", "triton"])


main()
