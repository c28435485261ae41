#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C can say what C++ can: every public function and method of include/thresher/*.hpp has a twin.

The twin of Plan::variant is thresher_plan_variant or thresher_variant; whatever has another name, or
is not for C, has a row in twins.txt. A row that names what there is not is a fault as well.
"""
import pathlib
import sys

import house

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
import symbols  # pylint: disable=wrong-import-position

PREFIXES = {"MoeLayer": "moe"}
# Moves, copies and what is behind a handle.
UNPROMISED = {"operator=", "state"}


def twins_of(function):
    """The names under which C could have thresher::Plan::variant."""
    owner, _, name = function.removeprefix("thresher::").rpartition("::")
    prefix = PREFIXES.get(owner, owner.lower())
    if name.startswith("~"):
        return {f"thresher_{prefix}_destroy"}
    if name == owner:
        return {f"thresher_{prefix}_create"}
    return {f"thresher_{prefix}_{name}" if owner else f"thresher_{name}", f"thresher_{name}"}


def main():
    in_c = set(symbols.c_functions())
    functions = {function for function in symbols.cpp_names()[1]
                 if function.rpartition("::")[2] not in UNPROMISED}
    faults, named = [], {}
    for place, text in house.rows("twins.txt"):
        function, _, twins = text.partition(": ")
        named[f"thresher::{function}"] = place
        if f"thresher::{function}" not in functions:
            faults.append(f"{place}: no header declares {function}")
        if not twins.startswith("none, "):
            faults += [f"{place}: no header declares {twin}" for twin in twins.split()
                       if twin not in in_c]
    faults += [f"include/thresher/: C has no {' or '.join(sorted(twins_of(function)))} "
               f"for {function}" for function in sorted(functions - set(named))
               if not twins_of(function) & in_c]
    return house.judge(faults, "give C the function too, or tests/house/twins.txt a row that says "
                               "under which names it has it")


if __name__ == "__main__":
    sys.exit(main())
