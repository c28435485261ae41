#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays the report of made-up ledgers out in a headless Chromium, from phone to desktop, light and dark, and on paper.

usage: browser_check.py PATH_TO_write_sample_report
       browser_check.py --picture PAGE.html PICTURE.png [WIDTH HEIGHT]    docs/season.png is made so
Exit code 0: nothing is off-screen, no labels meet, colours can be told from their ground, folds open by keyboard, the
console is silent, nothing hostile ran, and the numbers are the ledger's. 1: what is wrong is printed. 77: no Chromium.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

from browser import Browser, find_chromium

WIDTHS = (390, 500, 720, 900, 1400)  # the page promises from 500 on; a phone must do too; 720 is a sheet of paper
HEIGHT_MAX = 4000  # of nine pitches, nothing unfolded
ROW_HEIGHT_MAX = 200  # of the scoreboard: no column may be squeezed until its text stands on end
CONTRAST_MIN = 4.5  # WCAG AA for text
PRINTED_PAGES_MAX = 5

# What only a browser knows. Boxes are left, top, right, bottom.
LAYOUT = """(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const box = (element) => { const r = element.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const shown = (element) => element.checkVisibility() && element.getClientRects().length > 0 &&
    element.getBoundingClientRect().width > 1;
  // The titles of columns that stand beside the values instead.
  const only_spoken = (element) => element.matches('th') && getComputedStyle(element.closest('thead')).position === 'absolute';
  const text = (element) => element.textContent.trim();
  return {
    width: document.documentElement.scrollWidth, window: innerWidth, height: document.documentElement.scrollHeight,
    verdicts: all('.scoreboard td.verdict .badge').map(box), rows: all('.scoreboard tbody tr').map(box),
    cells: all('td, th, dd, summary, .plot-label, .plot-value, code')
      .filter((element) => shown(element) && !only_spoken(element))
      .map((element) => [text(element).slice(0, 30), ...box(element)]),
    plots: all('figure.plot').filter(shown).map((figure) =>
      [...figure.querySelectorAll('.plot-label, .plot-value, .tick, .legend-item')].filter(text)
        .map((element) => [text(element), ...box(element)])),
    ones: all('figure.plot .plot-row line.one').filter((line) => line.checkVisibility()).length,
    tracks: all('figure.plot .plot-row:not(.plot-axis) > svg').filter(shown)
      .map((svg) => [!!svg.getAttribute('aria-label'), ...box(svg)]),
    charts: all('figure.chart').filter(shown).map((figure) => [box(figure.querySelector('svg[role]')),
      ...[...figure.querySelectorAll('.chart-y span, .chart-x span, .legend-item')].map(box)]),
    blank: all('tbody tr').filter((row) => shown(row) && !row.innerText.trim()).length,
    open: all('details[open]').length,
  };
})()"""
UNFOLD = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
FOLD = "document.querySelectorAll('details').forEach((fold) => { fold.open = false; })"
NUMBERS = "[...document.querySelectorAll('data')].map((data) => data.value)"
# The least contrast of a text and what lies behind it, and where.
CONTRAST = """(() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => { const [r, g, b] = parse(colour).map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (element) => { for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (parse(colour).length === 3 || parse(colour)[3] > 0) return colour; } return 'rgb(255, 255, 255)'; };
  let worst = [99, ''];
  for (const element of document.querySelectorAll('h1, h2, h3, p, td, th, small, .badge, summary, .tick, .legend-item')) {
    const style = getComputedStyle(element);
    const pair = [light(element.matches('.tick') ? style.fill : style.color), light(ground(element))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < worst[0]) worst = [contrast, element.outerHTML.slice(0, 60)];
  }
  return worst;
})()"""


def numbers_of(entry):
    """The numbers of an entry that must stand on the page."""
    data = entry["data"]
    if entry["kind"] == "verdict":
        return [(data["speedup"] or {}).get(name) for name in ("value", "low", "high")]
    if entry["kind"] == "pitch":
        return [data["claim"][name] for name in ("value", "low", "high")]
    if entry["kind"] == "credibility":
        return list(data["weights"].values())
    if entry["kind"] == "ballot" and data["forecast"]["log_speedup_median"] is not None:
        return [math.exp(data["forecast"]["log_speedup_median"]), data["forecast"]["p_works"]]
    if entry["kind"] == "match":
        problems = data["verdict"]["estimate"]["problems"]
        return [problem["speedup"][name] for problem in problems for name in ("value", "low", "high")]
    return []


def missing_numbers(browser, entries):
    shown = sorted(float(number) for number in browser.evaluate(NUMBERS))
    for entry in entries:
        for number in numbers_of(entry):
            # An interval that is open at both ends is said to be none.
            if isinstance(number, float) and number > 0 and not any(math.isclose(number, other, rel_tol=1e-12) for other in shown):
                yield f"entry {entry['id']} ({entry['kind']}): no {number}"


def overlaps(boxes):
    """Pairs of labels of one plot that meet."""
    for i, (one, left, top, right, bottom) in enumerate(boxes):
        for other, left2, top2, right2, bottom2 in boxes[i + 1:]:
            if min(right, right2) - max(left, left2) > 0.5 and min(bottom, bottom2) - max(top, top2) > 0.5:
                yield f"'{one}' and '{other}' overlap"


