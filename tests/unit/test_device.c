/*
 * test_device.c - what goes wrong with a device, and what is said of it: memory that is not there
 * and a device that is lost, at every place where it may happen.  The device is made of fibres.
 */
#include "engine/device.h"
#include "engine_check.h"
#include "evaluate/evaluate.h"
#include "testing.h"

/* A training and all that is asked of an engine beside its steps. */
static cw_status train_a_little(small_data *f, const cw_options *options)
{
    cw_status status = CW_OK;
    cwi_trainer *t = NULL;
    cwi_ranker ranker = {0};
    cwi_audience audience = {0};
    cwi_state *state = malloc(sizeof *state);
    const cwi_params *params;
    cwi_metrics metrics;
    CW_TRY(cwi_trainer_create(f->l.ctx, f->data, options, &t));
    const cwi_engine_verbs *v = t->engine->verbs;
    t->task.steps_per_epoch = 2;
    for (int s = 0; s < 2; s++) CW_TRY(cwi_trainer_step(t));
    CW_TRY(v->settle(t->engine));
    CW_TRY(v->rank(t->engine, &ranker));
    CW_TRY(
        cwi_audience_create(t->ctx, &t->dataset->part[CW_PART_VALID], ranker.n_users, &audience));
    audience.mask = &t->training.by_user;
    for (int k = 2; k < 600; k += 300) /* more than a device lists, too */
        CW_TRY(cwi_evaluate_audience(t->ctx, &ranker, &audience, t->training.degree, k, &metrics));
    CW_TRY(v->keep(t->engine));
    CW_TRY(cwi_trainer_step(t));
    CW_TRY(v->kept(t->engine, &params));
    CW_TRY(v->tell(t->engine, &t->tally));
    CW_TRY(v->read(t->engine, state));
    CW_TRY(v->write(t->engine, 0, &t->tally));
done:
    cwi_ranker_close(&ranker);
    cwi_audience_clear(&audience);
    cwi_trainer_free(t);
    free(state);
    return status;
}

static const char *const pairs[] = {
    "method=cpr backbone=mf",           "method=bpr backbone=lightgcn",
    "method=bpr backbone=ngcf",         "method=dice backbone=neumf dis=dcor",
    "method=cross-softmax backbone=mf", "method=bpr backbone=mf optimizer=adam-deferred",
    "method=mult-vae init=joint"};
enum { N_PAIRS = sizeof pairs / sizeof pairs[0] };

static cw_options *options_of(small_data *f, const char *pair)
{
    bool has_slots = !strstr(pair, "mult-vae"), has_rule = strstr(pair, "optimizer") != NULL;
    return trainer_options(
        f, pair,
        !has_slots || has_rule ? "device=cuda" : "device=cuda optimizer=adam beta=2 spectral=0.1");
}

/* Fault number nth of a kind. */
static cw_status try_fault(small_data *f, const cw_options *options, const char *kind, long nth)
{
    static long run;
    char fault[80];
    snprintf(fault, sizeof fault, "%s %ld %ld", kind, nth, ++run);
    assert_int_equal(setenv("SIMT_FAULT", fault, 1), 0);
    cwi_begin(f->l.ctx);
    cw_status status = train_a_little(f, options);
    assert_int_equal(unsetenv("SIMT_FAULT"), 0);
    return status;
}

/* Later ones are alike: the distance between those that are tried grows. */
static void check_faults(small_data *f, const char *kind, cw_status expected, const char *says,
                         long at_least)
{
    for (int p = 0; p < N_PAIRS; p++) {
        cw_options *options = options_of(f, pairs[p]);
        long nth = 1;
        for (cw_status status; (status = try_fault(f, options, kind, nth)) != CW_OK;
             nth += 1 + nth / 16) {
            const char *got = cw_context_error(f->l.ctx);
            if (status != expected || strncmp(got, says, strlen(says)) != 0)
                fail_msg("%s, %s %ld: status %d, %s", pairs[p], kind, nth, (int)status, got);
        }
        if (nth < at_least) fail_msg("%s: only %ld faults", pairs[p], nth);
        cw_options_free(options);
    }
}

static void memory_that_is_not_there_is_told(void **state)
{
    check_faults(*state, "memory", CW_NO_MEMORY, "GPU 0 has no memory left", 30);
}

static void a_device_that_is_lost_is_told(void **state)
{
    check_faults(*state, "work", CW_IO, "GPU 0 is lost (CUDA says: fibres were cut); ", 100);
}

static void memory_of_the_host_may_lack_at_every_place(void **state)
{
    small_data *f = *state;
    for (int p = 0; p < N_PAIRS; p++) {
        cw_options *options = options_of(f, pairs[p]);
        for (int64_t nth = 1;; nth++) {
            cwi_begin(f->l.ctx);
            cwi_mem_fail_at(f->l.ctx, nth);
            cw_status status = train_a_little(f, options);
            bool has_failed = atomic_load(&f->l.ctx->fail_at) <= 0;
            cwi_mem_fail_at(f->l.ctx, 0);
            if (status == CW_OK && !has_failed) break;
            if (status != CW_OK && status != CW_NO_MEMORY)
                fail_msg("%s, %lld: %s", pairs[p], (long long)nth, cw_context_error(f->l.ctx));
        }
        cw_options_free(options);
    }
}

/* Too large a table is refused before training, with what it takes and what there is. */
static void what_does_not_fit_is_refused_with_its_bytes(void **state)
{
    small_data *f = *state;
    long long takes, has;
    char name[40];
    for (int p = 0; p < N_PAIRS; p++) {
        cwi_trainer *t;
        cw_options *options = options_of(f, pairs[p]);
        assert_int_equal(setenv("SIMT_BYTES", "5000", 1), 0);
        cwi_begin(f->l.ctx);
        assert_int_equal(cwi_trainer_create(f->l.ctx, f->data, options, &t), CW_NO_MEMORY);
        assert_int_equal(unsetenv("SIMT_BYTES"), 0);
        const char *got = cw_context_error(f->l.ctx);
        if (sscanf(
                got,
                "training takes %lld bytes of the memory of GPU 0 (%39[^)]), which has %lld left; "
                "a smaller --batch or --dim takes less",
                &takes, name, &has) != 3)
            fail_msg("%s: %s", pairs[p], got);
        assert_int_equal(has, 5000);
        assert_true(takes > has && takes < 100 << 20);
        cw_options_free(options);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_small_data, free_small_data)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_that_is_not_there_is_told),
        TEST(a_device_that_is_lost_is_told),
        TEST(memory_of_the_host_may_lack_at_every_place),
        TEST(what_does_not_fit_is_refused_with_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
