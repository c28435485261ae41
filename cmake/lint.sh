#!/usr/bin/env bash
# Lints a source instead of compiling it: the compiler launcher of the preset tidy, whose objects are empty files. So
# Ninja keeps count of what is clean: a source is linted again when something it includes, or a rule, has changed.
set -euo pipefail

rules=$(dirname "$(readlink -f "$0")")/../.clang-tidy
source=${*: -1}      # CMake's commands end in: -o OBJECT -c SOURCE
object=${*: -3:1}

case $source in
  */embedded/* | */src/fmt.cpp) ;;  # generated, and fmt's own
  *) clang-tidy -p . --quiet --warnings-as-errors='*' "$source" ;;
esac
"${@:1:$#-4}" -E -o /dev/null "$source"  # notes in OBJECT.d what it includes
printf '%s: %s %s\n' "$object" "$rules" "$0" >>"$object.d"
: >"$object"
