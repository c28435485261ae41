#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds our layouts and descriptors for Blackwell against CUTLASS's, which NVIDIA's package nvidia-cutlass brings:
its layout algebra in Python (pycute), and the bit fields in its headers. Nothing of it needs a GPU.

    layouts_check.py DUMP_LAYOUTS
"""
import importlib.util
import pathlib
import re
import subprocess
import sys

EXIT_SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(EXIT_SKIPPED)


try:
    from pycute import Layout, Swizzle
    CUTLASS = pathlib.Path(importlib.util.find_spec("cutlass_library").submodule_search_locations[0])
except (ImportError, AttributeError):
    skip("no layout algebra of CUTLASS: pip install --no-deps nvidia-cutlass")

DESCRIPTORS = CUTLASS / "source/include/cute/arch/mma_sm100_desc.hpp"


def fields_of(union):
    """First bit and width of every named field of a union's bit fields."""
    text = DESCRIPTORS.read_text()
    text = text[text.index(f"union {union}\n"):]
    body = re.search(r"struct \{(.*?)\n  \};", text, re.DOTALL).group(1)
    body = re.sub(r"\buint\d+_t\b", "", re.sub(r"//.*", "", body))
    fields, first = {}, 0
    for name, width in re.findall(r"(\w*)\s*:\s*(\d+)", body):
        if name:
            fields[name] = (first, int(width))
        first += int(width)
    assert first in (32, 64), f"{union} has {first} bits"
    return fields


def word(union, **values):
    fields, bits = fields_of(union), 0
    for name, value in values.items():
        first, width = fields[name]
        assert value < 1 << width, name
        bits |= value << first
    return bits


def code(row, block):
    return Swizzle(3, 4, 3)(Layout((128, 16), (128, 8))(row, block))


def scale(row_blocks, row, block):
    # CUTLASS's atom for 16 elements a scale, K-major; then blocks of rows, then blocks of k.
    atoms = Layout(((32, 4, row_blocks), (4, 4)), ((16, 4, 512), (1, 512 * row_blocks)))
    return atoms(row, block)


def box(swizzled, offset):
    return Swizzle({0: 0, 32: 1, 64: 2, 128: 3}[swizzled], 4, 3)(offset)


def instruction(rows, columns):
    e2m1, ue4m3, k_major = 1, 0, 0  # MXF4Format::E2M1, ScaleFormat::UE4M3, Major::K
    return word("InstrDescriptorBlockScaled", a_format_=e2m1, b_format_=e2m1, scale_format_=ue4m3, a_major_=k_major,
                b_major_=k_major, n_dim_=columns >> 3, m_dim_=rows >> 4)


def descriptor(layout, address, stride):
    return word("SmemDescriptor", start_address_=address >> 4, stride_byte_offset_=stride >> 4, version_=1,
                layout_type_=layout)


EXPECTED = {"code": code, "scale": scale, "box": box, "instruction": instruction,
            "operand": lambda *of: descriptor(2, *of),  # LayoutType::SWIZZLE_128B
            "scales": lambda *of: descriptor(0, *of)}


def main():
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    counts = {}
    for line in lines:
        kind, *numbers = line.split()
        *told, ours = map(int, numbers)
        theirs = EXPECTED[kind](*told)
        if ours != theirs:
            sys.exit(f"{line}: CUTLASS has {theirs:#x}")
        counts[kind] = counts.get(kind, 0) + 1
    assert set(counts) == set(EXPECTED), counts
    print(", ".join(f"{count} of {kind}" for kind, count in counts.items()), "agree with CUTLASS")


main()
