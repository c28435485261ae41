#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A .cpp with logic has its mirror: tests/<folder>/<stem>_test.cpp, or the test that mirrors.txt names.

Logic is a branch or a loop. A row of mirrors.txt that nobody needs is a fault too, and so is a pattern in
it that matches no file.
"""
import re
import sys

import house

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
LOGIC = re.compile(r"\b(?:if|for|while|switch)\b\s*(?:constexpr\s*)?\(| \? ")


def has_logic(path):
    return LOGIC.search(NOISE.sub(" ", path.read_text())) is not None


def mirror_of(path):
    folder = path.relative_to(house.ROOT).parent
    folder = folder.relative_to("src") if folder.parts[0] == "src" else folder
    return house.ROOT / "tests" / folder / f"{path.stem}_test.cpp"


def read_rows(faults):
    """Which sources a row speaks of, by its place."""
    patterns = {}
    for place, text in house.rows("mirrors.txt"):
        sources, _, rest = text.partition(": ")
        test, _, reason = rest.partition(": ")
        if not reason:
            faults.append(f"{place}: not of the form SOURCES: TEST: REASON")
        elif not (house.ROOT / test).is_file():
            faults.append(f"{place}: there is no {test}")
        patterns[place] = sources.split()
        faults.extend(f"{place}: no source is called {pattern}" for pattern in patterns[place]
                      if not any(house.ROOT.glob(pattern)))
    return patterns


def main():
    faults = []
    patterns = read_rows(faults)
    unused = dict(patterns)
    for path in house.files("src", ".cpp") + house.files("bench", ".cpp"):
        if mirror_of(path).is_file() or not has_logic(path):
            continue
        name = path.relative_to(house.ROOT)
        row = next((place for place, globs in patterns.items()
                    if any(name.match(glob) for glob in globs)), None)
        unused.pop(row, None)
        if row is None:
            faults.append(f"{house.place(path, 1)}: has no test "
                          f"{mirror_of(path).relative_to(house.ROOT)}")
    faults.extend(f"{place}: no source needs this row" for place in unused)
    return house.judge(faults, "write the test, or say in tests/house/mirrors.txt which one holds "
                       "the source to its word, and why")


if __name__ == "__main__":
    sys.exit(main())
