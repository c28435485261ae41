#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint of very many tensors, all of them small, and has `thresher inspect` open it.

    results/header_speed.py build/release/thresher FOLDER [--layers 40] [--repeats 5]

FOLDER is made and removed. By default 92,240 tensors in one file: 40 layers of 256 NVFP4 experts, and two tensors beside
each. Prints the seconds of CPU that the command took, starting, opening, describing all layers, checking every expert
and reading every global scale: other programs' load is not in them.
"""
import argparse
import json
import pathlib
import resource
import shutil
import struct
import subprocess

EXPERTS, HIDDEN, INNER = 256, 32, 16


def tensors(layers):
    for layer in range(layers):
        module = f"model.layers.{layer}.mlp"
        yield f"{module}.gate.weight", "BF16", [EXPERTS, HIDDEN], bytes(2 * EXPERTS * HIDDEN)
        yield f"model.layers.{layer}.input_layernorm.weight", "BF16", [HIDDEN], bytes(2 * HIDDEN)
        for expert in range(EXPERTS):
            for name, rows, k in (("gate", INNER, HIDDEN), ("up", INNER, HIDDEN), ("down", HIDDEN, INNER)):
                matrix = f"{module}.experts.{expert}.{name}_proj"
                yield f"{matrix}.weight", "U8", [rows, k // 2], bytes(rows * k // 2)
                yield f"{matrix}.weight_scale", "F8_E4M3", [rows, k // 16], bytes(rows * k // 16)
                yield f"{matrix}.weight_scale_2", "F32", [], struct.pack("<f", 0.01)


def write_file(path, layers):
    header, pieces, offset = {}, [], 0
    for name, dtype, shape, content in tensors(layers):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(content)]}
        pieces.append(content)
        offset += len(content)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(pieces))
    return len(header), len(text)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thresher", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    options.folder.mkdir()
    try:
        count, header_bytes = write_file(options.folder / "model.safetensors", options.layers)
        seconds = []
        for _ in range(options.repeats):
            before = cpu_seconds()
            subprocess.run([options.thresher, "inspect", options.folder, "--json"], check=True, stdout=subprocess.DEVNULL)
            seconds.append(round(cpu_seconds() - before, 3))
        print(json.dumps({"tensors": count, "header_bytes": header_bytes, "cpu_seconds": sorted(seconds)}))
    finally:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
