#!/bin/sh
# run.sh - install into an empty folder, then build and run strangers' programs against it.
#   tests/consumer/run.sh CMAKE BUILD_FOLDER COMPILER
# shellcheck disable=SC2046 # the output of pkg-config is a list of arguments
set -eu

cmake=$1 build=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

echo "install"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null
for file in bin/crosswise share/man/man1/crosswise.1 include/crosswise/crosswise.h; do
    [ -e "$prefix/$file" ] || { echo "$file was not installed"; exit 1; }
done
if grep -rIl "$build" "$prefix"; then
    echo "the files above mention the build folder"
    exit 1
fi

echo "CMake package"
"$cmake" -S "$here" -B "$scratch/project" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" >/dev/null
"$cmake" --build "$scratch/project" >/dev/null
"$scratch/project/with_shared"
"$scratch/project/with_static"

pc=$(find "$prefix" -name crosswise.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
libraries=$(pkg-config --variable=libdir crosswise)

echo "pkg-config, shared"
"$compiler" "$here/consumer.c" -o "$scratch/shared" $(pkg-config --cflags --libs crosswise)
LD_LIBRARY_PATH=$libraries "$scratch/shared"

echo "pkg-config, static"
"$compiler" -static "$here/consumer.c" -o "$scratch/static" $(pkg-config --static --cflags --libs crosswise)
"$scratch/static"

echo "C++"
cplusplus=$(command -v c++ || command -v clang++ || true)
if [ -n "$cplusplus" ]; then
    echo '#include <crosswise/crosswise.h>' |
        "$cplusplus" -x c++ -fsyntax-only -Wall -Wextra -pedantic -Werror $(pkg-config --cflags crosswise) -
else
    echo "no C++ compiler here: the header was not tried in C++"
fi
