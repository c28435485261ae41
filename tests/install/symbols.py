#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""libthresher.so shows what include/thresher/ promises, and nothing else: symbols.py NM LIBRARY

Every function that a public header declares and does not define is exported, and every symbol that is
exported belongs to such a declaration. cmake/exports.map is the list that this holds to the headers.
"""
import pathlib
import re
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include" / "thresher"
C_DECLARATION = re.compile(r"\b(thresher_\w+)\((?!\*)")
CONTESTANT = "contestant.h"  # what users' own libraries define
SPECIAL = re.compile(r"(?:typeinfo name|typeinfo|vtable|VTT) for (.*)")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*|^#.*?(?<!\\)$", "", text, flags=re.DOTALL | re.MULTILINE)


def c_functions():
    for header in sorted(INCLUDE.glob("*.h")):
        if header.name != CONTESTANT:
            yield from C_DECLARATION.findall(without_comments(header.read_text()))


def statements(text):
    """The text cut at ; and at braces, each piece with the brace or semicolon that ends it."""
    text = text.replace("= {}", "= 0")  # a default is no body
    start = 0
    for found in re.finditer(r"[;{}]", text):
        yield " ".join(text[start:found.start()].split()), found[0]
        start = found.end()


def cpp_names():
    """(classes, functions that are defined elsewhere), as thresher::Class::name and thresher::name."""
    classes, functions = set(), set()
    for header in sorted(INCLUDE.glob("*.hpp")):
        scopes = []  # names of classes; None for a namespace, "" for a body
        for text, end in statements(without_comments(header.read_text())):
            text = re.sub(r"^(?:(?:public|private|protected) ?: ?)+", "", text)
            if end == "{":
                kind = re.match(r"(?:class|struct) (\w+)", text)
                in_api = all(scope is None or scope for scope in scopes)
                is_scope = in_api and (kind or re.match(r"(inline )?namespace thresher\b", text))
                scopes.append(kind[1] if is_scope and kind else None if is_scope else "")
                if is_scope and kind:
                    classes.add(kind[1])
            elif end == "}":
                scopes.pop()
            elif "" not in scopes and is_function(text):
                name = re.search(r"([~\w]+|operator[^\s\w(]+) ?\(", text)[1]
                functions.add("::".join(["thresher", *filter(None, scopes), name]))
    return {f"thresher::{name}" for name in classes}, functions


def is_function(text):
    head = text.partition("(")[0]
    unwanted = re.search(r"= (default|delete)|\b(friend|using|typedef|inline|static_assert|template)\b|std::function<",
                         text)
    return "(" in text and "=" not in head and not unwanted or "operator=(" in text and not unwanted


def bare_name(symbol):
    """thresher::Engine::pack of thresher::Engine::pack(thresher::WeightMatrices const&) const."""
    return re.sub(r"\[abi:\w+\]", "", symbol.partition("(")[0])


def main(nm, library):
    listed = subprocess.run([nm, "-D", "-C", "--defined-only", library], capture_output=True, text=True,
                            check=True).stdout
    symbols = [line.split(maxsplit=2)[2] for line in listed.splitlines()]
    classes, functions = cpp_names()
    promised = set(c_functions())
    assert len(promised) > 40 and "thresher::Engine::pack" in functions, "headers are not read well"

    faults = []
    names = {bare_name(symbol) for symbol in symbols}
    for name in sorted((promised | functions) - names):
        faults.append(f"{name} is declared in include/thresher/ and not exported")
    for symbol in symbols:
        special = SPECIAL.fullmatch(symbol)
        known = special[1] in classes if special else bare_name(symbol) in promised | functions
        if not known:
            faults.append(f"{symbol} is exported and no header of include/thresher/ declares it")
    for fault in faults:
        print(fault)
    if faults:
        print(f"\n{len(faults)} broken: mend cmake/exports.map")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
