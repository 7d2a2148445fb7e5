#!/bin/bash
# readme.sh - what README.md shows works: the quick start, then the C program, linked with the
# static library.
#   tests/readme.sh SOURCE_FOLDER CROSSWISE COMPILER LINK_FLAG...
set -euo pipefail

source=$1 command=$2 compiler=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The fenced block of language $1.
block() {
    awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside' "$source/README.md"
}

mkdir "$scratch/bin" "$scratch/work"
ln -s "$command" "$scratch/bin/crosswise"
# A world smaller than the one shown takes seconds, with all else as it is.
block sh | sed 's/--users 2000 --items 1000 /--users 200 --items 100 /' >"$scratch/quick-start.sh"
grep -q -e '--users 200 ' "$scratch/quick-start.sh" || { echo "the world of the quick start is another" >&2; exit 1; }
block c >"$scratch/log.c"
cd "$scratch/work"
PATH=$scratch/bin:$PATH bash -eux "$scratch/quick-start.sh"
"$compiler" -std=c17 -Wall -Wextra -Werror -I"$source/include" "$scratch/log.c" -o "$scratch/log" "$@"
"$scratch/log"
