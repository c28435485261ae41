#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Entries for GPU MODE's arena, as far as they go without a Blackwell: entry_check.py THRESHER REPLAY [--all]

`thresher export arena` writes an entry, its Python runs under torch on inputs made as the arena makes them, its
launches are replayed in the emulator (replay.cpp stands in for the driver), and C is held to the product in float64.
Its CUDA is compiled for sm_100a. By default one shape of each problem; with --all the shapes that the arena tests the
group problem with, and of the dual problem all, with at most 160 tokens and 384 columns, which is what takes time.

Without torch it is skipped (exit code 77), and so are, by name, the compilers that are not there.
"""
import ctypes
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
# float4_e2m1fn_x2 is since 2.8.
INTERPRETERS = [*(ROOT / "build" / name / "bin" / "python3" for name in ("torch", "vllm", "venv")),
                pathlib.Path(sys.executable)]
HAS_TORCH = "import torch; torch.float4_e2m1fn_x2"

# (m, n, k) of every group, and (m, n, k): what task.yml lists under `tests`.
GROUP_TESTS = [[(96, 128, 256), (128, 256, 512)],
               [(256, 512, 256), (72, 384, 256)],
               [(128, 128, 512), (128, 256, 256)],
               [(80, 384, 256), (128, 256, 512), (256, 128, 256)],
               [(64, 128, 512), (72, 384, 512), (96, 512, 256)],
               [(64, 768, 512), (256, 128, 256), (128, 256, 512)],
               [(128, 256, 768), (128, 512, 256), (64, 512, 768)],
               [(128, 128, 512), (128, 128, 256), (128, 128, 512), (128, 128, 256)],
               [(40, 512, 256), (56, 384, 256), (384, 256, 256), (512, 128, 256)],
               [(512, 256, 512), (384, 256, 768), (256, 256, 512), (128, 256, 768)]]
DUAL_TESTS = [(256, 512, 256), (1536, 512, 7168), (3072, 1024, 1536), (7168, 1024, 256), (7168, 2304, 2048),
              (4608, 384, 7168), (7168, 384, 2304), (512, 768, 7168), (4096, 768, 512)]
# Rows and columns that end inside a tile.
GROUP_ODD = [(1, 136, 256), (0, 128, 256), (33, 104, 512)]
DUAL_ODD = (37, 200, 512)


def interpreter():
    for path in INTERPRETERS:
        if path.exists() and subprocess.run([path, "-c", HAS_TORCH], capture_output=True).returncode == 0:
            return path
    return None


def main(thresher, replay, *options):
    if importlib.util.find_spec("torch") is None or os.environ.get("ENTRY_CHECK") is None:
        path = interpreter()
        if path is None:
            print(f"skipped: no torch with float4_e2m1fn_x2 in {', '.join(map(str, INTERPRETERS))}")
            return SKIPPED
        environment = {**os.environ, "ENTRY_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([path, __file__, thresher, replay, *options], env=environment).returncode
    with tempfile.TemporaryDirectory() as folder:
        check(thresher, replay, pathlib.Path(folder), "--all" in options)
    return 0


def exported(thresher, problem, folder):
    path = folder / f"{problem}.py"
    subprocess.run([thresher, "export", "arena", problem, "-o", path], check=True, stdout=subprocess.DEVNULL)
    spec = importlib.util.spec_from_file_location(problem, path)
    entry = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(entry)
    return entry


def check(thresher, replay, folder, everything):
    # What the arena has beside an entry.
    sys.modules["task"] = types.SimpleNamespace(input_t=tuple, output_t=list)
    library = open_replay(replay)
    group, dual = (exported(thresher, f"nvfp4_{name}_gemm", folder) for name in ("group", "dual"))
    for entry in (group, dual):
        check_compiles(entry, folder)
    check_scale_layouts()
    for sizes in [GROUP_ODD, *(GROUP_TESTS if everything else GROUP_TESTS[:1])]:
        check_group(group, library, sizes)
    for m, n, k in [DUAL_ODD, *(DUAL_TESTS if everything else [])]:
        check_dual(dual, library, (min(m, 160), min(n, 384), k))
    check_refusals(group, library)


# The driver's place.
def open_replay(path):
    library = ctypes.CDLL(path)
    library.replay_fault.restype = ctypes.c_char_p
    library.replay_begin.restype = ctypes.c_void_p
    library.replay_begin.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
    library.replay_add.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int]
    library.replay_launch.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint32,
                                      ctypes.c_char_p, ctypes.c_size_t]
    library.replay_end.argtypes = [ctypes.c_void_p]
    return library


class EmulatedGpu:
    """Stands where the entry's Gpu does. Three SMs: blocks walk over several tiles."""
    sm_count = 3

    def __init__(self, library, entry, inputs, outputs):
        self.library = library
        self.launched = []
        self.call = library.replay_begin(entry.VARIANT.encode(), entry.MATRICES == 2, 1)
        assert self.call, library.replay_fault().decode()
        for number, tensor in enumerate(inputs):
            self.add(tensor, f"input {number}", False)
        for number, tensor in enumerate(outputs):
            self.add(tensor, f"C {number}", True)

    def add(self, tensor, name, writable):
        size = tensor.untyped_storage().nbytes()
        if size > 0:
            done = self.library.replay_add(self.call, tensor.data_ptr(), size, name.encode(), writable)
            assert done == 0, self.library.replay_fault().decode()

    def launch(self, name, blocks, threads, shared_bytes, argument, workspace):
        if not self.launched:
            workspace.fill_(0xff)  # NaN in every format: what nobody wrote shows
            self.add(workspace, "workspace", True)
        self.launched.append(name)
        done = self.library.replay_launch(self.call, name.encode(), blocks, threads, shared_bytes, argument,
                                          len(argument))
        assert done == 0, f"{name}: {self.library.replay_fault().decode()}"

    def end(self):
        self.library.replay_end(self.call)
        assert self.launched == ["prepare", "entry"], self.launched


