# SPDX-License-Identifier: Apache-2.0
"""What the rules of the house share: where files are, and how a broken rule is reported."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files(folder, *endings):
    """The files below a folder of the house whose names end so, in a fixed order."""
    found = (path for path in (ROOT / folder).rglob("*") if path.name.endswith(endings))
    return sorted(path for path in found if path.is_file())


def documents():
    return sorted([*ROOT.glob("*.md"), *files("docs", ".md"), *files("results", ".md")])


def place(path, line):
    return f"{path.relative_to(ROOT)}:{line}"


def rows(name):
    """The lines of a data file of this folder that say something, each with its place."""
    path = pathlib.Path(__file__).with_name(name)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.partition("#")[0].strip()
        if text:
            yield place(path, number), text


def judge(faults, advice):
    """Prints every fault and what to do; the exit code of a rule."""
    for fault in faults:
        print(fault)
    if faults:
        print(f"\n{len(faults)} broken: {advice}")
    return 1 if faults else 0

