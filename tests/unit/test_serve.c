/* test_serve.c - parts of the server: URLs, tokens, clients, the log of feedback. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model_sample.h"

#include "draft.h"
#include "ledger.h" /* after the headers of the library, whose arguments have names of its types */

/* ---- URLs ------------------------------------------------------------------------ */

static void urls_are_taken_apart(void **state)
{
    (void)state;
    static url u;
    assert_null(url_parse("/v1/a%2fb%20c/%C3%A9?n=5&only=a+b&only=%26&&flag", &u));
    assert_int_equal(u.n_segments, 3);
    assert_string_equal(u.segment[1], "a/b c");
    assert_string_equal(u.segment[2], "\xc3\xa9");
    assert_int_equal(u.n_pairs, 4);
    assert_string_equal(u.pair[1].value, "a b");
    assert_string_equal(u.pair[2].value, "&");
    assert_string_equal(u.pair[3].name, "flag");
    assert_string_equal(u.pair[3].value, "");
    assert_null(url_parse("/", &u));
    assert_true(u.n_segments == 1 && u.n_pairs == 0 && u.segment[0][0] == '\0');
    assert_string_equal(url_parse("v1", &u), "the URL does not begin with a slash");
    assert_string_equal(url_parse("/%zz", &u),
                        "a % in the URL is not followed by two hexadecimal digits");
    assert_string_equal(url_parse("/a%0", &u),
                        "a % in the URL is not followed by two hexadecimal digits");
    assert_string_equal(url_parse("/?a=%00", &u), "there is a zero byte in the URL");
    assert_string_equal(url_parse("/%ff", &u), "the URL is not UTF-8");
    assert_string_equal(url_parse("/1/2/3/4/5/6/7/8/9", &u),
                        "the path of the URL has too many parts");
}

static void utf8_is_what_the_standard_says(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "a",
                                       "\xc2\x80",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xc3",
                                      "\xe2\x82",
                                      "a\xff"};
    for (size_t k = 0; k < sizeof good / sizeof *good; k++)
        assert_true(is_utf8(good[k], strlen(good[k])));
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(is_utf8(bad[k], strlen(bad[k])));
    assert_int_equal(count_characters("a\xc3\xa9\xf0\x90\x80\x80"), 3);
}

/* ---- replies ------------------------------------------------------------------------- */

static void assert_same_json(json_t *json, draft *d)
{
    char *text = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    DRAFT(d, "");
    assert_non_null(text);
    assert_false(d->is_broken);
    if (strlen(text) != d->length || memcmp(text, d->text, d->length) != 0)
        fail_msg("%.*s instead of %s", (int)d->length, d->text, text);
    free(text);
    json_decref(json);
    draft_clear(d);
}

/* All powers of two and ten, what lies beside them, ties, and many others. */
static void numbers_are_written_as_jansson_has_them(void **state)
{
    (void)state;
    draft d = {0};
    uint32_t seed = 7;
    for (int k = 0; k < 40000; k++) {
        union {
            uint32_t bits;
            float number;
        } any = {.bits = seed};
        seed = seed * 1664525u + 1013904223u;
        double middle = ldexp((double)(seed >> 8), (int)(seed & 63) - 56);
        if (isfinite(any.number)) {
            draft_real(&d, (double)any.number);
            assert_same_json(json_real((double)any.number), &d);
        }
        draft_real(&d, -middle);
        assert_same_json(json_real(-middle), &d);
    }
    for (int power = -12; power < 14; power++)
        for (int near = -2; near <= 2; near++) {
            float number = (float)pow(10, power);
            for (int k = 0; k < abs(near); k++)
                number = nextafterf(number, near < 0 ? 0 : INFINITY);
            draft_real(&d, (double)number);
            assert_same_json(json_real((double)number), &d);
            draft_real(&d, pow(10, power) * (1 + near));
            assert_same_json(json_real(pow(10, power) * (1 + near)), &d);
        }
    static const double ties[] = {0.0, -0.0, 0.5, 99999999.5, 16777215.5, 1048575.9375, 1.0 / 3};
    for (size_t k = 0; k < sizeof ties / sizeof *ties; k++) {
        draft_real(&d, ties[k]);
        assert_same_json(json_real(ties[k]), &d);
    }
    static const int64_t whole[] = {0, 7, -1, 10, INT64_MAX, INT64_MIN};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) {
        draft_whole(&d, whole[k]);
        assert_same_json(json_integer(whole[k]), &d);
    }
    draft_real(&d, INFINITY);
    assert_true(d.is_broken);
    draft_clear(&d);
}

static void ids_are_written_as_jansson_has_them(void **state)
{
    (void)state;
    draft d = {0};
    char id[4] = "";
    for (int first = 1; first < 256; first++)
        for (int second = 0; second < 256; second += second < 128 ? 1 : 9) {
            id[0] = (char)first;
            id[1] = (char)second;
            draft_id(&d, id);
            assert_same_json(serve_id_json(id), &d);
        }
    static const char *const ids[] = {"", "\xe2\x82\xac \"\\/\x7f\n", "a\xff\"\xc3\xa9",
                                      "\xed\xa0\x80"};
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
        draft_id(&d, ids[k]);
        assert_same_json(serve_id_json(ids[k]), &d);
    }
}

