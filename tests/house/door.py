#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody asks which device it is: he asks its row, or its Device, to do what he wants.

Looks for such questions in src/ and bench/: a backend or device compared by name or by its row, a
device cast to one of a kind, a null where only a GPU has something, and yes-or-no members of the
row (backend/backend.hpp) wherever they are read. Those that there are stand in door.txt, with a
reason: fewer than ten.
"""
import re
import sys

import house

QUESTIONS_MAX = 9
# Behind the door everybody knows who he is.
BEHIND = re.compile(r"src/(cpu|gpu|emulated|emulator|backend)/")
QUESTIONS = [
    r"[=!]=\s*\"(?:cpu|gpu|emulator)\"",
    r"[=!]=\s*&?(?:\w+::)*(?:cpu|gpu|emulated|host)_backend\(\)",
    r"\bfind_gpu\(",
    r"(?:static|dynamic)_cast<[^>]*\b(?:Gpu|Host|Emulated)Device\b",
    r"\bgpu_? [=!]= nullptr",
    r"\bif \(!?gpu_?\)",
    r"\bgpu_? \?[^?:]*:",
]


def row_predicates():
    """Members of the row that answer yes or no."""
    text = (house.ROOT / "src/backend/backend.hpp").read_text()
    row = text[text.index("using KnobValues"):]
    return re.findall(r"^  bool (\w+)\b(?! ?\()", row, re.M)


def questions_of(path, patterns):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = line.partition("//")[0]
        if "ASSERT" not in code and any(pattern.search(code) for pattern in patterns):
            yield number, line.strip()


def main():
    allowed = {}
    for place, text in house.rows("door.txt"):
        path, _, reason = text.partition(":")
        allowed[path] = (place, reason.strip())
    patterns = [re.compile(question) for question in QUESTIONS]
    patterns += [re.compile(rf"(?:\.|->){name}\b") for name in row_predicates()]
    faults, count, found = [], 0, set()
    for path in [*house.files("src", ".cpp", ".hpp"), *house.files("bench", ".cpp", ".hpp")]:
        name = str(path.relative_to(house.ROOT))
        if BEHIND.match(name):
            continue
        for number, line in questions_of(path, patterns):
            count += 1
            found.add(name)
            if name not in allowed:
                faults.append(f"{house.place(path, number)}: {line}")
    faults += [f"{place}: {path} asks nothing" for path, (place, _) in allowed.items()
               if path not in found]
    faults += [f"{place}: {path} says no reason" for path, (place, reason) in allowed.items()
               if not reason]
    if count > QUESTIONS_MAX:
        faults.append(f"{count} places ask which device it is, {QUESTIONS_MAX} may")
    return house.judge(faults, "let the row or the Device do it (src/backend/), so that the next "
                               "device needs no answer elsewhere; or a row in tests/house/door.txt")


if __name__ == "__main__":
    sys.exit(main())
