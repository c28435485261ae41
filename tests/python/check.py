#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the Python package: check.py LIBRARY MODULE [NEEDED==|>=VERSION...]

The interpreter is the first of build/torch, build/vllm, build/venv and the system's that has all that is needed;
without one the tests are skipped (exit code 77), and it says why. So they are where every one of them skips itself, for
want of a GPU: what needs one is a module of its own, or it would hide among tests that pass.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
INTERPRETERS = [*(ROOT / "build" / name / "bin" / "python3" for name in ("torch", "vllm", "venv")),
                pathlib.Path(sys.executable)]
SKIPPED = 77
INSIDE = "--inside"  # the interpreter that was chosen


def why_not(interpreter, needed):
    """Empty if the interpreter has everything, otherwise what is missing."""
    if not interpreter.exists():
        return f"{interpreter} is not there"
    for need in needed:
        name, relation, version = re.fullmatch(r"(\w+)(>=|==)([\d.]+)", need).groups()
        ask = f"import importlib.metadata as m; print(m.version({name!r}))"
        done = subprocess.run([interpreter, "-c", ask], capture_output=True, text=True)
        if done.returncode != 0:
            return f"{interpreter} has no {name}"
        has = done.stdout.strip()
        if numbers(has) < numbers(version) or relation == "==" and numbers(has) != numbers(version):
            return f"{interpreter} has {name} {has}, and {need} is needed"
    return ""


def numbers(version):
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def inside(module):
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    result = unittest.main(module, argv=[module], testRunner=runner, exit=False).result
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    if not result.wasSuccessful():
        return 1
    return 0 if result.passed else SKIPPED


def main(library, module, *needed):
    if library == INSIDE:
        return inside(module)
    reasons = []
    for interpreter in INTERPRETERS:
        reason = why_not(interpreter, needed)
        if not reason:
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "THRESHER_LIBRARY": library,
                           "PYTHONDONTWRITEBYTECODE": "1"}
            # torch's matrix products in 16 bits end by SIGILL in virtual machines that show AMX and do not allow it.
            environment.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16")
            return subprocess.run([interpreter, __file__, INSIDE, module], cwd=FOLDER, env=environment).returncode
        reasons.append(reason)
    print(f"skipped {module}: {'; '.join(reasons)}")
    return SKIPPED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
