#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds our number formats and our quantiser against ml_dtypes and numpy.

usage: ml_dtypes_check.py PATH_TO_dump_encodings
Exit code 0: all agree. 1: the first differences are printed. 77: a package is missing.
"""

import subprocess
import sys

try:
    import ml_dtypes
    import numpy as np

    FORMATS = {  # name: (type, bits as, code count, largest value where ours saturates)
        "e2m1": (ml_dtypes.float4_e2m1fn, np.uint8, 16, 6.0),
        "e4m3": (ml_dtypes.float8_e4m3fn, np.uint8, 256, 448.0),
        "fp16": (np.float16, np.uint16, 65536, None),
        "bf16": (ml_dtypes.bfloat16, np.uint16, 65536, None),
    }
except (ImportError, AttributeError) as missing:
    print(f"skipped: needs numpy and ml_dtypes with float4_e2m1fn ({missing})")
    sys.exit(77)

SEED = 1234


def run(program, arguments, numbers=None):
    text = None if numbers is None else "\n".join(f"{number:x}" for number in numbers)
    command = [program, *arguments]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def values_of(name):
    """Every code of a format as a float, by the other library."""
    dtype, bits, code_count, _ = FORMATS[name]
    return np.arange(code_count).astype(bits).view(dtype).astype(np.float32)


def encode(name, values):
    """Codes by the other library, which has to be told to saturate."""
    dtype, bits, _, largest = FORMATS[name]
    if largest is not None:
        values = np.clip(values, -largest, largest)  # keeps NaN
    return values.astype(dtype).view(bits)


def compare(what, ours, theirs, inputs):
    """Counts differences and prints the first few."""
    wrong = np.flatnonzero(ours != theirs)
    for i in wrong[:5]:
        print(f"{what}: input {inputs[i]!r}: ours {ours[i]:#x}, theirs {theirs[i]:#x}")
    print(f"{what}: {len(ours)} compared, {len(wrong)} differ")
    return len(wrong)


def check_decode(program):
    lines = [line.split() for line in run(program, ["decode"])]
    failures = 0
    for name in FORMATS:
        ours = np.array([int(bits, 16) for form, _, bits in lines if form == name], np.uint32)
        theirs = values_of(name)
        assert len(ours) == len(theirs)
        # Payloads of NaN are nobody's promise: make them all alike.
        ours = np.where(np.isnan(ours.view(np.float32)), 0x7FC00000, ours)
        theirs = np.where(np.isnan(theirs), 0x7FC00000, theirs.view(np.uint32))
        failures += compare(f"decode {name}", ours, theirs, np.arange(len(ours)))
    return failures


def interesting_doubles(name):
    """Every value of a format, every midpoint, and the doubles and floats next to them."""
    values = values_of(name).astype(np.float64)
    values = np.unique(values[np.isfinite(values) & (values >= 0)])
    midpoints = (values[1:] + values[:-1]) / 2
    points = np.concatenate([values, midpoints, [1.5 * values[-1], 8 * values[-1]]])
    floats = points.astype(np.float32)
    around = [np.nextafter(points, 0), np.nextafter(points, np.inf)]
    around += [np.nextafter(floats, np.float32(0)), np.nextafter(floats, np.float32(np.inf))]
    points = np.concatenate([points, *(part.astype(np.float64) for part in around)])
    return np.concatenate([points, -points])


def random_doubles():
    """Random bit patterns of floats: every exponent, infinities and NaN among them."""
    random = np.random.default_rng(SEED)
    bits = random.integers(0, 2**32, 50000, dtype=np.uint32)
    return np.concatenate([bits.view(np.float32).astype(np.float64), random.normal(0, 3, 50000)])


def check_encode(program):
    specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    points = [interesting_doubles(name) for name in FORMATS]
    patterns = np.concatenate([specials, *points, random_doubles()]).view(np.uint64)
    doubles = np.unique(patterns).view(np.float64)  # unique by bits: -0 is not 0
    lines = run(program, ["encode"], doubles.view(np.uint64).tolist())
    table = np.array([[int(code, 16) for code in line.split()] for line in lines])
    failures = 0
    for column, name in enumerate(FORMATS):
        dtype, bits, _, _ = FORMATS[name]
        comparable = np.ones(len(doubles), bool)
        if name != "fp16":  # ml_dtypes takes doubles through float and rounds twice
            comparable = np.isnan(doubles) | (doubles.astype(np.float32) == doubles)
        if name == "e2m1":  # the format has no NaN
            comparable &= ~np.isnan(doubles)
        inputs = doubles[comparable]
        ours = table[comparable, column].astype(bits)
        theirs = encode(name, inputs)
        if name != "e2m1":  # any NaN will do
            nan = np.isnan(inputs)
            ours = np.where(nan & np.isnan(ours.view(dtype)), 0, ours)
            theirs = np.where(nan & np.isnan(theirs.view(dtype)), 0, theirs)
        failures += compare(f"encode {name}", ours, theirs, inputs)
    return failures


def quantize(values, global_scale):
    """docs/nvfp4.md in numpy, all float32: global scale, scale codes, packed codes."""
    amax = np.abs(values).max()
    scale = np.float32(1)
    if global_scale and amax > 0:
        scale = max(amax / np.float32(6 * 448), np.float32(2.0**-117))
    blocks = values.reshape(-1, 16)
    block_amax = np.abs(blocks).max(axis=1)
    scales = encode("e4m3", block_amax / (np.float32(6) * scale))
    scales = np.where(block_amax == 0, 0, np.maximum(scales, 1)).astype(np.uint8)
    step = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale
    scaled = np.divide(blocks, step[:, None], out=np.zeros_like(blocks), where=step[:, None] != 0)
    codes = encode("e2m1", scaled).reshape(-1) & 15
    return scale, scales, codes[0::2] | codes[1::2] << 4


def check_quantize(program):
    random = np.random.default_rng(SEED)
    rows, k_elements = 64, 256
    shape = (rows, k_elements)
    families = {
        "gaussian": random.normal(0, 0.02, shape),
        "bf16": random.normal(0, 1, shape).astype(ml_dtypes.bfloat16),
        "quarters": random.integers(-48, 49, shape) / 4,
        "wide": random.normal(0, 1, shape) * 2.0 ** random.integers(-40, 20, shape),
        "tiny": random.normal(0, 1, shape) * 2.0**-140,
        "sparse": random.normal(0, 1, shape) * (random.random(shape) < 0.03),
    }
    failures = 0
    for name, values in families.items():
        values = values.astype(np.float32)
        for mode in ("global", "plain"):
            arguments = ["quantize", str(rows), str(k_elements), mode]
            lines = run(program, arguments, values.reshape(-1).view(np.uint32).tolist())
            scale, scales, codes = quantize(values, mode == "global")
            ours = np.frombuffer(bytes.fromhex(lines[1] + lines[2]), np.uint8)
            theirs = np.concatenate([scales, codes])
            what = f"quantize {name} {mode}"
            failures += compare(what, ours, theirs, np.arange(len(ours)))
            if int(lines[0], 16) != int(np.float32(scale).view(np.uint32)):
                print(f"{what}: global scale: ours {lines[0]}, theirs {scale!r}")
                failures += 1
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    np.seterr(over="ignore", invalid="ignore")  # casts to infinity and NaN are part of the test
    failures = check_decode(program) + check_encode(program) + check_quantize(program)
    versions = f"ml_dtypes {ml_dtypes.__version__}, numpy {np.__version__}"
    print(f"{failures} differences (seed {SEED}, {versions})")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
