#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`pip wheel .` makes one wheel for every Python 3, and a new environment works with it.

    wheel_check.py BUILD_FOLDER    library and command are those of the build folder, so nothing is compiled;
                                   skipped (77) without pip's tools
    wheel_check.py --scratch       what users do: a clean copy of what is committed is compiled, and everything that is
                                   asked for comes from the network. It takes as long as a build
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
import importlib.metadata
plugin, = importlib.metadata.entry_points(group="vllm.general_plugins")
assert plugin.value == "thresher.vllm:register", plugin
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def why_no_tools():
    """Empty if build/venv can make wheels, otherwise what is missing."""
    if not PYTHON.exists():
        return f"{PYTHON} is not there"
    done = subprocess.run([PYTHON, "-c", "import scikit_build_core, numpy, pip"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{PYTHON}: {done.stderr.strip().splitlines()[-1]}"


def of_a_build(build, place):
    """A wheel, and an interpreter that it is installed for, without a network."""
    run(PYTHON, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", ROOT, "-w", place,
        "-C", f"cmake.define.THRESHER_BUILT={build}", "-C", f"build-dir={place}/build")
    wheel, = place.glob("*.whl")
    run(PYTHON, "-m", "venv", "--without-pip", place / "new")
    # Nothing is in it but numpy, which is borrowed.
    site, = (place / "new").glob("lib/python*/site-packages")
    lender, = PYTHON.parents[1].glob("lib/python*/site-packages")
    (site / "numpy.pth").write_text(f"{lender}\n")
    python = place / "new" / "bin" / "python3"
    run(PYTHON, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    return wheel, python


def from_scratch(place):
    run("git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", place / "copy")
    run(sys.executable, "-m", "venv", place / "new")
    python = place / "new" / "bin" / "python3"
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", place / "copy", "-w", place)
    wheel, = place.glob("*.whl")
    run(python, "-m", "pip", "install", "--quiet", wheel)
    return wheel, python


def main(build):
    scratch = build == "--scratch"
    if not scratch and (why_not := why_no_tools()):
        print(f"skipped: {why_not}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        wheel, python = from_scratch(place) if scratch else of_a_build(build, place)
        assert "-py3-none-linux_" in wheel.name, wheel.name
        # Without this the package would find a library elsewhere.
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("THRESHER_LIBRARY", "PYTHONPATH")}
        run(python, "-c", USE, place / "new", cwd=place, env=environment)
        for command in ([place / "new" / "bin" / "thresher"], [python, "-m", "thresher"]):
            said = run(*command, "--help", capture_output=True, text=True, cwd=place, env=environment).stdout
            assert "bench" in said, said
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
