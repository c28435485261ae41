# SPDX-License-Identifier: Apache-2.0
"""`python -m thresher` is the command `thresher` of this installation, whether or not it is on the PATH."""
import os
import pathlib
import shutil
import sys
import sysconfig

from ._c import library_path


def command_path() -> str:
    """Where the command is: among this interpreter's scripts, beside the library in a build, or on the PATH."""
    for folder in (pathlib.Path(sysconfig.get_path("scripts")), library_path().parent):
        command = folder / "thresher"
        if command.is_file() and os.access(command, os.X_OK):
            return str(command)
    found = shutil.which("thresher")
    if found is None:
        raise SystemExit("no command `thresher`: `pip install .` brings it, `./run` builds it in a checkout")
    return found


def main() -> None:
    path = command_path()
    os.execv(path, ["thresher", *sys.argv[1:]])


if __name__ == "__main__":
    main()
