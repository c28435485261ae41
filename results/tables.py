#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of README.md, results/README.md, docs/hopper.md, docs/moe.md, docs/python.md and docs/tuning.md that come from the files in results/.

A table stands between the lines `<!-- table FILE -->` and `<!-- end of table -->`, or `<!-- table FILE SUITE... -->` for
some of its suites (of layers: `products` and `goals` for what they say of them, `cpu` for shares of a CPU's floor), where FILE is made by `thresher bench --json`,
by choice.py, by rematch.py, by bench/generation.py, by `thresher tune` or by `thresher ledger export`, from the root of the house. Where FILE is the
folder results/h200, it is the table of goals.

    results/tables.py            rewrites the tables
    results/tables.py --check    exit code 1 if a document does not show what the files say
"""
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = (ROOT / "README.md", ROOT / "results" / "README.md",
             *(ROOT / "docs" / name for name in ("hopper.md", "moe.md", "python.md", "tuning.md")))
TABLE = re.compile(r"(<!-- table (\S+)((?: \w+)*) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def rows_of(file):
    lines = (ROOT / file).read_text().splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def table(head, rows):
    """Markdown; columns whose title begins with > are aligned to the right."""
    rule = ["---:" if title.startswith(">") else "---" for title in head]
    lines = [[title.lstrip("> ") for title in head], rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def title_of(row):
    """What was computed: the problem, and what is not the default of its suite."""
    words = [f"`{row['problem']}`"]
    if row["op"] == "dual":
        words.append("dual")
    if row["activations"] != "nvfp4":
        words.append(row["activations"])
    return " ".join(words)


def us_text(us):
    return f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def peer_cells(row):
    if not row["peers"]:
        return "–", "–"
    name, us = min(row["peers"].items(), key=lambda peer: peer[1])
    return f"{us_text(us)} ({name})", f"{us / row['median_us']:.2f}x"


def bench_table(rows):
    is_cpu = rows[0]["backend"] == "cpu"
    head = ["suite", "problem", *(["> threads"] if is_cpu else []), "> floor µs", "> Thresher µs",
            "> share of light", "> best peer µs", "> peer / Thresher"]
    return table(head, ([row["suite"], title_of(row), *([str(row["threads"])] if is_cpu else []),
                         us_text(row["speed_of_light_us"]), us_text(row["median_us"]),
                         f"{row['share_of_light']:.2f}", *peer_cells(row)] for row in rows))


def surroundings_table(file):
    """The same calls among foreign kernels, back to back and alone: bench.jsonl, _back_to_back, _alone."""
    stem = file.replace("_alone.jsonl", "")
    timings = [{(row["suite"], title_of(row)): row["median_us"] for row in rows_of(f"{stem}{ending}.jsonl")}
               for ending in ("", "_back_to_back", "_alone")]
    head = ["suite", "problem", "> among foreign kernels µs", "> back to back µs", "> alone µs"]
    return table(head, ([*key, *(us_text(timing[key]) for timing in timings)]
                        for key in timings[2] if all(key in timing for timing in timings)))


def choice_ratios(rows):
    """By problem, the choice's time over the best shape's. The first line of a problem is what the engine chose, the others
    what it could have chosen."""
    ratios = {}
    for problem in dict.fromkeys(row["problem"] for row in rows):
        chosen, *tried = [row for row in rows if row["problem"] == problem]
        best = min(row["median_us"] for row in tried)
        # Timed among the others, if it is one of them: seconds apart, clocks differ.
        same = [row for row in tried if row["variant"] == chosen["variant"]]
        ratios[problem] = (same or [chosen])[0]["median_us"] / best
    return ratios


def shape_count(rows):
    return max(sum(row["problem"] == problem for row in rows) - 1 for problem in {row["problem"] for row in rows})


def choice_sentence(rows):
    ratios = choice_ratios(rows)
    worse = [f"`{problem}` ({ratio:.3f} of its time)" for problem, ratio in ratios.items() if ratio > 1]
    others = f"; not on {' and '.join(worse)}" if worse else ""
    return (f"The choice is the best of {shape_count(rows)} shapes on {len(ratios) - len(worse)} of "
            f"{len(ratios)} problems{others}.\n")


def ratios_of(rows, others):
    """Times over those of the same problems in other records, where both are of one variant."""
    times = {(row["suite"], row["problem"], row["variant"]): row["median_us"] for row in others}
    keys = [(row["median_us"], (row["suite"], row["problem"], row["variant"])) for row in rows]
    return [us / times[key] for us, key in keys if key in times]


def range_text(values):
    return f"{min(values):.2f} to {max(values):.2f}"


def met(is_met):
    return "yes" if is_met else "no"


def ahead_of(rows, of_peer=lambda name: True):
    """By suite, how many times as long the fastest of those peers takes, where there is one."""
    ahead = {}
    for row in rows:
        times = [us for name, us in row["peers"].items() if of_peer(name)]
        if times:
            ahead.setdefault(row["suite"], []).append(min(times) / row["median_us"])
    return ahead


# The libraries of peers' names, as they are called.
LIBRARIES = {"cublas": "cuBLAS", "torch": "torch", "humming": "Humming"}


def peers_goal(rows, goal):
    ahead = ahead_of(rows)
    if not ahead:
        return [goal, "not in the records", "not known"]
    present = {name.partition("_")[0] for row in rows for name in row["peers"]}
    others = [LIBRARIES[name] for name in LIBRARIES if name in present - {"cublas"}]
    texts = [f"{suite} {sum(ratio > 1 for ratio in ratios)} of {len(ratios)} (least {min(ratios):.2f}x)"
             for suite, ratios in ahead.items()]
    return [goal, f"than {', '.join([*others, 'cuBLAS on ready 16-bit weights'])}: {', '.join(texts)}",
            met(min(min(ratios) for ratios in ahead.values()) > 1)]


def humming_goal(rows):
    goal = "1.25x of Humming on `seeds` and `decode`, bf16 activations"
    ahead = {suite: ratios for suite, ratios in ahead_of(rows, lambda name: name.startswith("humming")).items()
             if suite in ("seeds", "decode")}
    if not ahead:
        return [goal, "not in the records", "not known"]
    return [goal, "; ".join(f"`{suite}` {shares_text(ratios)}" for suite, ratios in ahead.items()),
            met(min(min(ratios) for ratios in ahead.values()) >= 1.25)]


def shares(rows, suite):
    return [row["share_of_light"] for row in rows if row["suite"] == suite]


def shares_text(values):
    return " / ".join(f"{value:.2f}" for value in values)


def geomean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def seeds_goal(bench, back_to_back):
    foreign, own = shares(bench, "seeds"), shares(back_to_back, "seeds")
    return ["`seeds` back to back: geomean 0.75 of the floor's speed, none under 0.65",
            f"geomean {geomean(own):.2f}: {shares_text(own)}; among foreign kernels {geomean(foreign):.2f}: {shares_text(foreign)}",
            met(geomean(own) >= 0.75 and min(own) >= 0.65)]


def models_goal(bench):
    own = shares(bench, "models")
    goal = "`models`, 20 to 100 tokens per expert: geomean 0.60"
    return [goal, f"geomean {geomean(own):.2f}", met(geomean(own) >= 0.6)] if own else [goal, "not measured yet", "not known"]


def decode_goal(bench, back_to_back):
    foreign, own = shares(bench, "decode"), shares(back_to_back, "decode")
    return ["`decode`: 0.85 of the floor's speed on the large three, 0.70 on the small one",
            f"back to back {shares_text(own)}; among foreign kernels {shares_text(foreign)}",
            met(min(own[:3]) >= 0.85 and own[3] >= 0.7)]


def goals_table(folder):
    """What the kernels were to reach, and what the records say of it."""
    bench, back_to_back, choice, sizes, wide, w4a16 = (
        rows_of(f"{folder}/{name}.jsonl")
        for name in ("bench", "bench_back_to_back", "choice", "device_sizes", "dual_wide", "w4a16"))
    # Since torch and Humming can be timed beside us.
    peers_file = f"{folder}/w4a16_peers.jsonl"
    w4a16_peers = rows_of(peers_file) if (ROOT / peers_file).exists() else []
    of_bf16, of_sizes, of_choice = ratios_of(w4a16, sizes), ratios_of(sizes, wide), max(choice_ratios(choice).values())
    return table(["goal", "measured", "met"], [
        peers_goal(bench, "faster than every peer, NVFP4 activations"),
        peers_goal(w4a16_peers, "faster than every peer, bf16 activations"), humming_goal(w4a16_peers),
        seeds_goal(bench, back_to_back), models_goal(bench), decode_goal(bench, back_to_back),
        ["bf16 activations within 3 % of NVFP4", f"{range_text(of_bf16)} of its time with sizes on the device", met(max(of_bf16) <= 1.03)],
        ["sizes on the device within 2 % of sizes on the host",
         f"`dual`: {range_text(of_sizes)}; of others no baseline is in the records", f"{met(max(of_sizes) <= 1.02)} on `dual`"],
        ["the choice within 3 % of the best", f"{(of_choice - 1) * 100:.1f} % behind the best of {shape_count(choice)} shapes at most, "
         "before there were 192 rows and 104 tokens", f"{met(of_choice <= 1.03)} then"],
    ])


def speedup_text(speedup):
    return f"{speedup['value']:.3f}x ({speedup['low']:.3f} to {speedup['high']:.3f})"


def match_cell(match):
    estimate = match["verdict"]["estimate"]
    if estimate is None:
        return "no heat in time"
    return f"{speedup_text(estimate['speedup'])}, {match['verdict']['kind']}"


def rematch_table(rows):
    head = ["contestant", "the seeds claimed", "reported", "against the plain kernel",
            "against Thresher's choice"]
    lines = []
    for name in dict.fromkeys(row["contestant"] for row in rows):
        own = {row["against"]: row for row in rows if row["contestant"] == name}
        first = next(iter(own.values()))
        cells = [match_cell(own[a]) if a in own else "–" for a in ("plain", "champion")]
        lines.append([f"`{name}`", first["claim"] or "–", first["reported"] or "–", *cells])
    return table(head, lines)


def claim_text(claim):
    low, high = f"{claim['low']:.3g}x", f"{claim['high']:.3g}x"
    return low if low == high else f"{low} to {high}"


def season_table(entries):
    """A row per verdict that rests on more than one round, by the verdict's id in the ledger."""
    pitches = {entry["data"]["name"]: entry["data"] for entry in entries if entry["kind"] == "pitch"}
    lines = []
    for entry in entries:
        data = entry["data"]
        if entry["kind"] != "verdict" or data["speedup"] is None or data["speedup"]["low"] == 0:
            continue
        pitch = pitches[data["pitch"]]
        why = "" if data["reason"].startswith("geomean") else f": {data['reason'].split(';')[0]}"
        lines.append([str(entry["id"]), pitch["title"] + (", a control" if data["control"] else ""),
                      claim_text(pitch["claim"]), speedup_text(data["speedup"]),
                      data["kind"] + why])
    return table(["> id", "pitch", "claimed", "measured (95 %)", "verdict"], lines)


def generation_table(rows):
    """Memory and tokens per second of a model, by what its experts are."""
    batches = [key for key in rows[0] if key.startswith("decode_")]
    head = ["experts", "> memory GB", "> prefill, tokens/s",
            *(f"> decode, tokens/s, batch {key.rpartition('_')[2]}" for key in batches)]
    return table(head, ([row["experts"].replace("nvfp4", "NVFP4, W4A16"), f"{row['memory_gb']:.2f}",
                         f"{row['prefill_tokens_per_s']:,}", *(f"{row[key]:,.0f}" for key in batches)] for row in rows))


def better_peers(file):
    """The better peer's time for each layer, routing and number of tokens."""
    peers = {}
    for row in rows_of(str(pathlib.Path(file).parent / "layer_peers.jsonl")):
        key = row["layer"], row["routing"], row["tokens"]
        peers[key] = min(row["median_us"], peers.get(key, row["median_us"]))
    return peers


def layers_table(file):
    """A row per layer and routing, a column per number of tokens."""
    rows = rows_of(file)
    peers = better_peers(file)
    cells = {}
    for row in rows:
        key = row["layer"], row["routing"], row["tokens"]
        ratio = f", {peers[key] / row['median_us']:.2f}x" if key in peers else ""
        cells[key] = f"{us_text(row['median_us'])} ({row['share_of_light']:.2f}{ratio})"
    return layer_rows(cells)


def bytes_over_products(row):
    """The least that a layer takes of its products: gather writes rows and combine reads them, x and out pass once."""
    rows_bytes = row["rows"] * row["hidden"] * (2 + 4)
    tokens_bytes = row["tokens"] * row["hidden"] * (2 + 2)
    microseconds = (rows_bytes + tokens_bytes) / row["ceilings"]["read_gb_per_s"] * 1e-3
    return 1 + microseconds / row["products_us"]


def layer_products_table(file):
    return layer_rows({(row["layer"], row["routing"], row["tokens"]):
                       f"{row['over_products']:.2f} ({bytes_over_products(row):.2f})"
                       for row in rows_of(file) if row["products_us"] > 0})


def layer_goals_table(file):
    """What was asked of a layer, in how many places it is reached, and the others."""
    rows = rows_of(file)
    peers = better_peers(file)

    def goal(what, asked, reached, value):
        missed = [row for row in asked if not reached(row)]
        layers = {row["layer"]: [] for row in missed}
        for row in missed:
            layers[row["layer"]].append(f"{row['tokens']} ({value(row)})")
        places = "; ".join(f"`{layer}` at {', '.join(cells)}" for layer, cells in layers.items())
        return [what, f"{len(asked) - len(missed)} of {len(asked)}", places or "–"]

    def speedup(row):
        return peers[row["layer"], row["routing"], row["tokens"]] / row["median_us"]

    def of(layer, tokens):
        return [row for row in rows if (row["layer"], row["tokens"]) == (layer, tokens)]

    def peer_goal(what, factor, asked):
        return goal(what, asked, lambda row: speedup(row) >= factor, lambda row: f"{speedup(row):.3f}x")

    return table(["goal", "> reached", "not reached at T ="], [
        goal("`qwen3.6-35b-a3b`, T = 1: at most 20 µs", of("qwen3.6-35b-a3b", 1),
             lambda row: row["median_us"] <= 20, lambda row: us_text(row["median_us"])),
        goal("`qwen3-235b-a22b`, T = 64: at least 0.70 of the floor", of("qwen3-235b-a22b", 64),
             lambda row: row["share_of_light"] >= 0.7, lambda row: f"{row['share_of_light']:.3f}"),
        peer_goal("T ≤ 256: at least 1.3x the better peer", 1.3, [row for row in rows if row["tokens"] <= 256]),
        peer_goal("T > 256: at least 1.15x the better peer", 1.15, [row for row in rows if row["tokens"] > 256]),
        goal("T ≥ 16: at most 1.15 of its own products", [row for row in rows if row["tokens"] >= 16],
             lambda row: row["over_products"] <= 1.15,
             lambda row: f"{row['over_products']:.2f}" +
             (f", bytes alone {bytes_over_products(row):.2f}" if bytes_over_products(row) > 1.15 else ""))])


def layer_peers_table(file):
    cells = {}
    for row in rows_of(file):
        key = row["layer"], row["routing"], row["tokens"]
        cells.setdefault(key, {})[row["peer"]] = us_text(row["median_us"])
    return layer_rows({key: f"{peer['humming']} / {peer['marlin']}" for key, peer in cells.items()})


def layer_rows(cells):
    tokens = sorted({key[2] for key in cells})
    lines = [[f"`{layer}`", routing, *(cells.get((layer, routing, t), "–") for t in tokens)]
             for layer, routing in dict.fromkeys(key[:2] for key in cells)]
    return table(["layer", "routing", *(f"> T = {t}" for t in tokens)], lines)


def layer_shares_table(file):
    """Of a CPU: the share of the floor, and the interval of the median in milliseconds."""
    rows = rows_of(file)
    tokens = sorted({row["tokens"] for row in rows})
    lines = {}
    for row in rows:
        key = row["layer"], row["experts"], {"bf16": "W4A16", "nvfp4": "W4A4"}[row["activations"]], row["routing"]
        low, high = (f"{row[end] / 1e3:.3g}" for end in ("low_us", "high_us"))
        lines.setdefault(key, {})[row["tokens"]] = f"{row['share_of_light']:.2f} ({low} to {high})"
    return table(["layer", "> experts", "activations", "routing", *(f"> T = {t}" for t in tokens)],
                 ([f"`{layer}`", str(experts), activations, routing, *(cells.get(t, "–") for t in tokens)]
                  for (layer, experts, activations, routing), cells in lines.items()))


def layer_host_table(rows):
    """What a call costs beside its work: a row per thing, program and threads, the best of all rounds."""
    tokens = sorted({row["tokens"] for row in rows})
    best = {}
    for row in rows:
        for what in ("host_us", "sort_us"):
            key = what, row["program"], row["threads"], row["tokens"]
            best[key] = min(row[what], best.get(key, row[what]))
    names = {"host_us": "host", "sort_us": "ids"}

    def text(us):
        return f"{us:.2f}" if us < 1 else f"{us:.1f}" if us < 100 else f"{us:.0f}"

    return table(["µs of", "> threads", "program", *(f"> T = {t}" for t in tokens)],
                 ([names[what], str(threads), program, *(text(best[what, program, threads, t]) for t in tokens)]
                  for what in names for threads in sorted({row["threads"] for row in rows})
                  for program in dict.fromkeys(row["program"] for row in rows)))


def llama_layers_table(rows):
    """How many times faster ours is: a row per peer and activations; first the share of the DRAM's speed."""
    tokens = sorted({row["tokens"] for row in rows})
    names = {"bf16": "W4A16", "nvfp4": "W4A4"}
    cells = {(row["peer"], row["activations"], row["tokens"]): row for row in rows}

    def line(title, activations, text):
        return [title, names[activations], *(text(activations, t) for t in tokens)]

    def share(activations, t):
        row = next(row for row in rows if (row["activations"], row["tokens"]) == (activations, t))
        return f"{min(row['dram_shares']):.2f} to {max(row['dram_shares']):.2f}"

    lines = [line("weights read, of DRAM's speed", activations, share) for activations in names]
    for peer in dict.fromkeys(row["peer"] for row in rows):
        def ratio(activations, t):
            row = cells[peer, activations, t]
            return f"{row['ratio']:.2f}x ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
        lines += [line(peer, activations, ratio) for activations in reversed(names)]
    return table(["beside", "ours", *(f"> T = {t}" for t in tokens)], lines)


def variants_table(rows):
    """A row per problem and variant: problems as in the file, each with its fastest first."""
    places = list(dict.fromkeys(row["problem"] for row in rows))
    rows = sorted(rows, key=lambda row: (places.index(row["problem"]), row["median_us"]))
    return table(["suite", "problem", "> floor µs", "> µs", "variant"],
                 ([row["suite"], title_of(row), us_text(row["speed_of_light_us"]),
                   us_text(row["median_us"]), f"`{row['variant']}`"] for row in rows))


def plan_table(file):
    """A row per problem of a plan: what was found, and whether the referee took it."""
    lines = []
    for entry in (entry for plan in json.loads((ROOT / file).read_text())["machines"] for entry in plan["entries"]):
        story = entry["story"]
        found = speedup_text({**entry, "value": entry["speedup"]}) if entry["speedup"] != 1 else ""
        taken = f"takes `{entry['variant'].partition(':')[2]}`" if entry["better"] else f"the choice: {entry['reason']}"
        lines.append([f"{entry['op']}, {entry['groups']} × {entry['n']} × {entry['k']}, {entry['tokens']} rows",
                      f"{story['space']:,}", str(story["tried"]), f"{us_text(story['choice_us'])}", found, taken])
    return table(["problem: groups × n × k", "> variants", "> tried", "> the engine's choice µs",
                  "> found, over the choice (95 %)", "plan"], lines)


def sham_sentence(rows):
    """Of tunings of a space whose variants are all the engine's choice in truth."""
    asked = [row for row in rows if not row["reason"].startswith("no variant")]
    ruled = [row for row in asked if row["reason"].startswith(("accepted", "rejected"))]
    return (f"In {sum(not row['better'] for row in rows)} of {len(rows)} runs the choice stayed. {sum(row['tried'] for row in rows) // len(rows)} variants "
            f"raced in a run on average; in {len(asked)} runs one of them was ahead at the end, and the referee was asked: it accepted "
            f"{sum(row['better'] for row in rows)}, rejected {len(ruled) - sum(row['better'] for row in rows)}, "
            f"and left {len(asked) - len(ruled)} unclear.\n")


def table_of(file, suites):
    if (ROOT / file).is_dir():
        return goals_table(file)
    if file.endswith("/sham.jsonl"):
        return sham_sentence(rows_of(file))
    if pathlib.Path(file).parent.name == "tune":
        return plan_table(file)
    if file.endswith("/ampere.jsonl"):
        return variants_table(rows_of(file))
    if file.endswith("/layer_peers.jsonl"):
        return layer_peers_table(file)
    if file.endswith("/layers.jsonl"):
        kinds = {"products": layer_products_table, "goals": layer_goals_table, "cpu": layer_shares_table}
        return kinds.get("".join(suites), layers_table)(file)
    if file.endswith("/layer_host.jsonl"):
        return layer_host_table(rows_of(file))
    if file.endswith("/llama_layers.jsonl"):
        return llama_layers_table(rows_of(file))
    if file.endswith("_alone.jsonl"):
        return surroundings_table(file)
    rows = [row for row in rows_of(file) if not suites or row.get("suite") in suites]
    if "hash" in rows[0]:
        return season_table(rows)
    if "contestant" in rows[0]:
        return rematch_table(rows)
    if "prefill_tokens_per_s" in rows[0]:
        return generation_table(rows)
    keys = {(row["problem"], row["op"], row["threads"]) for row in rows}
    return bench_table(rows) if len(keys) == len(rows) else choice_sentence(rows)


def main():
    stale = []
    for document in DOCUMENTS:
        text = document.read_text()
        fresh = TABLE.sub(lambda found: found[1] + table_of(found[2], found[3].split()) + found[5], text)
        if fresh != text:
            stale.append(document)
            if "--check" not in sys.argv[1:]:
                document.write_text(fresh)
    if not stale or "--check" not in sys.argv[1:]:
        return 0
    for document in stale:
        print(f"{document.relative_to(ROOT)} does not show what the files in results/ say")
    print("results/tables.py mends it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
