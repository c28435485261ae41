#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a random NVFP4 checkpoint and has `thresher inspect --pack` pack it.

    results/checkpoint_speed.py build/release/thresher FOLDER [--layers 2] [--pack cpu] [--repeats 3]

FOLDER, on the disk that is to be measured, is made and removed. The layers are Qwen3.6-35B-A3B's: 256 experts, 453 MB.
"""
import argparse
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys

HIDDEN, INNER, EXPERTS = 2048, 512, 256


def matrices(layer):
    for expert in range(EXPERTS):
        for name, rows, k in (("gate", INNER, HIDDEN), ("up", INNER, HIDDEN), ("down", HIDDEN, INNER)):
            yield f"model.layers.{layer}.mlp.experts.{expert}.{name}_proj", rows, k


def write_file(path, layer):
    header, pieces, offset = {}, [], 0
    noise = bytearray(random.Random(layer).randbytes(1 << 20))
    scales = bytes(0x30 | byte & 15 for byte in noise)  # good E4M3 numbers

    def add(name, dtype, shape, content, size):
        nonlocal offset
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        pieces.append((content, size))
        offset += size

    for module, rows, k in matrices(layer):
        add(f"{module}.weight_scale_2", "F32", [], struct.pack("<f", 0.01), 4)
        add(f"{module}.weight", "U8", [rows, k // 2], noise, rows * k // 2)
        add(f"{module}.weight_scale", "F8_E4M3", [rows, k // 16], scales, rows * k // 16)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for content, size in pieces:
            file.write(memoryview(content)[:size])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thresher", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--pack", default="cpu", help="a device")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    options.folder.mkdir()
    try:
        for layer in range(options.layers):
            write_file(options.folder / f"model-{layer + 1:05}-of-{options.layers:05}.safetensors", layer)
        index = {name: f"model-{layer + 1:05}-of-{options.layers:05}.safetensors" for layer in range(options.layers)
                 for module, _, _ in matrices(layer)
                 for name in (f"{module}.weight_scale_2", f"{module}.weight", f"{module}.weight_scale")}
        (options.folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
        for _ in range(options.repeats):
            done = subprocess.run([options.thresher, "inspect", options.folder, "--pack", options.pack, "--json"],
                                  check=True, stdout=subprocess.PIPE, text=True)
            print(done.stdout.splitlines()[-1], flush=True)
    finally:
        shutil.rmtree(options.folder)


if __name__ == "__main__":
    sys.exit(main())
