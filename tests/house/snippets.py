#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C and C++ in documents compiles against the public headers, and runs.

    snippets.py C_COMPILER CXX_COMPILER LIBRARY...

The first block of docs/x.md is put into snippets/x_1.cpp (.c for C), which has all that the block
leaves to its reader: its #include and using lines stand in the place of the line `// head`, the
others in that of `// body`.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import house

BLOCK = re.compile(r"^```(cpp|c)\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEAD = re.compile(r"#|using ")
FLAGS = {".c": ["-std=c11"], ".cpp": ["-std=c++20"]}


def blocks_of(document):
    """The place of each block, the file it belongs into, its text."""
    text = document.read_text()
    for index, found in enumerate(BLOCK.finditer(text), 1):
        place = house.place(document, text.count("\n", 0, found.start()) + 1)
        yield place, f"{document.stem.lower()}_{index}.{found[1]}", found[2]


def put_into(frame, block):
    lines = block.splitlines()
    head = "\n".join(line for line in lines if HEAD.match(line))
    body = "\n".join(line for line in lines if not HEAD.match(line))
    return frame.replace("// head", head).replace("// body", body)


def run_program(source, compiler, libraries):
    """What is wrong with the program in a file; empty if nothing is."""
    program = source.with_suffix("")
    build = subprocess.run(
        [compiler, *FLAGS[source.suffix], "-Wall", "-Werror", "-I",
         house.ROOT / "include", source, "-o", program, "-Wl,--start-group", *libraries,
         "-Wl,--end-group", "-pthread", "-ldl", "-lstdc++", "-lm"], capture_output=True, text=True)
    if build.returncode:
        return build.stderr
    done = subprocess.run([program], capture_output=True, text=True)
    return f"exit code {done.returncode}: {done.stderr}" if done.returncode else ""


def main(c_compiler, cxx_compiler, *libraries):
    compilers = {".c": c_compiler, ".cpp": cxx_compiler}
    frames = pathlib.Path(__file__).with_name("snippets")
    unused = {path.name for path in frames.iterdir()}
    faults = []
    for document in house.documents():
        for place, name, block in blocks_of(document):
            unused.discard(name)
            if not (frames / name).is_file():
                faults.append(f"{place}: has no {frames.relative_to(house.ROOT) / name}")
                continue
            with tempfile.TemporaryDirectory() as folder:
                source = pathlib.Path(folder) / name
                source.write_text(put_into((frames / name).read_text(), block))
                if wrong := run_program(source, compilers[source.suffix], libraries):
                    faults.append(f"{place}:\n{wrong}")
    faults.extend(f"{frames.relative_to(house.ROOT) / name}: no document has this block"
                  for name in sorted(unused))
    return house.judge(faults, "what a document shows must work as it stands")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
