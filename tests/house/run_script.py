#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run COMMAND` builds before it runs: a failed build is an error, never yesterday's binary, and a
checkout that was moved is configured afresh; a build without a terminal says every ten seconds how
far it is. The compiler is a stand-in that does as it is told."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import house

CMAKE = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in *--build*) [ -z "$BUILD_SAYS" ] || { echo "$BUILD_SAYS"; sleep 11; }; exit "$BUILD_FAILS" ;; esac
"""
# Says that every package is installed, whatever is asked.
DPKG_QUERY = """#!/bin/sh
shift 2
for package; do echo "installed $package"; done
"""
THRESHER = "#!/bin/sh\necho ran \"$@\"\n"


class Checkout:
    """A tree with the script and a binary of yesterday, and stand-ins in front of PATH."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.root = self.folder / "tree"
        self.calls = self.folder / "calls"
        release = self.root / "build/release"
        release.mkdir(parents=True)
        shutil.copy(house.ROOT / "run", self.root / "run")
        (self.root / "CMakePresets.json").write_text("{}")
        (release / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.root}\n")
        (release / "build.ninja").write_text("")
        self.write(release / "thresher", THRESHER)
        for name, text in (("cmake", CMAKE), ("dpkg-query", DPKG_QUERY), ("apt-get", "#!/bin/sh\n")):
            self.write(self.folder / "bin" / name, text)

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, build_fails, root=None, build_says=""):
        """A build that says something takes eleven seconds over it."""
        self.calls.write_text("")
        environment = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", CALLS=str(self.calls),
                           BUILD_FAILS=str(int(build_fails)), BUILD_SAYS=build_says)
        return subprocess.run([(root or self.root) / "run", "doctor", "--json"], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def main():
    faults = []

    def expect(condition, what, outcome):
        if not condition:
            faults.append(f"{what}: exit code {outcome.returncode}\n{outcome.stdout}{outcome.stderr}")

    with tempfile.TemporaryDirectory() as folder:
        checkout = Checkout(folder)
        built = checkout.run(build_fails=False)
        expect(built.returncode == 0 and built.stdout == "ran doctor --json\n", "a good build", built)
        expect("--fresh" not in checkout.calls.read_text(), "configured for nothing", built)

        slow = checkout.run(build_fails=False, build_says="[3/40] Building something")
        expect("building: 3 of 40" in slow.stderr, "ten seconds without a line where there is no terminal", slow)

        failed = checkout.run(build_fails=True)
        expect(failed.returncode != 0, "a failed build ended well", failed)
        expect("ran" not in failed.stdout, "a stale binary ran", failed)
        expect("build failed" in failed.stderr, "a failed build was not said", failed)

        moved = checkout.folder / "moved"
        checkout.root.rename(moved)
        outcome = checkout.run(build_fails=False, root=moved)
        expect("--fresh" in checkout.calls.read_text(), "a moved checkout kept its cache", outcome)
    return house.judge(faults, "see build_command and configure in the script")


if __name__ == "__main__":
    sys.exit(main())