def layout_faults(seen):
    """Of a page in one width, folded or not."""
    if seen["width"] > seen["window"]:
        yield f"the page is {seen['width']} px wide in {seen['window']} px"
    for words, left, _, right, _ in seen["cells"]:
        if left < -0.5 or right > seen["window"] + 0.5:
            yield f"'{words}' is off-screen: {left:.0f} to {right:.0f} px of {seen['window']}"
    for left, _, right, _ in seen["verdicts"]:
        if right - left < 20 or left < 0 or right > seen["window"]:
            yield f"a verdict lies at {left:.0f} to {right:.0f} px of {seen['window']}"
    if len(seen["verdicts"]) != len(seen["rows"]):
        yield f"{len(seen['rows'])} rows of the scoreboard, {len(seen['verdicts'])} verdicts"
    for _, top, _, bottom in seen["rows"]:
        if seen["window"] >= 500 and bottom - top > ROW_HEIGHT_MAX:
            yield f"a row of the scoreboard is {bottom - top:.0f} px high"
    for boxes in seen["plots"]:
        yield from overlaps(boxes)
    if seen["ones"] != len(seen["tracks"]):
        yield f"{len(seen['tracks'])} rows of plots, {seen['ones']} lines at 1"
    for is_labelled, left, _, right, _ in seen["tracks"]:
        if not is_labelled or right - left < 150:
            yield f"a row of a plot is {right - left:.0f} px wide, or says nothing aloud"
    for boxes in seen["charts"]:
        if boxes[0][2] - boxes[0][0] < 150 or boxes[0][3] - boxes[0][1] < 80:
            yield f"the lines of a chart have {boxes[0]} px"
        if any(left < -0.5 or right > seen["window"] + 0.5 for left, _, right, _ in boxes):
            yield f"a chart is off-screen: {boxes}"
        yield from overlaps([[f"number {i}", *box] for i, box in enumerate(boxes)])
    if seen["blank"]:
        yield f"{seen['blank']} rows are blank"


def width_faults(browser, width, height_max):
    browser.resize(width)
    seen = browser.evaluate(LAYOUT)
    yield from (f"{width} px: {fault}" for fault in layout_faults(seen))
    if seen["open"]:
        yield f"{width} px: {seen['open']} folds are open from the start"
    if not seen["plots"]:
        yield f"{width} px: there is no chart"
    if width >= 500 and seen["height"] > height_max:
        yield f"{width} px: the page is {seen['height']} px high; {height_max} are allowed"
    browser.evaluate(UNFOLD)
    yield from (f"{width} px, unfolded: {fault}" for fault in layout_faults(browser.evaluate(LAYOUT)))
    browser.evaluate(FOLD)


def contrast_faults(browser):
    for is_dark in (False, True):
        browser.set_dark(is_dark)
        contrast, where = browser.evaluate(CONTRAST)
        if contrast < CONTRAST_MIN:
            yield f"{'dark' if is_dark else 'light'}: contrast {contrast:.2f} of {where}"
    if browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)":
        yield "dark is not dark"
    browser.set_dark(False)


def keyboard_faults(browser):
    browser.evaluate("document.querySelector('section > details > summary').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    if not browser.evaluate("document.querySelector('section > details').open"):
        yield "Enter does not open a fold"
    browser.evaluate(FOLD)


def print_faults(browser):
    pages = len(re.findall(rb"/Type\s*/Page[^s]", browser.pdf()))
    if not 1 <= pages <= PRINTED_PAGES_MAX:
        yield f"{pages} pages on paper; {PRINTED_PAGES_MAX} are allowed"


def winner_faults(browser, has_won):
    text = browser.evaluate("document.querySelector('main').textContent")
    for word in ("winner", "new champion"):
        if not has_won and word in text.lower():
            yield f"'{word}', and nothing won"
    if has_won and "new champion" not in text:
        yield "nobody is said to be the new champion"


def page_faults(browser, folder, name, has_won, height_max=HEIGHT_MAX):
    browser.open((folder / f"{name}.html").as_uri())
    for width in WIDTHS:
        yield from width_faults(browser, width, height_max)
    yield from winner_faults(browser, has_won)
    yield from contrast_faults(browser)
    yield from keyboard_faults(browser)
    entries = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
    yield from missing_numbers(browser, entries)


def check(program):
    with tempfile.TemporaryDirectory() as name, Browser() as browser:
        folder = pathlib.Path(name)
        subprocess.run([program, name], check=True)
        faults = [f"nine: {fault}" for fault in page_faults(browser, folder, "nine", has_won=True)]
        faults += [f"nine: {fault}" for fault in print_faults(browser)]
        faults += [f"lost: {fault}" for fault in page_faults(browser, folder, "lost", has_won=False)]
        # Two seasons on one page, one of them reported, one with hostile texts, plans and charts beside them.
        faults += [f"sample: {fault}" for fault in page_faults(browser, folder, "sample", True, 2 * HEIGHT_MAX)]
        if len(browser.evaluate(LAYOUT)["charts"]) != 4:
            faults.append("sample: the charts of the search are not there")
        faults += [f"console: {line}" for line in browser.console]
    print("\n".join(faults) or f"three pages in {len(WIDTHS)} widths, light, dark and on paper: as they should be")
    return 1 if faults else 0


def take_picture(page, picture, width=1200, height=1120):
    with Browser() as browser:
        browser.resize(int(width), int(height))
        browser.open(pathlib.Path(page).resolve().as_uri())
        browser.screenshot(pathlib.Path(picture), int(width), int(height))
    return 0


def main():
    if find_chromium() is None:
        print("skipped: needs chromium")
        return 77
    if sys.argv[1] == "--picture":
        return take_picture(*sys.argv[2:])
    return check(sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
