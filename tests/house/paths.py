#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that a document names are there: links, paths from a folder of the house or of src/, headers."""
import re
import sys

import house

LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([\w./*-]+)`")
BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
FOLDERS = tuple(f"{path.name}/" for path in house.ROOT.iterdir()
                if path.is_dir() and path.name not in ("build", "out"))
SOURCES = [path.as_posix() for folder in ("src", "include", "bench", "tests")
           for path in house.files(folder, ".hpp", ".cuh", ".cpp")]


def is_source(name):
    """A user's own file may be called kernel.cpp; nobody's is called a/kernel.cpp or kernel.hpp."""
    return name.endswith((".hpp", ".cuh")) or (name.endswith(".cpp") and "/" in name)


def is_there(name):
    if name.startswith(FOLDERS):
        return any(house.ROOT.glob(name.rstrip("/")))
    return not is_source(name) or any(path.endswith(f"/{name}") for path in SOURCES)


def main():
    faults = []
    for document in house.documents():
        text = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), document.read_text())
        for number, line in enumerate(text.splitlines(), 1):
            place = house.place(document, number)
            faults.extend(f"{place}: no file {name}" for name in LINK.findall(line)
                          if not (document.parent / name).exists())
            faults.extend(f"{place}: no file {name}" for name in CODE.findall(line)
                          if not is_there(name))
    return house.judge(faults, "say where the file is now")


if __name__ == "__main__":
    sys.exit(main())
