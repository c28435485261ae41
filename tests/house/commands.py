#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands in documents are those of the program: every one parses, its suites and knobs are known.

    commands.py THRESHER

Looks at lines of code blocks that begin with `thresher` or `./run`, and at such code in the text,
where options that are required may be left out. Nothing is run.
"""
import re
import shlex
import sys

import house
from program import Program

START = re.compile(r"\s*(?:\$ )?(thresher|\./run)(?= |$)")
INLINE = re.compile(r"`((?:thresher|\./run)(?: [^`]*)?)`")
# What ends a command in a line: a comment, a pipe or another command, or text in a second column.
END = re.compile(r"\s+#.*|\s*(?:[|;>]|&&).*|\s{2,}.*")
RUN_WORDS = {"test", "format", "tidy", "help"}


def commands_of(path):
    """(line number, command, whether it stands in a code block)"""
    in_block, continued = False, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif not in_block:
            yield from ((number, text, False) for text in INLINE.findall(line))
        else:
            line, continued = continued + line, ""
            if line.endswith("\\"):
                continued = line[:-1]
            elif found := START.match(line):
                first, *more = re.split(r"&&|;", line[found.start(1):])
                yield number, END.sub("", first), True
                yield from ((number, END.sub("", part.strip()), True) for part in more
                            if START.match(part))


class Reader:
    """Walks the words of a command as the program would."""

    def __init__(self, program, words, is_complete):
        self.program, self.words, self.is_complete = program, words, is_complete
        self.command = []
        self.options = set()

    def fault(self):
        """What is wrong with the command; None if nothing is."""
        while self.words and self.words[0] in self.help.commands:
            self.command.append(self.words.pop(0))
        while self.words:
            if fault := self.fault_of_next(self.words.pop(0)):
                return fault
        missing = self.help.required - self.options
        if self.is_complete and (missing or (self.help.commands and self.command)):
            return f"lacks {', '.join(missing) or 'what to do'}"
        return None

    @property
    def help(self):
        return self.program.help(*self.command)

    def fault_of_next(self, word):
        if word == "--":
            self.words.clear()
        elif word.startswith("--"):
            if word not in self.help.takes:
                return f"no option {word}"
            self.options.add(word)
            return self.fault_of_value(word)
        elif not (self.help.has_positionals or word in "…" or word[0] in "$["):
            return f"no command or argument {word}"
        return None

    def fault_of_value(self, option):
        takes = self.help.takes[option]
        if not takes:
            return None
        if not self.words:
            return f"{option} lacks its value"
        fault = self.fault_of_one(option, takes)
        is_many = option in self.help.many and not self.help.has_positionals
        while not fault and is_many and self.words and self.words[0][0] not in "-…":
            fault = self.fault_of_one(option, takes)
        return fault

    def fault_of_one(self, option, takes):
        value = self.words.pop(0)
        choices = re.search(r"{(.*)}", takes)
        if value[0] in "…$" or value.isupper():
            return None
        if choices and value not in choices[1].split(","):
            return f"{option} {value} is none of {choices[1]}"
        if option == "--suite" and not value.endswith(".toml"):
            names = [suite["name"] for suite in self.program.suites()]
            return None if value in names else f"no suite {value}"
        return self.fault_of_variant(value)

    def fault_of_variant(self, value):
        backend = re.match(r"(cpu|gpu)_\w+:", value)
        if not backend:
            return None
        known = {knob["knob"] for knob in self.program.knobs(backend[1])}
        named = {setting.partition("=")[0] for setting in value[backend.end():].split(",")}
        return f"no knob {', '.join(named - known)}" if named - known else None


def fault_of(program, command, is_complete):
    words = shlex.split(command.replace("[", "").replace("]", ""))
    is_run = words.pop(0) == "./run"
    if is_run and (not words or words[0] in RUN_WORDS):
        return None
    return Reader(program, words, is_complete).fault()


def main(path):
    program = Program(path)
    faults = []
    for document in house.documents():
        for number, command, is_complete in commands_of(document):
            if fault := fault_of(program, command, is_complete):
                faults.append(f"{house.place(document, number)}: {command}: {fault}")
    return house.judge(faults, "documents show commands that work; thresher --help has them")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