# Inputs as the arena makes them, on the CPU: codes of both signs up to 1.5, scales of small numbers in both layouts,
# whose blocks hold anything where there are no rows. Shapes that are not the arena's get negative scales too.
def make_codes(rows, k):
    import torch
    return (torch.randint(255, (1, rows, k // 2), dtype=torch.uint8) & 0b10111011).permute(1, 2, 0).view(
        torch.float4_e2m1fn_x2)


def make_scales(rows, k, gated, signs=False):
    import torch
    shape = (1, rows, k // 16)
    values = torch.rand(shape) if gated else torch.randint(1, 3, shape, dtype=torch.int8).float()
    if signs:
        values = values * (torch.randint(0, 2, shape) * 2 - 1)
    return values.to(torch.float8_e4m3fn).permute(1, 2, 0)


def blocked(plain):
    """The scales as (32, 4, blocks of rows, 4, blocks of k, 1), as cuBLAS has them; elsewhere NaN."""
    import torch
    rows, columns, _ = plain.shape
    blocks = torch.full((1, -(-rows // 128), -(-columns // 4), 32, 4, 4), 0xff, dtype=torch.uint8)
    source = plain.view(torch.uint8)
    for row in range(rows):
        of_row = source[row, :, 0].reshape(-1, 4)
        blocks[0, row // 128, :, row % 32, row % 128 // 32, :] = of_row
    return blocks.view(torch.float8_e4m3fn).permute(3, 4, 1, 5, 2, 0)


MAGNITUDES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def values(codes, plain_scales):
    """rows x k in float64: the format's definition."""
    import torch
    table = torch.tensor(MAGNITUDES + [-x for x in MAGNITUDES], dtype=torch.float64)
    pairs = codes.view(torch.uint8)[:, :, 0].long()
    numbers = torch.stack([table[pairs & 15], table[pairs >> 4]], dim=-1).flatten(1)
    return numbers * plain_scales[:, :, 0].double().repeat_interleave(16, dim=1)


def cloned(tensor):
    """The arena hands over clones. A byte tensor's, because torch clones no FP4 on a CPU."""
    import torch
    return tensor.view(torch.uint8).clone().view(tensor.dtype)


def close(c, expected, what):
    import torch
    assert torch.isfinite(c).all(), f"{what}: C has values that are no numbers"
    off = (c.double() - expected).abs() - (1e-3 + 1e-3 * expected.abs())
    assert (off <= 0).all(), f"{what}: {int((off > 0).sum())} of {off.numel()} values are beyond the arena's tolerance"


def check_group(entry, library, sizes):
    import torch
    torch.manual_seed(1111)
    tensors, plain, blocks = [], [], []
    for m, n, k in sizes:
        c = torch.randn((1, m, n), dtype=torch.float16).permute(1, 2, 0)
        tensors.append((cloned(make_codes(m, k)), cloned(make_codes(n, k)), c.clone()))
        signs = sizes is GROUP_ODD
        plain.append((make_scales(m, k, False, signs), make_scales(n, k, False, signs)))
        blocks.append(tuple(cloned(blocked(scales)) for scales in plain[-1]))
    # In the group problem plain scales are not where the codes are, and cannot be read.
    elsewhere = [tuple(scales.to("meta") for scales in pair) for pair in plain]
    run(entry, library, (tensors, elsewhere, blocks, [(*size, 1) for size in sizes]),
        [x for a, b, _ in tensors for x in (a, b)] + [x for pair in blocks for x in pair], [c for _, _, c in tensors])
    for (a, b, c), (sfa, sfb), size in zip(tensors, plain, sizes):
        close(c[:, :, 0], values(a, sfa) @ values(b, sfb).T, f"group {size}")
    print(f"{entry.VARIANT}: {sizes}")


def check_dual(entry, library, size):
    import torch
    torch.manual_seed(1111)
    m, n, k = size
    codes = [cloned(make_codes(rows, k)) for rows in (m, n, n)]
    plain = [cloned(make_scales(rows, k, True, size == DUAL_ODD)) for rows in (m, n, n)]
    blocks = [cloned(blocked(scales)) for scales in plain]
    c = torch.randn((1, m, n), dtype=torch.float16).permute(1, 2, 0).clone()
    run(entry, library, (*codes, *plain, *blocks, c), [*codes, *plain, *blocks], [c])
    a, b1, b2 = (values(*pair) for pair in zip(codes, plain))
    gate, up = a @ b1.T, a @ b2.T
    close(c[:, :, 0], gate * torch.sigmoid(gate) * up, f"dual {size}")
    print(f"{entry.VARIANT}: {size}")


def run(entry, library, data, inputs, outputs):
    entry.MACHINE = EmulatedGpu(library, entry, inputs, outputs)
    answer = entry.custom_kernel(data)
    entry.MACHINE.end()
    answers = answer if isinstance(answer, list) else [answer]
    assert [x.data_ptr() for x in answers] == [x.data_ptr() for x in outputs], "it answers with other tensors than C"


def check_scale_layouts():
    """Blocks read back element by element, at the byte that the documents name."""
    import torch
    torch.manual_seed(1)
    plain = make_scales(200, 512, True)
    laid_out = blocked(plain)
    storage = laid_out.view(torch.uint8).permute(5, 2, 4, 0, 1, 3).flatten()
    for row, column in ((0, 0), (1, 0), (31, 3), (32, 1), (127, 31), (128, 4), (199, 17)):
        at = (row // 128 * 8 + column // 4) * 512 + 16 * (row % 32) + 4 * (row % 128 // 32) + column % 4
        assert storage[at] == plain.view(torch.uint8)[row, column, 0], (row, column)


def check_refusals(entry, library):
    """What the arena does not promise is refused with a sentence, before any launch."""
    import torch

    def refused(text, a=None, scales=None):
        m, n, k = 16, 128, 256
        tokens = make_codes(m, k) if a is None else a
        weights, sfb = make_codes(n, k if a is None else a.shape[1] * 2), blocked(make_scales(n, k, False))
        c = torch.zeros((m, n, 1), dtype=torch.float16)
        of_tokens = blocked(make_scales(m, k, False)) if scales is None else scales
        entry.MACHINE = types.SimpleNamespace(sm_count=3, launch=lambda *_: sys.exit("it launched"))
        try:
            entry.custom_kernel(([(tokens, weights, c)], [(torch.empty(1, device="meta"), None)], [(of_tokens, sfb)],
                                 [(m, n, k, 1)]))
        except ValueError as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"it was not refused: {text}")

    refused("k = 128 is not a multiple of 256", a=make_codes(16, 128))
    refused("has the shape", scales=blocked(make_scales(16, 512, False)))
    refused("has the strides", scales=blocked(make_scales(16, 256, False)).contiguous())


def check_compiles(entry, folder):
    """By the entry's own way, and with nvcc where there is one: without spills."""
    try:
        cubin = entry.compiled(entry.SOURCE)
        assert len(cubin) > 1000
    except (RuntimeError, AttributeError) as error:
        if "there is no NVRTC" not in str(error):
            raise
        print("not compiled by NVRTC: there is none")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        print("not compiled by nvcc: there is none")
        return
    source = folder / "entry.cu"
    source.write_text(entry.SOURCE)
    command = [nvcc, "-cubin", "-arch=sm_100a", "-std=c++20", "-fmad=false", "-Xptxas=-v", "-o", folder / "entry.cubin",
               source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    spills = [int(x) for x in re.findall(r"(\d+) bytes spill (?:stores|loads)", done.stderr)]
    assert len(spills) == 4 and not any(spills), done.stderr


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
