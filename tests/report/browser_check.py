#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the report of a sample ledger in a headless Chromium, as a desktop and as a phone.

usage: browser_check.py PATH_TO_write_sample_report
Exit code 0: every chart is drawn, the console is silent, nothing hostile ran, the page is no wider
than its window, and its numbers are the ledger's. 1: what is wrong is printed. 77: no Chromium.
"""

import html
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Added to the head of a copy of the page, before anything hostile could run.
GUARD = """<head><script>
window.alert = () => { document.documentElement.dataset.hostile = 'ran'; };
</script>"""
# Added to its end: what only a browser knows, left in an attribute for us to read. The
# phone is a frame, because a browser's window does not become as narrow as one.
PROBE = """<script>
const drawn = (canvas) => canvas.width > 0 && canvas.getContext('2d')
  .getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte !== 0);
document.body.dataset.probe = JSON.stringify({
  charts: [...document.querySelectorAll('.chart')].map((box) => box.id),
  drawn: [...document.querySelectorAll('.chart canvas')].filter(drawn).length,
  hostile: document.documentElement.dataset.hostile === 'ran',
  width: document.documentElement.scrollWidth, window: document.documentElement.clientWidth,
  numbers: [...document.querySelectorAll('data')].map((data) => data.value),
});
if (window.parent !== window) window.parent.postMessage(document.body.dataset.probe, '*');
</script></body>"""
PHONE = """<!DOCTYPE html><body><script>
addEventListener('message', (event) => { document.body.dataset.probe = event.data; });
</script><iframe width="390" height="844" src="page.html"></iframe></body>"""


def render(chromium, folder, page):
    """The page's DOM after its scripts ran, and what they wrote to the console."""
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
               "--allow-file-access-from-files", "--virtual-time-budget=10000",
               f"--user-data-dir={folder}/profile", "--window-size=1200,900", "--dump-dom",
               (folder / page).as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console


def numbers_of(entry):
    """The numbers of an entry that must stand on the page."""
    data = entry["data"]
    if entry["kind"] == "verdict":
        return [data["speedup"][name] for name in ("value", "low", "high")]
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


def faults_of(view, dom, console, entries):
    faults = [f"{view}: console: {line}" for line in console]
    probe = re.search(r'data-probe="([^"]*)"', dom)
    if probe is None:
        return faults + [f"{view}: the page's scripts did not come to their end"]
    seen = json.loads(html.unescape(probe.group(1)))
    if seen["drawn"] == 0 or seen["drawn"] != len(seen["charts"]):
        faults.append(f"{view}: {seen['drawn']} of {len(seen['charts'])} charts are drawn")
    if seen["width"] > seen["window"]:
        faults.append(f"{view}: the page is {seen['width']} px wide in {seen['window']} px")
    if seen["hostile"]:
        faults.append(f"{view}: a text of the ledger ran as a script")
    shown = [float(number) for number in seen["numbers"] if number not in ("inf", "-inf", "nan")]
    for entry in entries:
        for number in numbers_of(entry):
            if not any(math.isclose(number, other, rel_tol=1e-12) for other in shown):
                faults.append(f"{view}: entry {entry['id']} ({entry['kind']}): no {number}")
    return faults


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("skipped: needs chromium")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.argv[1], name], check=True)
        entries = [json.loads(line) for line in (folder / "ledger.jsonl").read_text().splitlines()]
        page = (folder / "report.html").read_text()
        (folder / "page.html").write_text(
            page.replace("<head>", GUARD, 1).replace("</body>", PROBE))
        (folder / "phone.html").write_text(PHONE)
        faults = []
        for view, file in (("desktop", "page.html"), ("phone", "phone.html")):
            faults += faults_of(view, *render(chromium, folder, file), entries)
    print("\n".join(faults) or f"{len(entries)} entries, two views: as in the ledger")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
