#!/bin/sh
# symbols.sh - tools/check-symbols accepts a silent library and finds a loud or untidy one.
#   tests/tools/symbols.sh COMPILER
set -eu

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

# expect good|bad CODE
expect() {
    echo "$2" | "$compiler" -x c -shared -fPIC -o "$root/library.so" -
    verdict=good
    "$TOOLS/check-symbols" "$root/library.so" >/dev/null || verdict=bad
    if [ "$verdict" != "$1" ]; then
        echo "'$2' was judged $verdict, not $1"
        failed=1
    fi
}

compiler=$1
expect good 'int cw_one(void) { return 1; }'
expect good '#include <string.h>
size_t cw_one(const char *t) { return strlen(t); }'
expect bad 'int one(void) { return 1; }'
expect bad 'int cw_one(void) { return 1; } int cwi_two(void) { return 2; }'
expect bad '#include <stdlib.h>
void cw_one(void) { exit(1); }'
expect bad '#include <stdio.h>
void cw_one(int i) { printf("%d", i); }'
expect bad '#include <stdio.h>
void cw_one(void) { fputs("x", stderr); }'
expect bad '#include <stdlib.h>
const char *cw_one(void) { return getenv("HOME"); }'
expect bad 'int cwi_two(void); int cw_one(void) { return cwi_two(); }'
expect bad 'static int one(void) { return 1; }'
expect bad 'float expf(float); float cw_one(float x) { return expf(x); }'
expect good '#include <math.h>
double cw_one(double x) { return floor(x); }'
exit $failed
