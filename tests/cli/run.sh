#!/bin/bash
# run.sh - tests of the command: each is a script beside what it must print.
#   tests/cli/run.sh [NAME...]            run these, or all
#   tests/cli/run.sh --update [NAME...]   make what they print now the expectation
#
# NAME.sh runs with bash -eu in an empty folder of its own, with the binary in $CROSSWISE, which
# it calls as `crosswise`.  Beside it: NAME.out is its standard output, NAME.err its standard
# error, NAME.code its exit code; a missing file means nothing printed, or exit code 0.  Exit code 77
# skips, the last line printed being the reason.  Every test runs in the C locale and once more
# where a half is written 0,5, when there is such a locale and CROSSWISE_LOCALES is not C.
#
# A test may also use:
#   $TESTS                 the folder of tests, for what several share
#   make_log               281 rating lines of 40 users and 22 items, with a header
#   refused WORD...        crosswise prepare WORD... --out out must fail and leave nothing behind
#   listing DIR            its files with their checksums
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${CROSSWISE:=$here/../../build/release/crosswise}"
TESTS=$(dirname "$here")
export CROSSWISE TESTS
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

crosswise() { "$CROSSWISE" "$@"; }

sort() { LC_ALL=C command sort "$@"; } # the same in every locale
comm() { LC_ALL=C command comm "$@"; }

make_log() {
    awk 'BEGIN {
        print "user,item,rating,timestamp"
        for (u = 0; u < 40; u++)
            for (i = 0; i < 25; i++)
                if ((u * 7 + i * 3) % (2 + int(i / 4)) == 0)
                    printf "u%d,i%d,%d,%d\n", u, i, 1 + (u + i) % 5, 1000 + n++ * 7919 % 1009
    }'
}

refused() {
    local code=0
    crosswise prepare "$@" --out out --quiet || code=$?
    echo "exit code $code"
    find . -name '*out' -o -name '*.partial-*' | sed 's/^/left behind: /'
}

listing() { (cd "$1" && find . -type f -exec md5sum {} + | sort -k 2); }

export -f crosswise sort comm make_log refused listing

# Run test $1 in locale $2, leaving what it did in $scratch/got.{out,err,code}.
run_test() {
    rm -rf "$scratch/work"
    mkdir "$scratch/work"
    (
        cd "$scratch/work" || exit 2
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
    [ "${CROSSWISE_LOCALES:-}" != C ] || break
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
