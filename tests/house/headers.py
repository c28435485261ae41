#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, the C ones as C too, and all of them together in any order.

    headers.py C_COMPILER CXX_COMPILER
"""
import subprocess
import sys

import house

LANGUAGES = {"c": ["-x", "c", "-std=c11"], "c++": ["-x", "c++", "-std=c++20"]}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def compile_text(compiler, language, text):
    """What the compiler has to say of a file with this text; empty if all is well."""
    command = [compiler, *LANGUAGES[language], *WARNINGS, "-fsyntax-only",
               "-I", str(house.ROOT / "include"), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def include(headers):
    return "".join(f'#include "thresher/{header.name}"\n' for header in headers)


def main(c_compiler, cxx_compiler):
    compilers = {"c": c_compiler, "c++": cxx_compiler}
    headers = house.files("include/thresher", ".hpp", ".cuh", ".h")
    c_headers = [header for header in headers if header.suffix == ".h"]
    cases = [("c++", [header]) for header in headers] + [("c", [header]) for header in c_headers]
    cases += [("c++", headers), ("c++", headers[::-1]), ("c", c_headers), ("c", c_headers[::-1])]
    faults = []
    for language, together in cases:
        said = compile_text(compilers[language], language, include(together))
        if said:
            names = ", ".join(header.name for header in together)
            faults.append(f"{names} as {language}:\n{said}")
    return house.judge(faults, "a public header includes what it needs, and its names are its own")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
