#!/bin/sh
# layers.sh - tools/check-layers accepts what is allowed and finds each kind of violation.
set -eu

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

# expect good|bad FILE INCLUDE
expect() {
    mkdir -p "$root/$(dirname "$2")"
    echo "#include $3" >"$root/$2"
    verdict=good
    "$TOOLS/check-layers" "$root" >"$root/said" || verdict=bad
    if [ "$verdict" != "$1" ]; then
        echo "$2 with #include $3 was judged $verdict, not $1"
        failed=1
    fi
    if [ "$1" = bad ] && ! grep -q "^$2:1: " "$root/said"; then
        echo "the message does not name $2:1: $(cat "$root/said")"
        failed=1
    fi
    rm "$root/$2"
}

expect good src/prepare/split.c '"core/mem.h"'
expect good src/prepare/split.c '"prepare/dataset.h"'
expect good src/registry.c '"prepare/dataset.h"'
expect good src/train/loop.c '"registry/registry.h"'
expect good src/core/context.h '"crosswise/crosswise.h"'
expect good src/core/context.h '<stdio.h>'
expect good cli/main.c '"cli.h"'
expect good cli/main.c '<crosswise/crosswise.h>'
expect bad src/core/mem.c '"prepare/dataset.h"'
expect bad src/import/text.c '"registry/registry.h"'
expect bad src/import/text.c '"idmap.h"'
expect bad src/import/text.c '"../core/mem.h"'
expect bad src/misc/text.c '"core/mem.h"'
expect bad cli/main.c '"core/mem.h"'
expect bad cli/main.c '"../src/core/mem.h"'
exit $failed
