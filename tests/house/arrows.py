#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrows between rooms point one way: files include only what arrows.txt allows their room.

A row of the table names only folders of rows above it, so there can be no circle.
"""
import re
import sys

import house

INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
SOURCES = (".hpp", ".cpp", ".cuh", ".cu", ".h", ".c")
# Rooms whose name in the table is not their path below src/.
PLACES = {"thresher": "include/thresher", "src": "src", "bench": "bench", "examples": "examples"}


def read_table(faults):
    """What a room may include, by room; and the room by its path."""
    table, rooms = {}, {}
    for place, text in house.rows("arrows.txt"):
        room, _, allowed = text.partition(":")
        path = house.ROOT / PLACES.get(room, f"src/{room}")
        if not path.is_dir() and not path.with_suffix(".hpp").is_file():
            faults.append(f"{place}: there is no {path.relative_to(house.ROOT)}")
        faults.extend(f"{place}: {name} has no row above this one"
                      for name in allowed.split() if name not in table)
        table[room] = {room, *allowed.split()}
        rooms[path] = room
    return table, rooms


def room_of(path, rooms):
    """The innermost room around a file. The one called src has only what lies in src/ itself."""
    around = (parent for parent in (path.with_suffix(""), *path.parents) if parent in rooms)
    room = rooms.get(next(around, None))
    return None if room == "src" and path.parent != house.ROOT / "src" else room


def target_of(include, includer):
    """The file of the house that an include means; None if it is somebody else's."""
    for base in (includer.parent, house.ROOT / "src", house.ROOT / "include", house.ROOT):
        if (base / include).is_file():
            return (base / include).resolve()
    return None


def check_file(path, table, rooms, faults):
    room = room_of(path, rooms)
    if room is None:
        faults.append(f"{house.place(path, 1)}: its folder has no row in arrows.txt")
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        target = found and target_of(found[1], path)
        if not target:
            continue
        if room_of(target, rooms) not in table[room]:
            faults.append(f"{house.place(path, number)}: {room} may not include {found[1]}")


def main():
    faults = []
    table, rooms = read_table(faults)
    for base in ("include", "src", "bench", "examples"):
        for path in house.files(base, *SOURCES):
            check_file(path, table, rooms, faults)
    return house.judge(faults, "move the code to the side of the arrow where it belongs, or pass "
                       "what is needed as an argument; tests/house/arrows.txt has the arrows")


if __name__ == "__main__":
    sys.exit(main())
