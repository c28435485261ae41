#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speaks the referee's protocol (docs/contestants.md) for a program in Python.

  python3 serve.py PROGRAM.py [PACKAGE...]

PROGRAM.py defines prepare(problem), which returns a function run(calls): both get the classes below,
whose bytes lie in memory shared with the referee, so that nothing is copied on the way. In a match on
a GPU the bytes are DeviceBytes, and prepare(problem) returns a function bind(calls), which returns a
function run(): bind() has addresses but no values yet, run() is timed until the device is done. The
PACKAGEs must be installed; if one is not, the contestant says so and ends. A pitch names all files in
its command, because the referee tells contestants apart by the files that their commands name.
"""
import ctypes
import dataclasses
import importlib.util
import mmap
import os
import struct
import sys

GROUP = struct.Struct("<7q2f")  # m n k b_codes b_scales up_codes up_scales b_global up_global
CALL = struct.Struct("<4q4f")  # a a_scales c c_stride a_global alpha alpha_up reserved
RECORD = struct.Struct("<2q")  # id table, of a batch
BYTES = {"fp16": 2, "bf16": 2, "fp32": 4}


@dataclasses.dataclass
class Matrix:
    """rows x k values: two codes per byte, element 2i in the low nibble; one scale per 16."""

    codes: memoryview  # or DeviceBytes, as all the others below
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


@dataclasses.dataclass
class DeviceBytes:
    """A piece of device memory: torch.as_tensor, CuPy and Numba take it as it is."""

    address: int
    size: int

    def __getitem__(self, piece):
        return DeviceBytes(self.address + piece.start, piece.stop - piece.start)

    @property
    def __cuda_array_interface__(self):
        # Nothing has no address.
        data = (self.address if self.size else 0, False)
        return {"shape": (self.size,), "typestr": "|u1", "data": data, "version": 3}


class Cuda:
    """The driver, as far as a contestant needs it: the primary context, which torch shares."""

    class Handle(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_char * 64)]

    def __init__(self, device):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.driver, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} failed with CUDA error {status}")

    def open(self, handle, size):
        address = ctypes.c_uint64()
        wanted = self.Handle.from_buffer_copy(bytes.fromhex(handle))
        self.call("cuIpcOpenMemHandle_v2", ctypes.byref(address), wanted, 1)
        return DeviceBytes(address.value, int(size))

    def synchronize(self):
        self.call("cuCtxSynchronize")


class Arena:
    def __init__(self, hello):
        # Populated, so that no call pays for the first touch of a page.
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        inputs = mmap.mmap(3, int(hello[2]), flags=flags, prot=mmap.PROT_READ)
        self.tables = self.inputs = memoryview(inputs)
        self.outputs = memoryview(mmap.mmap(4, int(hello[3]), flags=flags))
        self.thread_count = int(hello[4])

    def move_to_device(self, cuda, input_handle, input_size, output_handle, output_size):
        self.inputs = cuda.open(input_handle, input_size)
        self.outputs = cuda.open(output_handle, output_size)

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
                self.tables, int(table) + g * GROUP.size
            )
            group = Group(m, n, k, self.matrix(b, b_scales, n, k, b_global))
            if op == "dual":
                group.up = self.matrix(up, up_scales, n, k, up_global)
            groups.append(group)
        return Problem(op, activations, output, self.thread_count, groups)

    def call(self, problem, group, offset):
        a, a_scales, c, stride, a_global, alpha, alpha_up, _ = CALL.unpack_from(self.tables, offset)
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


    def batch(self, count, table):
        return [RECORD.unpack_from(self.tables, int(table) + i * RECORD.size) for i in range(int(count))]


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_line(error):
    return f"error {type(error).__name__}: {' '.join(str(error).split())}"[:280]


class Server:
    """One method per request; what it returns follows "done <token>"."""

    def __init__(self, arena, program):
        self.arena = arena
        self.program = program
        self.prepare_with = None  # the program's prepare(), once it is loaded
        self.cuda = None
        self.prepared = {}
        self.bound = []

    def loaded(self):
        if self.prepare_with is None:
            self.prepare_with = load(self.program).prepare
        return self.prepare_with

    def device(self, index, *handles_and_sizes):
        self.cuda = Cuda(int(index))
        self.arena.move_to_device(self.cuda, *handles_and_sizes)
        self.loaded()

    def prepare(self, name, *problem):
        problem = self.arena.problem(*problem)
        self.prepared[int(name)] = problem, self.loaded()(problem)
        if self.cuda:
            self.cuda.synchronize()

    def run(self, name, table):
        problem, run = self.prepared[int(name)]
        run(self.arena.calls(problem, table))

    def batch(self, count, table):
        self.bound = []
        for name, call_table in self.arena.batch(count, table):
            problem, bind = self.prepared[name]
            self.bound.append(bind(self.arena.calls(problem, call_table)))

    def go(self, _head_start, _delay):
        for run in self.bound:
            run()
        self.cuda.synchronize()

    def release(self, name):
        self.bound = []
        del self.prepared[int(name)]


def serve(say, server):
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "release":
            server.release(*words)
        elif verb in ("device", "prepare", "run", "batch", "go"):
            *words, token = words
            getattr(server, verb)(*words)
            say("done " + token)
        else:
            return


def main(kind=Server):
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
        serve(say, kind(arena, program))
    except Exception as error:  # whatever it is, the referee should hear of it
        say(one_line(error))


if __name__ == "__main__":
    main()
