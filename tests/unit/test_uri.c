/* test_uri.c - addresses of databases. */
#include "import_check.h"

#include "core/mem.h"
#include "import/uri.h"

typedef struct bed {
    cw_context *ctx;
    cwi_uri uri;
} bed;

static int set_up(void **state)
{
    bed *b = calloc(1, sizeof *b);
    *state = b;
    return b && cw_context_create(&b->ctx) == CW_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    bed *b = *state;
    cwi_uri_clear(&b->uri);
    cw_context_free(b->ctx);
    free(b);
    return 0;
}

static void parse(bed *b, const char *text)
{
    cwi_uri_clear(&b->uri);
    cwi_begin(b->ctx);
    if (cwi_uri_parse(b->ctx, text, &b->uri) != CW_OK)
        fail_msg("%s: %s", text, cw_context_error(b->ctx));
}

static void refuse(bed *b, const char *text, const char *part)
{
    cwi_uri_clear(&b->uri);
    cwi_begin(b->ctx);
    if (cwi_uri_parse(b->ctx, text, &b->uri) == CW_OK) fail_msg("%s was taken", text);
    const char *error = cw_context_error(b->ctx);
    if (!strstr(error, part)) fail_msg("%s: '%s' is not in '%s'", text, part, error);
    if (strstr(error, "cret")) fail_msg("a password is in '%s'", error);
}

static void files_are_no_addresses(void **state)
{
    static const char *const files[] = {"log.csv", "-",        "./sqlite:x",    "sqlit:x",
                                        "",        "/sqlite:", "postgresql:/x", "Sqlite:x"};
    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++)
        assert_int_equal(cwi_uri_find(files[f]), CWI_URI_NONE);
    assert_int_equal(cwi_uri_find("sqlite:x"), CWI_URI_SQLITE);
    assert_int_equal(cwi_uri_find("postgresql://x"), CWI_URI_POSTGRESQL);
    assert_int_equal(cwi_uri_find("postgres://x"), CWI_URI_POSTGRESQL);
}

static void parameters_are_taken_apart(void **state)
{
    bed *b = *state;
    parse(b, "sqlite:a%20b%3f.db?table=x&user=the user&item=it%2Cem&rating=r%26s&time=t=u&");
    assert_string_equal(b->uri.address, "a b?.db");
    assert_string_equal(b->uri.name, "sqlite:a b?.db");
    assert_string_equal(b->uri.table, "x");
    assert_null(b->uri.query);
    assert_string_equal(b->uri.column[0], "the user");
    assert_string_equal(b->uri.column[1], "it,em");
    assert_string_equal(b->uri.column[2], "r&s");
    assert_string_equal(b->uri.column[3], "t=u");
    parse(b,
          "postgresql://ann@[::1]:5433,other:1/shop?sslmode=require&query=SELECT 1+1 = 2 ?&a=b%2");
    assert_string_equal(b->uri.address,
                        "postgresql://ann@[::1]:5433,other:1/shop?sslmode=require&a=b%2");
    assert_string_equal(b->uri.query, "SELECT 1+1 = 2 ?");
    assert_string_equal(b->uri.name, "postgresql:shop");
    parse(b, "postgresql://?table=x");
    assert_string_equal(b->uri.name, "postgresql:");
    parse(b, "postgresql:///x y?table=x");
    assert_string_equal(b->uri.name, "postgresql:x y");
    parse(b, "postgresql://shop.example.org?table=x");
    assert_string_equal(b->uri.name, "postgresql:");
}

static void wrong_ones_are_refused(void **state)
{
    bed *b = *state;
    refuse(b, "sqlite:x", "a table or a query is missing");
    refuse(b, "sqlite:x?", "a table or a query is missing");
    refuse(b, "sqlite:x?table=a&query=b", "table and query are both given");
    refuse(b, "sqlite:x?table=a&table=b", "says twice what the table is");
    refuse(b, "sqlite:x?tab=a", "has 'tab' in it");
    refuse(b, "sqlite:x?table", "has 'table' in it");
    refuse(b, "sqlite:?table=a", "not followed by the name of a file");
    refuse(b, "sqlite:x?table=%", "two hexadecimal digits");
    refuse(b, "sqlite:x?table=%4", "two hexadecimal digits");
    refuse(b, "sqlite:x?table=%0g", "two hexadecimal digits");
    refuse(b, "sqlite:x?table=a%00b", "two hexadecimal digits");
}

static void passwords_are_refused_and_not_repeated(void **state)
{
    static const char *const addresses[] = {
        "postgresql://u:secret@h/d?table=x",   "postgres://u:secret@h/d?table=x",
        "postgresql://:secret@h/d?table=x",    "postgresql://u:se/cret@h/d?table=x",
        "postgresql://u:se?cret@h/d?table=x",  "postgresql://u:se@cret@h/d?table=x",
        "postgresql://h/d?password=secret",    "postgresql://h/d?table=x&password=secret",
        "postgresql://h/d?sslpassword=secret", "postgresql://u:secret",
        "postgresql://u:1secret/d?table=x",
    };
    for (size_t a = 0; a < sizeof addresses / sizeof addresses[0]; a++)
        refuse(*state, addresses[a], "password");
}

static void memory_may_run_out(void **state)
{
    bed *b = *state;
    cw_status status = CW_NO_MEMORY;
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cwi_uri_clear(&b->uri);
        cwi_begin(b->ctx);
        cwi_mem_fail_at(b->ctx, nth);
        status = cwi_uri_parse(b->ctx, "postgresql://u@h/d?a=b&c=d&table=x&user=y", &b->uri);
        cwi_mem_fail_at(b->ctx, 0);
        assert_true(nth < 100);
    }
    assert_int_equal(status, CW_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_are_no_addresses), TEST(parameters_are_taken_apart),
        TEST(wrong_ones_are_refused), TEST(passwords_are_refused_and_not_repeated),
        TEST(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
