#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A contestant that speaks the protocol itself (docs/contestants.md), in plain Python.

  thresher match --suite small --call-seconds 300 -- python3 examples/contestants/plain.py

Correct and slow: every product is a Python float, so the result is rounded once, to the output type.
"""
import math
import mmap
import operator
import struct
import sys

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M1 += [-value for value in E2M1]
GROUP = struct.Struct("<7q2f")  # m n k b_codes b_scales up_codes up_scales b_global up_global
CALL = struct.Struct("<4q4f")  # a a_scales c c_stride a_global alpha alpha_up reserved


def e4m3(code):
    exponent, mantissa = code >> 3 & 15, code & 7
    value = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -value if code & 0x80 else value


E4M3 = [e4m3(code) for code in range(256)]


def nvfp4_rows(arena, codes, scales, rows, k):
    """Lists of k floats, the global scale not applied."""
    result = []
    for row in range(rows):
        values = []
        for block in range(k // 16):
            scale = E4M3[arena[scales + row * (k // 16) + block]]
            begin = codes + row * (k // 2) + block * 8
            for byte in arena[begin : begin + 8]:
                values += (E2M1[byte & 15] * scale, E2M1[byte >> 4] * scale)
        result.append(values)
    return result


def float16_rows(arena, offset, rows, k, activations):
    if activations == "fp16":
        values = struct.unpack_from(f"<{rows * k}e", arena, offset)
    else:  # bf16 is the upper half of a float
        halves = struct.unpack_from(f"<{rows * k}H", arena, offset)
        values = struct.unpack(f"<{rows * k}f", struct.pack(f"<{rows * k}I", *(h << 16 for h in halves)))
    return [values[row * k : (row + 1) * k] for row in range(rows)]


def packed(value, output):
    """The bytes of a value, rounded once to nearest even."""
    try:
        if output == "fp32":
            return struct.pack("<f", value)
        if output == "fp16":
            return struct.pack("<e", value)
    except OverflowError:
        infinity = math.copysign(math.inf, value)
        return struct.pack("<f" if output == "fp32" else "<e", infinity)
    # bf16: 8 significant bits in float's range of exponents.
    exponent = max(math.frexp(value)[1] - 8, -133)
    rounded = round(math.ldexp(value, -exponent))
    try:
        return struct.pack("<f", math.ldexp(rounded, exponent))[2:]
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))[2:]


def silu(x):
    return x / (1 + math.exp(-x)) if x > -700 else 0.0


def dot(a, b):
    return sum(map(operator.mul, a, b))


class Problem:
    def __init__(self, words, arena):
        self.op, self.activations, self.output = words[0:3]
        group_count, table = int(words[3]), int(words[4])
        self.groups = []
        for g in range(group_count):
            m, n, k, b, b_scales, up, up_scales, b_global, up_global = GROUP.unpack_from(
                arena, table + g * GROUP.size
            )
            weights = nvfp4_rows(arena, b, b_scales, n, k)
            weights_up = nvfp4_rows(arena, up, up_scales, n, k) if self.op == "dual" else []
            self.groups.append((m, n, k, weights, b_global, weights_up, up_global))

    def run(self, table, arena, outputs):
        for g, (m, n, k, weights, b_global, weights_up, up_global) in enumerate(self.groups):
            a, a_scales, c, stride, a_global, alpha, alpha_up, _ = CALL.unpack_from(
                arena, table + g * CALL.size
            )
            if self.activations == "nvfp4":
                rows = nvfp4_rows(arena, a, a_scales, m, k)
                alpha, alpha_up = alpha * a_global, alpha_up * a_global
            else:
                rows = float16_rows(arena, a, m, k, self.activations)
            for i, row in enumerate(rows):
                values = [dot(row, column) * alpha * b_global for column in weights]
                if self.op == "dual":
                    ups = [dot(row, column) * alpha_up * up_global for column in weights_up]
                    values = [silu(gate) * up for gate, up in zip(values, ups)]
                data = b"".join(packed(value, self.output) for value in values)
                begin = c + i * stride * (4 if self.output == "fp32" else 2)
                outputs[begin : begin + len(data)] = data


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main():
    hello = sys.stdin.readline().split()
    if hello[:2] != ["hello", "1"]:
        say("error this speaks version 1 of the protocol")
        return
    arena = mmap.mmap(3, int(hello[2]), prot=mmap.PROT_READ)
    outputs = mmap.mmap(4, int(hello[3]))
    say("hello 1")
    problems = {}
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "prepare":
            problems[words[0]] = Problem(words[1:6], arena)
            say("done " + words[6])
        elif verb == "run":
            problems[words[0]].run(int(words[1]), arena, outputs)
            say("done " + words[2])
        elif verb == "release":
            del problems[words[0]]
        else:
            return


main()
