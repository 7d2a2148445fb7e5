#!/bin/bash
# tutorial.sh - the commands of docs/tutorial.md work, on its file but in fewer steps.
#   tests/tutorial.sh SOURCE_FOLDER CROSSWISE
set -euo pipefail

source=$1 command=$2 log=${CROSSWISE_DATA:-}/ml100k/u.data.gz
[ -f "$log" ] || { echo "no ml100k in CROSSWISE_DATA"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Few epochs of short vectors take seconds, with all else as it is.
few='dim=8,epochs=4,min-epochs=0'
mkdir "$scratch/docs"
{
    echo '```sh'
    echo "gzip -dc '$log' >u.data"
    echo '```'
    sed "s/crosswise train /crosswise train --${few//,/ --} /; s/--budget 10m/--trials 3 --set $few/" \
        "$source/docs/tutorial.md" | sed '/crosswise train/s/=/ /g'
} >"$scratch/docs/tutorial.md"
grep -q -e "--trials 3" "$scratch/docs/tutorial.md" || { echo "the budget is another" >&2; exit 1; }
"$source/tests/page.sh" "$scratch/docs/tutorial.md" "$command"
