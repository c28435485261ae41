#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pip wheel .` makes one wheel for every Python 3, and what it installs works: wheel_check.py BUILD_FOLDER

Library and command are those of the build folder, so nothing is compiled. Skipped (77) without pip's tools.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build" / "venv" / "bin" / "python3"
USE = """
import numpy as np, pathlib, sys, thresher
assert pathlib.Path(thresher.__file__).is_relative_to(sys.argv[1]), thresher.__file__
engine = thresher.Engine(threads=1)
w = engine.pack(thresher.quantize(np.full((8, 16), 6, np.float32), global_scale=None))
c = engine.gemm(np.ones((1, 16), np.float16), w)
assert (c == 96).all(), c
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def main(build):
    if subprocess.run([PYTHON, "-c", "import scikit_build_core, numpy, pip"], capture_output=True).returncode != 0:
        print(f"skipped: {PYTHON} has no scikit-build-core or numpy")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        run(PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", ROOT, "-w", place,
            "-C", f"cmake.define.THRESHER_BUILT={build}", "-C", f"build-dir={place}/build")
        wheel, = place.glob("*.whl")
        assert "-py3-none-linux_" in wheel.name, wheel.name
        run(PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", place / "site", wheel)
        # Without this the package would find a library elsewhere.
        environment = {name: value for name, value in os.environ.items() if name != "THRESHER_LIBRARY"}
        run(PYTHON, "-c", USE, place / "site", cwd=place, env={**environment, "PYTHONPATH": str(place / "site")})
        said = run(place / "site" / "bin" / "thresher", "--help", capture_output=True, text=True).stdout
        assert "bench" in said, said
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
