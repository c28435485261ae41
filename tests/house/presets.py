#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Filters of test presets are expressions that CMake can compile: it takes nine groups, and leaves out nothing where there are more."""
import json
import re
import sys

import house

GROUPS_MAX = 9


def names_of(preset):
    for filters in preset.get("filter", {}).values():
        yield filters.get("name", "")


def main():
    presets = json.loads((house.ROOT / "CMakePresets.json").read_text())["testPresets"]
    faults = [f"CMakePresets.json: the filter of '{preset['name']}' has {count} groups, {GROUPS_MAX} are taken"
              for preset in presets for name in names_of(preset)
              if (count := len(re.findall(r"(?<!\\)\(", name))) > GROUPS_MAX]
    return house.judge(faults, "write alternatives out, or shorten them")


if __name__ == "__main__":
    sys.exit(main())