/* ---- tokens and clients -------------------------------------------------------------- */

static void write_tokens(const char *folder, const char *text, mode_t mode, char path[128])
{
    snprintf(path, 128, "%s/tokens", folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void tokens_have_roles(void **state)
{
    (void)state;
    char folder[64], path[128];
    make_scratch(folder);
    write_tokens(folder, "# who\r\nwrite  wwwwwwwwwwwwwwww\r\n\nadmin aaaaaaaaaaaaaaaaa\n", 0640,
                 path);
    guard *g = guard_open(path, 0);
    assert_non_null(g);
    assert_true(guard_has(g, WRITER) && guard_has(g, ADMIN) && !guard_has(g, READER));
    assert_int_equal(guard_role(g, NULL), ANYBODY);
    assert_int_equal(guard_role(g, "Bearer wwwwwwwwwwwwwwww"), WRITER);
    assert_int_equal(guard_role(g, "bearer   aaaaaaaaaaaaaaaaa"), ADMIN);
    assert_int_equal(guard_role(g, "Bearer aaaaaaaaaaaaaaaa"), -1);
    assert_int_equal(guard_role(g, "Bearer aaaaaaaaaaaaaaaaaa"), -1);
    assert_int_equal(guard_role(g, "Bearer "), -1);
    assert_int_equal(guard_role(g, "Basic wwwwwwwwwwwwwwww"), -1);
    guard_close(g);
    static const struct {
        const char *text;
        mode_t mode;
    } wrong[] = {{"write wwwwwwwwwwwwwwww\n", 0644},
                 {"write short\n", 0600},
                 {"wri wwwwwwwwwwwwwwww\n", 0600},
                 {"write\n", 0600},
                 {"# nothing\n", 0600},
                 {"write wwwwwwww wwwwwwww\n", 0600}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        write_tokens(folder, wrong[k].text, wrong[k].mode, path);
        assert_null(guard_open(path, 0));
    }
    remove_scratch(folder);
}

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage out = {0};
    struct sockaddr_in *four = (void *)&out;
    struct sockaddr_in6 *six = (void *)&out;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        out.ss_family = AF_INET;
        return out;
    }
    assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
    out.ss_family = AF_INET6;
    return out;
}

static int admitted(guard *g, const char *from, int n)
{
    struct sockaddr_storage a = address(from);
    int may = 0;
    for (int k = 0; k < n; k++) may += guard_admit(g, (struct sockaddr *)&a);
    return may;
}

static void clients_have_rates_but_not_this_machine(void **state)
{
    (void)state;
    guard *g = guard_open(NULL, 50);
    assert_in_range(admitted(g, "192.0.2.1", 500), 50, 120);
    assert_int_equal(admitted(g, "192.0.2.2", 1), 1);
    assert_int_equal(admitted(g, "127.0.0.1", 500), 500);
    assert_int_equal(admitted(g, "::1", 500), 500);
    assert_int_equal(admitted(g, "::ffff:127.0.0.1", 500), 500);
    assert_in_range(admitted(g, "2001:db8::1", 500), 50, 120);
    assert_in_range(admitted(g, "2001:db8::2", 500), 0, 60); /* the same network */
    guard_close(g);
    g = guard_open(NULL, 0);
    assert_int_equal(admitted(g, "192.0.2.1", 500), 500);
    guard_close(g);
}

static void guessing_is_stopped(void **state)
{
    (void)state;
    guard *g = guard_open(NULL, 0);
    struct sockaddr_storage bad = address("192.0.2.1"), good = address("192.0.2.2"),
                            own = address("127.0.0.1");
    for (int k = 0; k < 10; k++) {
        assert_false(guard_is_blamed(g, (struct sockaddr *)&bad));
        guard_blame(g, (struct sockaddr *)&bad);
        guard_blame(g, (struct sockaddr *)&own);
    }
    assert_true(guard_is_blamed(g, (struct sockaddr *)&bad));
    assert_false(guard_is_blamed(g, (struct sockaddr *)&good));
    assert_false(guard_is_blamed(g, (struct sockaddr *)&own));
    guard_close(g);
}

/* ---- the log ------------------------------------------------------------------------------ */

