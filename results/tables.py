#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of README.md that come from results/.

A table stands between the lines `<!-- table FILE -->` and `<!-- end of table -->`, where FILE is a
file of `thresher bench --json`, from the root of the house.

    results/tables.py            rewrites the tables
    results/tables.py --check    exit code 1 if README.md does not show what the files say
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TABLE = re.compile(r"(<!-- table (\S+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def rows_of(file):
    lines = (ROOT / file).read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def title_of(row):
    """What was computed: the problem, and what is not the default of its suite."""
    words = [f"`{row['problem']}`"]
    if row["op"] == "dual":
        words.append("dual")
    if row["activations"] != "nvfp4":
        words.append(row["activations"])
    return " ".join(words)


def peer_cells(row):
    if not row["peers"]:
        return "", ""
    name, us = min(row["peers"].items(), key=lambda peer: peer[1])
    return f"{us:.1f} ({name})", f"{us / row['median_us']:.2f}x"


def table_of(file):
    lines = [
        "| suite | problem | floor µs | Thresher µs | share of light | best peer µs | peer / Thresher |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows_of(file):
        peer, ratio = peer_cells(row)
        lines.append(
            f"| {row['suite']} | {title_of(row)} | {row['speed_of_light_us']:.1f} "
            f"| {row['median_us']:.1f} | {row['share_of_light']:.2f} | {peer} | {ratio} |"
        )
    return "\n".join(lines) + "\n"


def main():
    text = README.read_text()
    fresh = TABLE.sub(lambda found: found[1] + table_of(found[2]) + found[4], text)
    if fresh == text:
        return 0
    if "--check" in sys.argv[1:]:
        print("README.md does not show what results/ says; results/tables.py mends it")
        return 1
    README.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
