#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables in documents that repeat the program say what the program says.

    tables.py THRESHER            compares
    tables.py THRESHER --write    rewrites

A table stands between the lines `<!-- from thresher: WHAT -->` and `<!-- end of table -->`.
"""
import re
import sys

import house
from program import Program

TABLE = re.compile(r"(<!-- from thresher: (.+?) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def commands(program):
    yield "command", "what it does"
    for name, text in program.help().commands.items():
        below = ", ".join(f"`{word}`" for word in program.help(name).commands)
        yield f"`thresher {name}`", f"{text}: {below}" if below else text


def suites(program):
    yield "suite", "problems", "what it is for"
    for suite in program.suites():
        yield f"`{suite['name']}`", str(len(suite["problems"])), suite["description"]


def knobs(backend):
    def rows(program):
        yield "knob", "takes", "what it is"
        for knob in program.knobs(backend):
            yield f"`{knob['knob']}`", knob["takes"], knob["what"]
    return rows


MAKERS = {"commands": commands, "suites": suites,
          "knobs of the CPU": knobs("cpu"), "knobs of the GPU": knobs("gpu")}


def cells_of(table):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]


def table_of(program, what):
    head, *rows = MAKERS[what](program)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def refresh(program, path, faults):
    """The document's text with fresh tables."""
    text = path.read_text()

    def replace(found):
        place = house.place(path, text.count("\n", 0, found.start()) + 1)
        if found[2] not in MAKERS:
            faults.append(f"{place}: no table '{found[2]}'; there are {', '.join(MAKERS)}")
            return found[0]
        fresh = table_of(program, found[2])
        if fresh != found[3]:
            faults.append(f"{place}: the table '{found[2]}' is not the program's")
        faults.extend(f"{place}: nobody says what {cells[0]} is"
                      for cells in cells_of(fresh) if not cells[-1])
        return found[1] + fresh + found[4]

    return TABLE.sub(replace, text)


def main(path, *options):
    program = Program(path)
    if "--write" in options:
        for document in house.documents():
            document.write_text(refresh(program, document, []))
    faults = []
    for document in house.documents():
        refresh(program, document, faults)
    return house.judge(faults, "tests/house/tables.py THRESHER --write mends tables")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
