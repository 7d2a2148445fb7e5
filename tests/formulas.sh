#!/bin/sh
# formulas.sh - the formulas of losses and samplers compile as C++, or as CUDA.
#   tests/formulas.sh cxx|cuda SOURCE_FOLDER RANDOM123_FOLDER
set -eu

language=$1 source=$2 random=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# first COMMAND...: the first of them that is there
first() {
    for name; do command -v "$name" && return; done
    echo "formulas were not compiled as $language: there is no $1" >&2
    exit 77
}

set -- -std=c++17 -I"$source/src" -I"$source/include" "$source/tests/formulas.cu"
[ "$random" = /usr/include ] || set -- -I"$random" "$@"
case $language in
cxx)
    compiler=$(first c++ g++ clang++)
    "$compiler" -x c++ -Wall -Wextra -Wconversion -Wshadow -Werror -fsyntax-only "$@"
    ;;
cuda)
    compiler=$(first nvcc)
    "$compiler" -fmad=false -Werror all-warnings -c -o "$scratch/formulas.o" "$@"
    ;;
esac
echo "$compiler compiled them"
