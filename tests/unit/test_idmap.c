/* test_idmap.c - raw ids and their numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "import/idmap.h"

static int make_context(void **state)
{
    cw_context *ctx = NULL;
    cw_status status = cw_context_create(&ctx);
    *state = ctx;
    return status == CW_OK ? 0 : -1;
}

static int free_context(void **state)
{
    cw_context_free(*state);
    return 0;
}

static int32_t add(cw_context *ctx, cwi_idmap *map, const char *id)
{
    int32_t index = -7;
    assert_int_equal(cwi_idmap_add(ctx, map, id, strlen(id), &index), CW_OK);
    return index;
}

static void ids_are_numbered_in_order_of_appearance(void **state)
{
    cwi_idmap map;
    cwi_idmap_init(&map);
    assert_int_equal(cwi_idmap_find(&map, "x", 1), -1);
    assert_int_equal(add(*state, &map, "x"), 0);
    assert_int_equal(add(*state, &map, "0x"), 1);
    assert_int_equal(add(*state, &map, "x"), 0);
    assert_int_equal(add(*state, &map, "xx"), 2);
    assert_int_equal(cwi_idmap_find(&map, "xx", 2), 2);
    assert_int_equal(cwi_idmap_find(&map, "xx", 1), 0);
    assert_int_equal(cwi_idmap_find(&map, "xxx", 3), -1);
    assert_string_equal(cwi_idmap_text(&map, 1), "0x");
    cwi_idmap_clear(&map);
    assert_int_equal(map.count, 0);
}

static void empty_id_is_not_found_and_nothing_before_it_is_read(void **state)
{
    cwi_idmap map;
    char *empty = malloc(1); /* what lies before it is watched by the sanitizer */
    cwi_idmap_init(&map);
    add(*state, &map, "x");
    assert_non_null(empty);
    assert_int_equal(cwi_idmap_find(&map, empty, 0), -1);
    free(empty);
    cwi_idmap_clear(&map);
}

static void leading_zeros_and_strange_bytes_are_kept(void **state)
{
    cwi_idmap map;
    cwi_idmap_init(&map);
    assert_int_equal(add(*state, &map, "007"), 0);
    assert_int_equal(add(*state, &map, "7"), 1);
    assert_int_equal(add(*state, &map, "\xff\xfe \t"), 2);
    assert_string_equal(cwi_idmap_text(&map, 0), "007");
    assert_string_equal(cwi_idmap_text(&map, 2), "\xff\xfe \t");
    cwi_idmap_clear(&map);
}

static void many_ids_are_all_found_again(void **state)
{
    enum { N = 200000 };
    cwi_idmap map;
    char id[32];

    cwi_idmap_init(&map);
    for (int32_t k = 0; k < N; k++) {
        snprintf(id, sizeof id, "%d", k * 7);
        assert_int_equal(add(*state, &map, id), k);
    }
    for (int32_t k = 0; k < N; k++) {
        int length = snprintf(id, sizeof id, "%d", k * 7);
        assert_int_equal(cwi_idmap_find(&map, id, (size_t)length), k);
        assert_string_equal(cwi_idmap_text(&map, k), id);
    }
    assert_int_equal(cwi_idmap_find(&map, "1", 1), -1);
    cwi_idmap_clear(&map);
}

static void short_and_long_ids_do_not_mix_up(void **state)
{
    cwi_idmap map;
    char id[40];

    cwi_idmap_init(&map);
    for (int32_t length = 1; length < 40; length++) {
        memset(id, 'a', sizeof id);
        id[length] = '\0';
        assert_int_equal(add(*state, &map, id), 2 * length - 2);
        id[length - 1] = 'b';
        assert_int_equal(add(*state, &map, id), 2 * length - 1);
    }
    for (int32_t k = 0; k < map.count; k++) {
        const char *text = cwi_idmap_text(&map, k);
        assert_int_equal(strlen(text), k / 2 + 1);
        assert_int_equal(cwi_idmap_find(&map, text, strlen(text)), k);
        assert_int_equal(add(*state, &map, text), k);
    }
    assert_int_equal(cwi_idmap_find(&map, "aaaaaaaaac", 10), -1);
    cwi_idmap_clear(&map);
}

