#!/bin/bash
# run.sh - tests of the command: each is a script beside what it must print.
#   tests/cli/run.sh [NAME...]            run these, or all
#   tests/cli/run.sh --update [NAME...]   make what they print now the expectation
#
# NAME.sh runs with bash -eu in an empty folder of its own, with the binary in $CROSSWISE, which
# it calls as `crosswise`.  Beside it: NAME.out is its standard output, NAME.err its standard
# error, NAME.code its exit code; a missing file means nothing printed, or exit code 0.  Exit code 77
# skips, the last line printed being the reason.  Every test runs in the C locale and once more
# where a half is written 0,5, when there is such a locale.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${CROSSWISE:=$here/../../build/release/crosswise}"
export CROSSWISE
[ -x "$CROSSWISE" ] || { echo "run.sh: there is no $CROSSWISE; build it or set CROSSWISE" >&2; exit 2; }

update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
if [ $# -eq 0 ]; then
    for file in "$here"/*.sh; do
        [ "$file" -ef "$0" ] || set -- "$@" "$(basename "$file" .sh)"
    done
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Run test $1 in locale $2, leaving what it did in $scratch/got.{out,err,code}.
run_test() {
    rm -rf "$scratch/work"
    mkdir "$scratch/work"
    (
        cd "$scratch/work" || exit 2
        crosswise() { "$CROSSWISE" "$@"; }
        export -f crosswise
        export LC_ALL=$2 HOME=$scratch/work TZ=UTC
        bash -eu "$here/$1.sh" </dev/null
    ) >"$scratch/got.out" 2>"$scratch/got.err"
    echo $? >"$scratch/got.code"
}

# Print how what test $1 did differs from what is expected.
compare() {
    local differs=0 kind expected
    for kind in out err code; do
        expected=$here/$1.$kind
        if [ ! -e "$expected" ]; then
            expected=$scratch/default.$kind
        fi
        diff -u --label "expected $kind" --label "got $kind" "$expected" "$scratch/got.$kind" || differs=1
    done
    return $differs
}

accept() {
    local kind
    for kind in out err code; do
        rm -f "$here/$1.$kind"
        cmp -s "$scratch/got.$kind" "$scratch/default.$kind" || cp "$scratch/got.$kind" "$here/$1.$kind"
    done
    echo "$1: updated"
}

: >"$scratch/default.out"
: >"$scratch/default.err"
echo 0 >"$scratch/default.code"
locales=C
for name in de_DE.UTF-8 de_DE.utf8 fr_FR.UTF-8; do
    if [ "$(LC_ALL=$name locale decimal_point 2>/dev/null)" = , ]; then
        locales="C $name"
        break
    fi
done

failed=0 skipped=0
for name in "$@"; do
    for locale in $locales; do
        run_test "$name" "$locale"
        if [ "$(cat "$scratch/got.code")" = 77 ]; then
            echo "skipped: $(cat "$scratch/got.out" "$scratch/got.err" | tail -n 1) ($name)"
            skipped=1
            break
        fi
        if [ $update = yes ]; then
            accept "$name"
            break
        fi
        if compare "$name"; then
            echo "passed: $name ($locale)"
        else
            echo "failed: $name ($locale)"
            failed=1
        fi
    done
done
[ $failed = 0 ] || exit 1
if [ $skipped = 1 ] && [ $# = 1 ]; then exit 77; fi
exit 0
