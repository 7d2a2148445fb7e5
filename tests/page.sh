#!/bin/bash
# page.sh - the commands that a document shows in its sh blocks work, one after the other.
#   tests/page.sh DOCUMENT CROSSWISE
set -euo pipefail

document=$1 command=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/bin" "$scratch/work"
ln -s "$command" "$scratch/bin/crosswise"
awk '$0 == "```sh" { inside = 1; next } /^```/ { inside = 0 } inside' "$document" >"$scratch/commands.sh"
[ -s "$scratch/commands.sh" ]
cd "$scratch/work"
PATH=$scratch/bin:$PATH bash -eux "$scratch/commands.sh"