static void the_longest_id_fits(void **state)
{
    cwi_idmap map;
    int32_t index;
    char *id = cwi_alloc(*state, CWI_MAX_ID_BYTES, 1);

    assert_non_null(id);
    memset(id, 'a', CWI_MAX_ID_BYTES);
    cwi_idmap_init(&map);
    assert_int_equal(cwi_idmap_add(*state, &map, id, CWI_MAX_ID_BYTES, &index), CW_OK);
    assert_int_equal(cwi_idmap_add(*state, &map, id, CWI_MAX_ID_BYTES - 1, &index), CW_OK);
    assert_int_equal(index, 1);
    assert_int_equal(strlen(cwi_idmap_text(&map, 0)), CWI_MAX_ID_BYTES);
    cwi_idmap_clear(&map);
    cwi_free(id);
}

static void too_many_ids_are_refused(void **state)
{
    cw_context *ctx = *state;
    cwi_idmap map;
    int32_t index;

    cwi_idmap_init(&map);
    (void)add(ctx, &map, "a");
    map.count = INT32_MAX - 1; /* as if two billion had been added */
    assert_int_equal(cwi_idmap_add(ctx, &map, "b", 1, &index), CW_BAD_DATA);
    assert_string_equal(cw_context_error(ctx), "there are more than 2147483646 different ids");
    map.count = 1;
    cwi_idmap_clear(&map);
}

static void selected_ids_keep_the_given_order(void **state)
{
    const int32_t which[] = {2, 0};
    cwi_idmap map, chosen;

    cwi_idmap_init(&map);
    (void)add(*state, &map, "a");
    (void)add(*state, &map, "b");
    (void)add(*state, &map, "c");
    assert_int_equal(cwi_idmap_select(*state, &map, which, 2, &chosen), CW_OK);
    assert_int_equal(chosen.count, 2);
    assert_string_equal(cwi_idmap_text(&chosen, 0), "c");
    assert_string_equal(cwi_idmap_text(&chosen, 1), "a");
    assert_int_equal(cwi_idmap_find(&chosen, "b", 1), -1);
    cwi_idmap_clear(&map);
    cwi_idmap_clear(&chosen);
}

static void numbers_are_their_own_ids(void **state)
{
    cwi_idmap map;
    assert_int_equal(cwi_idmap_number(*state, 1000, &map), CW_OK);
    assert_int_equal(map.count, 1000);
    assert_string_equal(cwi_idmap_text(&map, 999), "999");
    assert_int_equal(cwi_idmap_find(&map, "10", 2), 10);
    cwi_idmap_clear(&map);
    assert_int_equal(cwi_idmap_number(*state, 0, &map), CW_OK);
    assert_int_equal(map.count, 0);
    cwi_idmap_clear(&map);
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    cw_context *ctx = *state;
    cw_status status = CW_NO_MEMORY;
    cwi_idmap map;

    for (int64_t nth = 1; status != CW_OK; nth++) {
        cwi_begin(ctx);
        cwi_mem_fail_at(ctx, nth);
        status = cwi_idmap_number(ctx, 5000, &map);
        cwi_mem_fail_at(ctx, 0);
        if (status == CW_OK) break;
        assert_int_equal(status, CW_NO_MEMORY);
        assert_int_equal(map.count, 0);
        assert_null(map.text);
    }
    cwi_idmap_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_numbered_in_order_of_appearance),
        cmocka_unit_test(empty_id_is_not_found_and_nothing_before_it_is_read),
        cmocka_unit_test(leading_zeros_and_strange_bytes_are_kept),
        cmocka_unit_test(many_ids_are_all_found_again),
        cmocka_unit_test(short_and_long_ids_do_not_mix_up),
        cmocka_unit_test(the_longest_id_fits),
        cmocka_unit_test(too_many_ids_are_refused),
        cmocka_unit_test(selected_ids_keep_the_given_order),
        cmocka_unit_test(numbers_are_their_own_ids),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
