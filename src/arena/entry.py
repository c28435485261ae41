#!POPCORN leaderboard @PROBLEM@
# SPDX-License-Identifier: Apache-2.0
"""An entry for GPU MODE's problem @PROBLEM@, written by thresher @VERSION@: `@COMMAND@`.

Its kernels are emulated and compiled for sm_100a, and were never run on a Blackwell. A call launches two: `prepare`
packs the weights, which come unpacked and new with every call, into the GEMM's layout, and `entry` multiplies
(variant @VARIANT@). Nothing is kept from one call to the next but the compiled kernels.
"""
import ctypes
import glob
import os
import struct
import sys
from dataclasses import dataclass

import torch
from task import input_t, output_t

VARIANT = "@VARIANT@"
MATRICES = @MATRICES@  # of weights: 2 where the product is gated
TOKENS_PER_TILE = @TOKENS@
BLOCKS_PER_SM = @BLOCKS_PER_SM@
THREADS = @THREADS@
SHARED_BYTES = @SHARED_BYTES@

# How weights are packed: tiles of 128 rows by 256 of k.
TILE_ROWS = 128
TILE_K = 256
TILE_BYTES = @TILE_BYTES@
SCALE_BLOCK_K = 16
PREPARE_THREADS = @PREPARE_THREADS@
PREPARE_BLOCKS_PER_SM = 8
GROUPS_MAX = @GROUPS_MAX@

# The kernels' arguments, as prepare_args.hpp and gemm_args.hpp below declare them.
GROUP = struct.Struct("<10Q4I")
PREPARE_HEAD = struct.Struct("<2Q2IQ")
PREPARE_BYTES = PREPARE_HEAD.size + GROUPS_MAX * GROUP.size
GEMM = struct.Struct("<2Q2I10Q2I")
ENTRY_BYTES = @ENTRY_BYTES@
ALIGNMENT = 256


def rounded_up(value, unit):
    return (value + unit - 1) // unit * unit


@dataclass
class Group:
    """One group: C = A B^T, or silu(A B^T) * (A B2^T), as the arena hands it over."""
    tokens: torch.Tensor  # m x k / 2 x 1
    plain_scales: torch.Tensor  # m x k / 16 x 1, or somewhere else than on the GPU
    blocked_scales: torch.Tensor  # 32 x 4 x rows x 4 x blocks x 1
    weights: list  # of (codes, blocked scales)
    c: torch.Tensor  # m x n x 1

    @property
    def sizes(self):
        return self.tokens.shape[0], self.weights[0][0].shape[0], self.tokens.shape[1] * 2


def check(tensor, what, shape, strides):
    """Strides of what has only one element do not matter."""
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{what} has the shape {tuple(tensor.shape)}, and {shape} was expected")
    for size, stride, wanted in zip(shape, tensor.stride(), strides):
        if size > 1 and stride != wanted:
            raise ValueError(f"{what} has the strides {tensor.stride()}, and {strides} were expected")
    if tensor.data_ptr() % 16 != 0:
        raise ValueError(f"{what} does not begin at a multiple of 16 bytes")
    return tensor.data_ptr()


