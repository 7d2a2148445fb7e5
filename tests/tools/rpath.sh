#!/bin/sh
# rpath.sh - tools/check-rpath accepts absolute search paths alone.
#   tests/tools/rpath.sh COMPILER
set -eu

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
compiler=$1

# expect good|bad LINKER_OPTION...
expect() {
    wanted=$1
    shift
    echo 'int main(void) { return 0; }' | "$compiler" -x c -o "$root/program" - "$@"
    verdict=good
    "$TOOLS/check-rpath" "$root" >/dev/null || verdict=bad
    if [ $verdict != "$wanted" ]; then
        echo "'$*' was judged $verdict, not $wanted"
        failed=1
    fi
}

expect good
expect good -Wl,-rpath,/usr/lib
expect good -Wl,-rpath,/usr/lib:/opt/lib
expect good -Wl,--disable-new-dtags,-rpath,/usr/lib
for path in /usr/lib: :/usr/lib /usr/lib::/opt/lib : . lib /usr/lib:lib; do
    expect bad "-Wl,-rpath,$path"
    expect bad "-Wl,--disable-new-dtags,-rpath,$path"
done
exit $failed
