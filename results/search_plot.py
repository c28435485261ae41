#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables and the chart of docs/tuning.md from results/spaces: our search, trials at random, and Kernel Tuner's strategies.

    python3 results/search_plot.py             writes docs/search.svg, prints the tables: of the spaces that ship, and of those held out
"""
import json
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 190, 44, 34, 26
PEERS_SHOWN = 2
COLOURS = {"search": "#0b6e4f", "random": "#888888"}
PEER_COLOURS = ["#b5532a", "#3a5fa0", "#8a6d1d"]


def read(ours, theirs):
    spaces = json.loads((ROOT / "results/spaces" / ours).read_text())["spaces"]
    peers = [json.loads(line) for line in (ROOT / "results/spaces" / theirs).read_text().splitlines()]
    return spaces, {(peer["space"], peer["strategy"]): peer for peer in peers}


def found(shares):
    return sum(share >= 0.99 for share in shares) / len(shares)


def rank(shares):
    return statistics.median(shares), statistics.mean(shares)


def table(spaces, peers):
    strategies = sorted({strategy for _, strategy in peers},
                        key=lambda s: -statistics.mean(rank(peers[one["space"], s]["shares"])[1] for one in spaces
                                                       if (one["space"], s) in peers))
    print("| strategy | " + " | ".join(f"{one['space']}, {one['budget']} of {one['size']}" for one in spaces) + " |")
    print("| --- |" + " ---: |" * len(spaces))

    def cell(shares, runs=100):
        note = "" if len(shares) == runs else f" ({len(shares)} runs)"
        return f"{statistics.median(shares):.3f}, {statistics.mean(shares):.3f}, {100 * found(shares):.0f} %{note}"

    for name, key in (("**`thresher tune`**", "search"), ("at random", "random")):
        print(f"| {name} | " + " | ".join(cell(one[key]["shares"]) for one in spaces) + " |")
    for strategy in strategies:
        cells = [cell(peers[one["space"], strategy]["shares"]) if (one["space"], strategy) in peers else "" for one in spaces]
        print(f"| Kernel Tuner `{strategy}` | " + " | ".join(cells) + " |")
    return strategies


def polyline(values, x, y, colour, budget, low):
    points = []
    for trials, share in values:
        height = (max(share, low) - low) / (1 - low)
        points.append(f"{x + WIDTH * trials / budget:.1f},{y + HEIGHT * (1 - height):.1f}")
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.8"/>'


def chart(spaces, peers, strategies):
    low = 0.4
    total = LEFT + len(spaces) * (WIDTH + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{TOP + HEIGHT + 74}" '
             f'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>']
    shown = [s for s in strategies if all("curve" in peers.get((one["space"], s), {}) for one in spaces)][:PEERS_SHOWN]
    for index, one in enumerate(spaces):
        x, y = LEFT + index * (WIDTH + GAP), TOP
        parts.append(f'<text x="{x}" y="{y - 12}" font-size="12">{one["space"]}: median of {one["runs"]} runs</text>')
        for share in (0.4, 0.6, 0.8, 1.0):
            line = y + HEIGHT * (1 - (share - low) / (1 - low))
            parts.append(f'<line x1="{x}" x2="{x + WIDTH}" y1="{line:.1f}" y2="{line:.1f}" stroke="#ddd"/>')
            if index == 0:
                parts.append(f'<text x="{x - 6}" y="{line + 4:.1f}" text-anchor="end">{share:.1f}</text>')
        for trials in (0, one["budget"] // 2, one["budget"]):
            parts.append(f'<text x="{x + WIDTH * trials / one["budget"]:.1f}" y="{y + HEIGHT + 16}" '
                         f'text-anchor="middle">{trials}</text>')
        for number, strategy in enumerate(shown):
            curve = peers[one["space"], strategy]["curve"]
            values = [(one["budget"] * (i + 1) / len(curve), share) for i, share in enumerate(curve)]
            parts.append(polyline(values, x, y, PEER_COLOURS[number], one["budget"], low))
        for key in ("random", "search"):
            values = list(enumerate(one[key]["median_so_far"], 1))
            parts.append(polyline(values, x, y, COLOURS[key], one["budget"], low))
    legend = [("thresher tune", COLOURS["search"]), ("at random", COLOURS["random"])]
    legend += [(f"Kernel Tuner {s}", PEER_COLOURS[i]) for i, s in enumerate(shown)]
    x = LEFT
    for name, colour in legend:
        parts.append(f'<rect x="{x}" y="{TOP + HEIGHT + 42}" width="18" height="4" fill="{colour}"/>'
                     f'<text x="{x + 24}" y="{TOP + HEIGHT + 48}">{name}</text>')
        x += 60 + 7 * len(name)
    parts.append(f'<text x="{LEFT}" y="{TOP + HEIGHT + 32}">trials (5 % of the space); share of the optimum</text></svg>')
    (ROOT / "docs/search.svg").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    SPACES, PEERS = read("search.json", "peers.jsonl")
    chart(SPACES, PEERS, table(SPACES, PEERS))
    print()
    table(*read("held_out.json", "held_out_peers.jsonl"))
