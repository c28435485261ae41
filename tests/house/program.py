# SPDX-License-Identifier: Apache-2.0
"""What the program says of itself: commands and options by --help, suites and knobs by --json."""
import functools
import json
import re
import subprocess

OPTION = re.compile(r"  (?:-\w,)?(--[\w-]+)(?: ([A-Z]{2,}\S*))?(.*)")
ENTRY = re.compile(r"  (\S+)")


class Help:
    """One command's --help, taken apart."""

    def __init__(self, text):
        self.takes = {}        # option: what it takes; "" for a flag
        self.many = set()      # options that take several values
        self.required = set()  # options
        self.commands = {}     # below this one: what they do
        self.has_positionals = False
        section = ""
        for line in text.splitlines()[1:]:
            if line.endswith(":") and not line.startswith(" "):
                section = line[:-1]
            elif section == "Options" and (found := OPTION.fullmatch(line)):
                self.takes[found[1]] = found[2] or ""
                if " ..." in found[3]:
                    self.many.add(found[1])
                if "REQUIRED" in found[3]:
                    self.required.add(found[1])
            elif section == "Subcommands" and (found := ENTRY.match(line)):
                self.commands[found[1]] = line[found.end():].strip()
            elif section == "Positionals":
                self.has_positionals = True


class Program:
    def __init__(self, path):
        self.path = path

    def say(self, *arguments):
        return subprocess.run([self.path, *arguments], capture_output=True, text=True,
                              check=True).stdout

    @functools.cache
    def help(self, *command):
        return Help(self.say(*command, "--help"))

    @functools.cache
    def suites(self):
        return json.loads(self.say("suites", "--json"))["suites"]

    @functools.cache
    def knobs(self, backend):
        return json.loads(self.say("variants", "--backend", backend, "--knobs", "--json"))["knobs"]