static char *read_log(const char *folder, int number)
{
    static char text[1 << 16];
    char path[128];
    snprintf(path, sizeof path, "%s/log/feedback-%06d.csv", folder, number);
    FILE *in = fopen(path, "r");
    if (!in) return NULL;
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

static void append(ledger *l, const char *user, const char *item)
{
    char why[WHY_BYTES];
    const ledger_row row = {user, item, 7};
    size_t length;
    char *text = ledger_text(&row, 1, &length);
    assert_true(ledger_append(l, text, length, why) && ledger_remember(l, &row, 1));
    free(text);
}

typedef struct place {
    listener l;
    char folder[64], log[80];
    volume v;
} place;

static int open_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    listener_init(&p->l);
    make_scratch(p->folder);
    snprintf(p->log, sizeof p->log, "%s/log", p->folder);
    cw_model *model = make_sample(p->l.ctx);
    assert_int_equal(cw_recommender_open(p->l.ctx, model, &p->v.recommender), CW_OK);
    p->v.model = cw_recommender_model(p->v.recommender);
    cw_model_free(model);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    place *p = *state;
    cw_recommender_close(p->v.recommender);
    remove_scratch(p->folder);
    listener_clear(&p->l);
    free(p);
    return 0;
}

static void a_part_of_a_row_is_cut_off_and_the_rest_remembered(void **state)
{
    place *p = *state;
    int32_t had[4];
    char path[128];
    ledger *l = ledger_open(p->log, 1 << 20);
    assert_non_null(l);
    assert_null(ledger_open(p->log, 1 << 20)); /* one server at a time */
    append(l, "ann", "i2");
    append(l, "a \"b\",\nc", "i1");
    append(l, "ann", "i0"); /* she has it by the model */
    append(l, "ann", "nothing");
    assert_int_equal(ledger_had(l, "ann", &p->v, 0, had, 4), 1);
    assert_int_equal(had[0], 2);
    ledger_close(l);
    snprintf(path, sizeof path, "%s/feedback-000001.csv", p->log);
    FILE *out = fopen(path, "a");
    fputs("\"dee\",\"i1\",7\n\"dee\",\"i", out);
    fclose(out);
    l = ledger_open(p->log, 1 << 20);
    assert_non_null(l);
    assert_int_equal(ledger_had(l, "ann", &p->v, 0, had, 4), 1);
    assert_int_equal(ledger_had(l, "a \"b\",\nc", &p->v, -1, had, 4), 1);
    assert_int_equal(ledger_had(l, "nobody", &p->v, -1, had, 4), 0);
    append(l, "zoe", "i5");
    ledger_close(l);
    const char *text = read_log(p->folder, 1), *end = "\"dee\",\"i1\",7\n\"zoe\",\"i5\",7\n";
    assert_non_null(text);
    assert_string_equal(text + strlen(text) - strlen(end), end);
}

static void files_end_and_begin(void **state)
{
    place *p = *state;
    char id[16];
    int files = 0, rows = 0;
    ledger *l = ledger_open(p->log, 100);
    for (int k = 0; k < 50; k++) {
        snprintf(id, sizeof id, "u%d", k);
        append(l, id, "i1");
    }
    ledger_close(l);
    for (const char *text; (text = read_log(p->folder, files + 1)); files++) {
        assert_memory_equal(text, LEDGER_HEADER, strlen(LEDGER_HEADER));
        for (; (text = strchr(text, '\n')); text++) rows++;
    }
    assert_in_range(files, 5, 20);
    assert_int_equal(rows - files, 50);
}

/* A limit of the size of files stands for a full disk. */
static void a_full_disk_leaves_the_file_as_it_was(void **state)
{
    place *p = *state;
    struct rlimit before, small;
    char why[WHY_BYTES], big[4000];
    ledger *l = ledger_open(p->log, 1 << 20);
    append(l, "ann", "i1");
    memset(big, 'x', sizeof big);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool is_kept = ledger_append(l, big, sizeof big, why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(is_kept);
    assert_string_equal(why, "the interactions could not be kept: File too large");
    append(l, "bob", "i2");
    ledger_close(l);
    assert_string_equal(read_log(p->folder, 1),
                        LEDGER_HEADER "\"ann\",\"i1\",7\n\"bob\",\"i2\",7\n");
}

static void count_item(void *arg, const char *item)
{
    (void)item;
    ++*(int *)arg;
}

static void what_is_remembered_has_bounds(void **state)
{
    (void)state;
    recall *r = recall_create();
    char id[16];
    int n = 0;
    for (int k = 0; k < 1500; k++) {
        snprintf(id, sizeof id, "i%d", k);
        assert_true(recall_add(r, "busy", id));
        assert_true(recall_add(r, "calm", "i1"));
        assert_true(recall_add(r, id, "i1"));
    }
    recall_each(r, "busy", count_item, &n);
    assert_int_equal(n, 1000);
    n = 0;
    recall_each(r, "calm", count_item, &n);
    assert_int_equal(n, 1);
    recall_free(r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(utf8_is_what_the_standard_says),
        cmocka_unit_test(numbers_are_written_as_jansson_has_them),
        cmocka_unit_test(ids_are_written_as_jansson_has_them),
        cmocka_unit_test(tokens_have_roles),
        cmocka_unit_test(clients_have_rates_but_not_this_machine),
        cmocka_unit_test(guessing_is_stopped),
        TEST(a_part_of_a_row_is_cut_off_and_the_rest_remembered),
        TEST(files_end_and_begin),
        TEST(a_full_disk_leaves_the_file_as_it_was),
        cmocka_unit_test(what_is_remembered_has_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
