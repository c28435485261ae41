#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of README.md that come from results/.

A table stands between the lines `<!-- table FILE -->` and `<!-- end of table -->`, where FILE is
made by `thresher bench --json` or by rematch.py, from the root of the house. A file that times a
problem more than once is about the engine's choice: the first line of a problem is what it chose,
the others are what it could have chosen.

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


def bench_table(rows):
    lines = [
        "| suite | problem | floor µs | Thresher µs | share of light | best peer µs | peer / Thresher |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        peer, ratio = peer_cells(row)
        lines.append(
            f"| {row['suite']} | {title_of(row)} | {row['speed_of_light_us']:.1f} "
            f"| {row['median_us']:.1f} | {row['share_of_light']:.2f} | {peer} | {ratio} |"
        )
    return "\n".join(lines) + "\n"


def choice_table(rows):
    lines = [
        "| problem | choice | µs | best shape | µs | choice / best |",
        "| --- | --- | ---: | --- | ---: | ---: |",
    ]
    for problem in dict.fromkeys(row["problem"] for row in rows):
        chosen, *tried = [row for row in rows if row["problem"] == problem]
        best = min(tried, key=lambda row: row["median_us"])
        # Timed among the others, if it is one of them: seconds apart, clocks differ.
        same = [row for row in tried if row["variant"] == chosen["variant"]]
        us = (same or [chosen])[0]["median_us"]
        lines.append(
            f"| `{problem}` | {shape_of(chosen)} | {us:.1f} | {shape_of(best)} "
            f"| {best['median_us']:.1f} | {us / best['median_us']:.3f} |"
        )
    return "\n".join(lines) + "\n"


def shape_of(row):
    knobs = dict(knob.split("=") for knob in row["variant"].partition(":")[2].split(","))
    shape = f"{knobs.get('tokens', 128)} tokens × {knobs.get('rows', 128)} rows"
    return shape + (", balanced" if "schedule" in knobs else "")


def match_cell(match):
    estimate = match["verdict"]["estimate"]
    if estimate is None:
        return "no heat in time"
    speedup = estimate["speedup"]
    verdict = match["verdict"]["kind"]
    return f"{speedup['value']:.3f}x ({speedup['low']:.3f} to {speedup['high']:.3f}), {verdict}"


def rematch_table(rows):
    lines = [
        "| contestant | the seeds claimed | reported | against the plain kernel | against Thresher's choice |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in dict.fromkeys(row["contestant"] for row in rows):
        own = {row["against"]: row for row in rows if row["contestant"] == name}
        first = next(iter(own.values()))
        cells = [match_cell(own[a]) if a in own else "–" for a in ("plain", "champion")]
        lines.append(
            f"| `{name}` | {first['claim'] or '–'} | {first['reported'] or '–'} "
            f"| {cells[0]} | {cells[1]} |"
        )
    return "\n".join(lines) + "\n"


def table_of(file):
    rows = rows_of(file)
    if "contestant" in rows[0]:
        return rematch_table(rows)
    once = len({(row["problem"], row["op"]) for row in rows}) == len(rows)
    return bench_table(rows) if once else choice_table(rows)


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
