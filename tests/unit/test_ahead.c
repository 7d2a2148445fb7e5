/* test_ahead.c - batches drawn by processes, each of which has the interactions of its users: here
 * they are threads. */
#include "core/mem.h"
#include "core/rng.h"
#include "processes.h"
#include "registry/registry.h"
#include "sample/ahead.h"

enum { USERS = 1100, ITEMS = 60, ROWS = 6000, STEPS = 3 };

/* ---- data ------------------------------------------------------------------------------ */

typedef struct story {
    const char *method;       /* whose sampler it is */
    const char *name, *value; /* an option */
    int32_t items;
} story;

static int32_t user_of[ROWS], item_of[ROWS];

/* Rows in no order, without repeats; the last user has every item. */
static int64_t make_rows(int32_t n_items)
{
    static uint8_t has[USERS][ITEMS];
    cwi_rng rng;
    int64_t n = 0, most = n_items < ITEMS ? 600 * n_items : ROWS - ITEMS;
    memset(has, 0, sizeof has);
    cwi_rng_init(&rng, 7, CWI_RNG_TEST, 0);
    while (n < most) {
        int32_t u = (int32_t)cwi_rng_below(&rng, USERS - 1);
        int32_t i = (int32_t)cwi_rng_below(&rng, (uint64_t)n_items);
        if (has[u][i]) continue;
        has[u][i] = 1;
        user_of[n] = u;
        item_of[n++] = i;
    }
    for (int32_t i = 0; i < n_items; i++, n++) {
        user_of[n] = USERS - 1;
        item_of[n] = i;
    }
    return n;
}

static cw_options *options_of(cw_context *ctx, const story *s, const cwi_method **method)
{
    cw_options *given, *settled;
    const cwi_backbone *backbone;
    assert_int_equal(cw_options_create(ctx, "train", &given), CW_OK);
    assert_int_equal(cw_options_set(ctx, given, "method", s->method), CW_OK);
    assert_int_equal(cw_options_set(ctx, given, "batch", "300"), CW_OK);
    assert_int_equal(cw_options_set(ctx, given, "seed", "5"), CW_OK);
    if (s->name) assert_int_equal(cw_options_set(ctx, given, s->name, s->value), CW_OK);
    assert_int_equal(cwi_train_settle(ctx, given, NULL, &settled, method, &backbone), CW_OK);
    cw_options_free(given);
    return settled;
}

static void set_propensities(cwi_training *t)
{
    t->propensity = calloc((size_t)t->n_items, sizeof *t->propensity);
    for (int32_t i = 0; i < t->n_items; i++) t->propensity[i] = (1.0 + i % 7) / 8;
}

static void clear(cwi_training *t)
{
    free(t->propensity);
    t->propensity = NULL;
    cwi_training_clear(t);
}

/* ---- what one process draws -------------------------------------------------------------- */

typedef struct drawn {
    cwi_batch batch[STEPS];
    cwi_draws draws;
} drawn;

static drawn expected;

static void draw_alone(const story *s, int64_t rows)
{
    cw_context *ctx;
    const cwi_method *method;
    cwi_training t;
    cwi_pairs pairs = {.count = rows, .user = user_of, .item = item_of};
    int64_t max_slots;
    void *state;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    cw_options *options = options_of(ctx, s, &method);
    assert_int_equal(cwi_training_create(ctx, USERS, s->items, &pairs, &t), CW_OK);
    set_propensities(&t);
    assert_int_equal(cwi_sampler_open(ctx, method->sampler, &t, options, &max_slots, &state),
                     CW_OK);
    memset(&expected, 0, sizeof expected);
    for (uint64_t k = 0; k < STEPS; k++) {
        const cwi_moment now = {0, 40 + k};
        assert_int_equal(cwi_batch_create(ctx, max_slots, &expected.batch[k]), CW_OK);
        assert_int_equal(cwi_sampler_draw(ctx, method->sampler, state, &now, &expected.batch[k],
                                          &expected.draws),
                         CW_OK);
    }
    cwi_sampler_close(method->sampler, state);
    clear(&t);
    cw_options_free(options);
    cw_context_free(ctx);
}

/* ---- and what many draw -------------------------------------------------------------------- */

/* What all processes draw, and what becomes of it. */
typedef struct trial {
    const story *story;
    int64_t rows;
    int64_t kept[MOST_PROCESSES], sent[MOST_PROCESSES], exchanges[MOST_PROCESSES];
} trial;

