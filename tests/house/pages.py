#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of seasons in results/ are what `thresher report` makes of the ledgers beside them.

    pages.py THRESHER            exit code 1 if a page is another
    pages.py THRESHER --write    writes them anew
"""
import pathlib
import subprocess
import sys
import tempfile

import house


def page_of(thresher, ledger):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "report.html"
        subprocess.run([thresher, "report", "--ledger", ledger.relative_to(house.ROOT), "--output", page], cwd=house.ROOT,
                       check=True, stdout=subprocess.DEVNULL)
        return page.read_text()


def main():
    thresher = pathlib.Path(sys.argv[1]).resolve()
    faults = []
    for page in sorted((house.ROOT / "results").rglob("report.html")):
        fresh = page_of(thresher, page.parent / "ledger.jsonl")
        if fresh == page.read_text():
            continue
        if "--write" in sys.argv[2:]:
            page.write_text(fresh)
        else:
            faults.append(f"{page.relative_to(house.ROOT)} is not what the program makes of its ledger")
    return house.judge(faults, "tests/house/pages.py build/release/thresher --write mends it")


if __name__ == "__main__":
    sys.exit(main())
