# SPDX-License-Identifier: Apache-2.0
"""The structs and prototypes of python/thresher/_c.py are those of the headers: a C compiler says so."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from ctypes import POINTER, Structure, c_char_p, c_float, c_int32, c_int64, c_size_t, c_uint64, c_void_p

from thresher import _c

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
HEADERS = sorted(path for path in (INCLUDE / "thresher").glob("*.h") if path.name != "contestant.h")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def field_of(ctype):
    """(kind, size), as the C program below prints it."""
    if ctype in (c_void_p, c_char_p) or hasattr(ctype, "_type_") and not isinstance(ctype._type_, str):
        return "pointer"
    return "struct" if issubclass(ctype, Structure) else "float" if ctype is c_float else "integer"


def program():
    lines = [f'#include "{header}"' for header in HEADERS]
    lines += ["#include <stdio.h>", "#define KIND(x) _Generic((x), float: \"float\", int32_t: \"integer\", int64_t: "
              "\"integer\", uint64_t: \"integer\", void*: \"pointer\", default: \"other\")", "int main(void) {"]
    for name, struct in _c.STRUCTS.items():
        lines.append(f'  printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(f'  printf("{name}.{field} %zu %zu %s\\n", offsetof({name}, {field}), '
                         f'sizeof((({name}*)0)->{field}), KIND((({name}*)0)->{field}));')
    return "\n".join([*lines, "  return 0;", "}"])


def expected():
    for name, struct in _c.STRUCTS.items():
        yield f"{name} {__import__('ctypes').sizeof(struct)}"
        for field, ctype in struct._fields_:
            place = getattr(struct, field)
            kind = field_of(ctype)
            yield f"{name}.{field} {place.offset} {place.size} {kind}"


def declarations():
    """name: (result, arguments) as the headers write them."""
    found = {}
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        for result, name, arguments in re.findall(r"^([\w ]+[\w*]) ?\b(thresher_\w+)\(([^()]*)\);", text, re.MULTILINE):
            words = [" ".join(argument.split()) for argument in arguments.split(",")]
            found[name] = (result.strip(), [] if words == ["void"] else words)
    return found


def fits(ctype, words):
    """Whether a C declaration such as "const thresher_engine* engine" is what ctypes was told."""
    stars = words.count("*")
    if ctype is c_char_p:
        return words.startswith("const char*") and stars == 1
    if stars:
        depth = 0
        while hasattr(ctype, "_type_") and not isinstance(ctype._type_, str):
            ctype, depth = ctype._type_, depth + 1
        depth += ctype is c_void_p
        struct = next((name for name, known in _c.STRUCTS.items() if known is ctype), None)
        return depth == stars if struct is None else depth == stars and struct in words
    sizes = {"int32_t": c_int32, "thresher_status": c_int32, "int64_t": c_int64, "size_t": c_size_t, "float": c_float,
             "uint64_t": c_uint64, **_c.STRUCTS}
    if words.split()[0] == "thresher_moe_source":
        return True
    return sizes.get(words.split()[0]) is ctype


class Declarations(unittest.TestCase):
    @unittest.skipIf(COMPILER is None, "no C compiler")
    def test_structs_lie_as_in_c(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "structs.c")
            source.write_text(program())
            subprocess.run([COMPILER, "-std=c11", f"-I{INCLUDE}", source, "-o", f"{folder}/structs"], check=True)
            said = subprocess.run([f"{folder}/structs"], capture_output=True, text=True, check=True).stdout
        # C cannot name every pointer's and struct's kind without listing them.
        said = [line.removesuffix(" other") for line in said.splitlines()]
        for ours, theirs in zip(expected(), said, strict=True):
            self.assertTrue(ours.startswith(theirs), f"{ours!r} in Python, {theirs!r} in C")

    def test_prototypes_are_the_headers(self):
        declared = declarations()
        self.assertGreater(len(declared), 40)
        for name, (result, arguments) in _c.FUNCTIONS.items():
            with self.subTest(name):
                of_result, of_arguments = declared[name]
                self.assertEqual(len(arguments), len(of_arguments))
                for ctype, words in zip(arguments, of_arguments):
                    self.assertTrue(fits(ctype, words), f"{words} is no {ctype}")
                result = c_int32 if result is _c._STATUS else result
                self.assertTrue(of_result == "void" if result is None else fits(result, of_result), of_result)

    def test_statuses_are_checked_and_nothing_else_is(self):
        for name, (result, _) in declarations().items():
            if name in _c.FUNCTIONS:
                checked = getattr(getattr(_c.lib, name), "errcheck", None) == _c._raise_if_failed
                self.assertEqual(checked, result == "thresher_status", name)


if __name__ == "__main__":
    unittest.main()