static bool same_batch(const cwi_batch *a, const cwi_batch *b)
{
    size_t slots = (size_t)a->n_slots;
    if (a->n_groups != b->n_groups || a->n_slots != b->n_slots || a->grid != b->grid) return false;
    for (int g = 0; g < a->n_groups; g++)
        if (memcmp(&a->group[g], &b->group[g], sizeof a->group[g]) != 0) return false;
    return memcmp(a->user, b->user, slots * sizeof *a->user) == 0 &&
           memcmp(a->item, b->item, slots * sizeof *a->item) == 0 &&
           memcmp(a->mark, b->mark, (size_t)cwi_batch_rows(a) * sizeof *a->mark) == 0;
}

static void take_own(const cwi_world *w, int64_t rows, cwi_pairs *own)
{
    own->user = malloc(ROWS * sizeof *own->user);
    own->item = malloc(ROWS * sizeof *own->item);
    for (int64_t r = 0; r < rows; r++) {
        if (cwi_row_owner(w, user_of[r]) != w->rank) continue;
        own->user[own->count] = user_of[r];
        own->item[own->count++] = item_of[r];
    }
}

static void compare(process *p, cw_context *ctx, cwi_ahead *ahead, cwi_batch *batch)
{
    trial *t = p->what;
    cwi_draws draws = {0};
    const cwi_moment now = {0, 40};
    if (cwi_ahead_has(ahead, 40)) p->differs = "a window before there is one";
    if (cwi_ahead_steps(ahead) < STEPS) p->differs = "the steps of a window";
    for (int twice = 0; twice < 2; twice++) /* nothing is left of a window */
        if (cwi_ahead_draw(ctx, ahead, &now, STEPS, &t->sent[p->rank], &t->exchanges[p->rank]) !=
            CW_OK)
            p->differs = "the drawing";
    for (uint64_t k = 0; k < STEPS; k++) {
        if (!cwi_ahead_has(ahead, 40 + k)) p->differs = "the steps that there are";
        if (cwi_ahead_take(ctx, ahead, 40 + k, batch, &draws) != CW_OK) p->differs = "the check";
        if (!same_batch(batch, &expected.batch[k])) p->differs = "a batch";
    }
    if (cwi_ahead_has(ahead, 40 + STEPS)) p->differs = "the end of the window";
    if (memcmp(&draws, &expected.draws, sizeof draws) != 0) p->differs = "the counts";
}

static void draw_together(process *p, const cwi_world *world, cw_context *ctx)
{
    trial *shared = p->what;
    const cwi_method *method;
    cwi_training t;
    cwi_pairs own = {0};
    cwi_batch batch;
    cwi_ahead *ahead;
    int64_t max_slots;
    void *state;
    cw_options *options = options_of(ctx, shared->story, &method);
    take_own(world, shared->rows, &own);
    shared->kept[p->rank] = own.count;
    assert_int_equal(cwi_training_create_dealt(ctx, world, USERS, shared->story->items, &own, &t),
                     CW_OK);
    set_propensities(&t);
    assert_true(method->sampler->asks(options));
    assert_int_equal(cwi_sampler_open(ctx, method->sampler, &t, options, &max_slots, &state),
                     CW_OK);
    assert_int_equal(cwi_batch_create(ctx, max_slots, &batch), CW_OK);
    assert_int_equal(cwi_ahead_open(ctx, method->sampler, state, max_slots, &ahead), CW_OK);
    if (t.count != shared->rows) p->differs = "the number of rows";
    compare(p, ctx, ahead, &batch);
    cwi_ahead_close(ahead);
    cwi_batch_clear(&batch);
    cwi_sampler_close(method->sampler, state);
    clear(&t);
    free(own.user);
    free(own.item);
    cw_options_free(options);
}

static void try_story(const story *s, int processes)
{
    trial t = {.story = s, .rows = make_rows(s->items)};
    int64_t kept = 0;
    draw_alone(s, t.rows);
    run_processes(processes, s->method, draw_together, &t);
    for (int k = 0; k < processes; k++) {
        assert_in_range(t.exchanges[k], 2, 2 * 2 * 64);
        assert_true(processes == 1 || t.sent[k] > 0);
        kept += t.kept[k];
    }
    assert_int_equal(kept, t.rows);
    for (int k = 0; k < STEPS; k++) cwi_batch_clear(&expected.batch[k]);
}