def codes(tensor, what, rows, k):
    return check(tensor, what, (rows, k // 2, 1), (k // 2, 1, 0))


def blocked(tensor, what, rows, k):
    row_blocks, k_blocks = (rows + 127) // 128, k // 64
    return check(tensor, what, (32, 4, row_blocks, 4, k_blocks, 1), (16, 4, k_blocks * 512, 1, 512, 0))


class Layout:
    """Where everything lies in a call's workspace: offsets, and how many bytes that is."""

    def __init__(self, groups):
        self.bytes = 0
        self.images, self.scales = [], []
        for group in groups:
            m, n, k = group.sizes
            tiles = (n + TILE_ROWS - 1) // TILE_ROWS * (k // TILE_K)
            self.images.append(self.take(tiles * MATRICES * TILE_BYTES))
            # Rows of scales that are on the GPU already are read where they are.
            plain = group.plain_scales.device == group.tokens.device
            self.scales.append(None if plain else self.take(m * (k // SCALE_BLOCK_K)))
        self.entries = self.take(len(groups) * ENTRY_BYTES)
        self.counts = self.take(len(groups) * 4)

    def take(self, count):
        offset = self.bytes
        self.bytes += rounded_up(count, ALIGNMENT)
        return offset


def packed_group(group, index, base, layout):
    """A group as `prepare` is told of it. Throws ValueError where it is not as the arena promises."""
    m, n, k = group.sizes
    if k % TILE_K != 0:
        raise ValueError(f"group {index}: k = {k} is not a multiple of {TILE_K}")
    where = f"group {index}: "
    addresses = []
    for number, (matrix, scales) in enumerate(group.weights):
        addresses.append(codes(matrix, f"{where}weights {number}", n, k))
        addresses.append(blocked(scales, f"{where}scales of weights {number}", n, k))
    addresses += [0] * (4 - len(addresses))
    if layout.scales[index] is None:
        from_blocks = 0
        plain = check(group.plain_scales, f"{where}scales of tokens", (m, k // SCALE_BLOCK_K, 1),
                      (k // SCALE_BLOCK_K, 1, 0))
    else:
        from_blocks = blocked(group.blocked_scales, f"{where}scales of tokens", m, k)
        plain = base + layout.scales[index]
    if tuple(group.c.shape) != (m, n, 1) or n > 1 and group.c.stride(1) != 1:
        raise ValueError(f"{where}c has the shape {tuple(group.c.shape)} and the strides {group.c.stride()}")
    return GROUP.pack(codes(group.tokens, f"{where}tokens", m, k), from_blocks, plain, *addresses,
                      base + layout.images[index], group.c.data_ptr(), group.c.stride(0), m, n, k, 0)


def multiply(groups):
    """Queues both kernels for all groups on the device's default queue, the only one that the arena allows; C is
    written in place."""
    if len(groups) > GROUPS_MAX:
        raise ValueError(f"{len(groups)} groups are more than {GROUPS_MAX}")
    gpu = machine()
    layout = Layout(groups)
    # Handed back when this returns: what the allocator gives it to next is queued behind these kernels.
    workspace = torch.empty(layout.bytes, dtype=torch.uint8, device=groups[0].tokens.device)
    base = workspace.data_ptr()
    head = PREPARE_HEAD.pack(base + layout.entries, base + layout.counts, len(groups), MATRICES, 0)
    each = b"".join(packed_group(group, i, base, layout) for i, group in enumerate(groups))
    row_tiles = [(n + TILE_ROWS - 1) // TILE_ROWS for _, n, _ in (group.sizes for group in groups)]
    tasks = sum(rows * (group.sizes[2] // TILE_K) * MATRICES for rows, group in zip(row_tiles, groups))
    gpu.launch("prepare", min(tasks, gpu.sm_count * PREPARE_BLOCKS_PER_SM), PREPARE_THREADS, 0,
               (head + each).ljust(PREPARE_BYTES, b"\0"), workspace)

    counts = [group.sizes[0] for group in groups]
    tiles = sum(rows * ((m + TOKENS_PER_TILE - 1) // TOKENS_PER_TILE) for rows, m in zip(row_tiles, counts))
    # The table, its rows (every group has its own), then what this variant does not need.
    arguments = GEMM.pack(base + layout.entries, base + layout.counts, sum(counts), 1, *[0] * 10, 0, len(groups))
    gpu.launch("entry", min(max(tiles, 1), gpu.sm_count * BLOCKS_PER_SM), THREADS, SHARED_BYTES, arguments, workspace)


class Gpu:
    """CUDA's driver and its run-time compiler, by ctypes, in the context that torch has opened."""
    MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

    def __init__(self):
        self.sm_count = torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
        torch.cuda.synchronize()  # a context is current from here on
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.image = compiled(SOURCE)  # kept: the module may read it later
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), self.image)
        self.kernels = {}
        for name in ("prepare", "entry"):
            kernel = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
            self.kernels[name] = kernel
        self.call("cuFuncSetAttribute", self.kernels["entry"], self.MAX_DYNAMIC_SHARED_BYTES, SHARED_BYTES)

    def launch(self, name, blocks, threads, shared_bytes, argument, _workspace):
        parameter = ctypes.create_string_buffer(argument, len(argument))
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(parameter))
        self.call("cuLaunchKernel", self.kernels[name], blocks, 1, 1, threads, 1, 1, shared_bytes, None, parameters,
                  None)

    def call(self, function, *arguments):
        status = getattr(self.driver, function)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{function}: {text.value.decode() if text.value else status}")


def nvrtc_libraries():
    """Names and files that may be the compiler: what torch has loaded, what lies beside it, a toolkit's."""
    yield from ("libnvrtc.so.13", "libnvrtc.so.12")
    for folder in sys.path:
        yield from sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libnvrtc.so.*")))
    yield from ("libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so")


def open_nvrtc():
    tried = []
    for name in nvrtc_libraries():
        try:
            return ctypes.CDLL(name)
        except OSError:
            tried.append(name)
    raise RuntimeError(f"there is no NVRTC; tried {', '.join(tried)}")


def compiled(source, architecture="sm_100a"):
    """The source as machine code. Throws RuntimeError with the compiler's log."""
    nvrtc = open_nvrtc()
    program = ctypes.c_void_p()
    # Multiply-adds are fused where the source says so alone: the emulator has the same bits then.
    options = [f"--gpu-architecture={architecture}".encode(), b"-std=c++20", b"-fmad=false"]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"entry.cu", 0, None, None)
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    kind = "ProgramLog" if status != 0 else "CUBIN"
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    answer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, answer)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if status != 0:
        raise RuntimeError(f"NVRTC could not compile the kernels for {architecture}:\n{answer.value.decode()}")
    return answer


MACHINE = None


def machine():
    global MACHINE
    if MACHINE is None:
        MACHINE = Gpu()
    return MACHINE


@CUSTOM_KERNEL@

SOURCE = r'''
@SOURCE@
'''
