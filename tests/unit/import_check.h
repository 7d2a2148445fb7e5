/* import_check.h - what the tests of importing share. */
#ifndef IMPORT_CHECK_H
#define IMPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "import/interactions.h"

/* Options of stage "import" from names and values, ended by NULL. */
static inline cw_options *import_options(cw_context *ctx, const char *const *pairs)
{
    cw_options *options;
    assert_int_equal(cwi_options_create(ctx, "import", cwi_import_options, &options), CW_OK);
    for (; pairs && *pairs; pairs += 2)
        assert_int_equal(cw_options_set(ctx, options, pairs[0], pairs[1]), CW_OK);
    return options;
}

#define PAIRS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* "user item" of a row, with raw ids. */
static inline void assert_row(const cw_interactions *rows, int64_t row, const char *user,
                              const char *item)
{
    assert_true(row < rows->count);
    assert_string_equal(cwi_idmap_text(&rows->users, rows->user[row]), user);
    assert_string_equal(cwi_idmap_text(&rows->items, rows->item[row]), item);
}

#endif