static const story stories[] = {
    {"cpr", NULL, NULL, ITEMS},
    {"cpr", "distinct", "all", ITEMS},
    {"cpr", "max-k", "5", ITEMS},
    {"cpr-rand", "cycle", "2", 3}, /* hardly anything is accepted */
    {"bpr", NULL, NULL, ITEMS},
    {"bpr", NULL, NULL, 2}, /* who had all items has no row */
    {"ubpr", "propensity-power", "0.5", ITEMS},
    {"bce", NULL, NULL, ITEMS},
    {"bce", "negatives", "user", ITEMS},
    {"rel-mf", NULL, NULL, 3},
    {"cross-softmax", NULL, NULL, ITEMS},
    {"sl", NULL, NULL, ITEMS},
    {"fs-pair", NULL, NULL, ITEMS},
};

static void many_draw_what_one_does(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof stories / sizeof stories[0]; k++)
        for (int processes = 1; processes <= 3; processes++) try_story(&stories[k], processes);
}

static void what_needs_all_interactions_says_so(void **state)
{
    static const story by_user = {"bpr", "pos", "user", ITEMS}, dice = {"dice", NULL, NULL, ITEMS};
    cw_context *ctx;
    const cwi_method *method;
    (void)state;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    cw_options *options = options_of(ctx, &by_user, &method);
    assert_false(method->sampler->asks(options));
    cw_options_free(options);
    options = options_of(ctx, &dice, &method);
    assert_null(method->sampler->asks);
    cw_options_free(options);
    cw_context_free(ctx);
}

/* A process alone, whose every allocation fails in turn. */
static cw_status try_alone(cw_context *ctx, const cw_options *options, const cwi_method *method,
                           const cwi_pairs *pairs)
{
    cw_status status;
    const cwi_world w = cwi_world_of(&process_calls, 0, 1);
    const cwi_moment now = {0, 1};
    int64_t max_slots, sent = 0, exchanges = 0;
    cwi_training t = {0};
    void *sampler = NULL;
    cwi_ahead *ahead = NULL;
    CW_TRY(cwi_training_create_dealt(ctx, &w, USERS, ITEMS, pairs, &t));
    CW_TRY(cwi_sampler_open(ctx, method->sampler, &t, options, &max_slots, &sampler));
    CW_TRY(cwi_ahead_open(ctx, method->sampler, sampler, max_slots, &ahead));
    CW_TRY(cwi_ahead_draw(ctx, ahead, &now, 2, &sent, &exchanges));
done:
    cwi_ahead_close(ahead);
    cwi_sampler_close(method->sampler, sampler);
    cwi_training_clear(&t);
    return status;
}

static void every_missing_block_of_memory_is_told(void **state)
{
    cw_context *ctx;
    const cwi_method *method;
    cw_status status = CW_NO_MEMORY;
    (void)state;
    cwi_pairs pairs = {.count = make_rows(ITEMS), .user = user_of, .item = item_of};
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    assert_int_equal(cw_context_set_threads(ctx, 1), CW_OK);
    cw_options *options = options_of(ctx, &stories[0], &method);
    my_rank = 0;
    n_processes = 1;
    pthread_barrier_init(&everybody, NULL, 1);
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cwi_mem_fail_at(ctx, nth);
        status = try_alone(ctx, options, method, &pairs);
        assert_in_range(nth, 1, 2000);
    }
    assert_int_equal(status, CW_OK);
    pthread_barrier_destroy(&everybody);
    cw_options_free(options);
    cw_context_free(ctx);
}

static void too_large_a_batch_is_refused(void **state)
{
    cw_context *ctx;
    cwi_ahead *ahead;
    (void)state;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    assert_int_equal(cwi_ahead_open(ctx, NULL, NULL, (int64_t)1 << 40, &ahead), CW_UNSUPPORTED);
    assert_string_equal(cw_context_error(ctx),
                        "a batch has 1099511627776 slots; where interactions "
                        "are dealt out 134217728 are possible");
    assert_null(ahead);
    cw_context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_draw_what_one_does),
        cmocka_unit_test(what_needs_all_interactions_says_so),
        cmocka_unit_test(every_missing_block_of_memory_is_told),
        cmocka_unit_test(too_large_a_batch_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
