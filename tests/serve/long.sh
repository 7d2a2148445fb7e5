#!/bin/bash
# long.sh - what takes too long for every check: 10,000 idle connections, 100 kills under load, 500 models under load, 50 stops.
#   tests/serve/long.sh [BUILD]     build/gcc unless given
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/gcc}
[ -x "$build/tests/stress" ] || { echo "long.sh: there is no $build/tests/stress; cmake --preset gcc && cmake --build $build" >&2; exit 2; }
"$build/tests/stress" "$build/crosswise" fuzz/corpus/model --long
