#!/bin/sh
# layers.sh - tools/check-layers accepts what is allowed and finds each kind of violation.
set -eu

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

# expect good|bad FILE INCLUDE
expect() { judge "$1" "$2" "#include $3"; }

# judge good|bad FILE LINE
judge() {
    mkdir -p "$root/$(dirname "$2")"
    echo "$3" >"$root/$2"
    verdict=good
    "$TOOLS/check-layers" "$root" >"$root/said" || verdict=bad
    if [ "$verdict" != "$1" ]; then
        echo "$2 with $3 was judged $verdict, not $1"
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

mkdir -p "$root/src/core" "$root/include/crosswise"
printf 'typedef struct cwi_list {\n} cwi_list;\ntypedef struct cwi_box cwi_box;\n' >"$root/src/core/list.h"
printf 'typedef struct cw_model cw_model;\ntypedef enum cw_part { CW_TRAIN } cw_part;\n' \
    >"$root/include/crosswise/crosswise.h"
judge good src/core/list.c 'struct cwi_box {'
judge good src/model/model.h 'struct cw_model {'
judge good src/core/list.c 'typedef struct cwi_lists {'
judge bad src/score/table.h 'typedef struct cwi_list {'
judge bad src/score/table.h 'typedef enum cwi_list { A } cwi_list;'
judge bad src/score/table.h 'typedef enum cw_part {'
exit $failed
