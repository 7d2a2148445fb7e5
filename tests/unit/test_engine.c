/*
 * test_engine.c - what every engine promises (engine/engine.h), against the plain one.
 *
 * An engine is met by its row in `engines`; everything here then holds for it, on every method and
 * backbone that the registry has.
 */
#include <fnmatch.h>
#include <math.h>

#include "engine/cpu/pack.h"
#include "engine/cuda/library.h"
#include "engine/device.h"
#include "engine_check.h"
#include "evaluate/evaluate.h"
#include "evaluate/topk.h"
#include "model/tensorfile.h"
#include "train_check.h"

typedef struct kind {
    const char *name, *options;
    double apart, loss; /* how far parameters and losses may be from those of the plain engine */
} kind;

static const kind engines[] = {
    {"plain", "engine=ref optimizer=adam", 0, 0},
#if defined(TEST_CUDA) /* of programs that have the engine beside them: on a GPU, or on fibres */
    {"cuda", "device=cuda optimizer=adam", 2e-6, 1e-6},
#else
    {"dense", "engine=cpu optimizer=adam", 2e-6, 1e-6},
    {"deferred", "engine=cpu optimizer=adam-deferred", 1e-3, 1e-5}, /* in closed form */
#endif
};

enum { N_ENGINES = sizeof engines / sizeof engines[0], STEPS = 3 };

static const char plain[] = "engine=ref optimizer=adam";

/* A trainer whose epochs have STEPS steps. */
static cwi_trainer *open_engine(small_data *f, const char *pair, const char *options)
{
    cwi_trainer *t = open_trainer(f, pair, options);
    t->task.steps_per_epoch = STEPS;
    return t;
}

static void make_steps(cwi_trainer *t, int steps)
{
    for (int k = 0; k < steps; k++)
        if (cwi_trainer_step(t) != CW_OK) fail_msg("%s", cw_context_error(t->ctx));
    assert_int_equal(t->engine->verbs->tell(t->engine, &t->tally), CW_OK);
}

static void settle(cwi_trainer *t)
{
    assert_int_equal(t->engine->verbs->settle(t->engine), CW_OK);
}

/* Relative distance of all parameters, root mean square; 0 is for the same bits. */
static double distance(const cwi_trainer *a, const cwi_trainer *b)
{
    double apart = 0, size = 0;
    const cwi_params *x = params_of(a), *y = params_of(b);
    for (int k = 0; k < x->count; k++)
        for (int64_t e = 0; e < x->tensor[k].rows * x->tensor[k].columns; e++) {
            apart += pow((double)x->tensor[k].data[e] - (double)y->tensor[k].data[e], 2);
            size += pow((double)x->tensor[k].data[e], 2);
        }
    return sqrt(apart / size);
}

/* ---- the same steps ---------------------------------------------------------------- */

static void check_tally(const char *what, const cwi_tally *got, const cwi_tally *expected,
                        double apart)
{
    double loss = expected->data_loss + expected->penalty;
    if (memcmp(&got->draws, &expected->draws, sizeof got->draws) != 0) fail_msg("%s: draws", what);
    if (got->steps != expected->steps || got->trained != expected->trained ||
        got->applied != expected->applied || got->bad != expected->bad)
        fail_msg("%s: counts", what);
    if (!(fabs(got->data_loss + got->penalty - loss) <= apart * fmax(1, fabs(loss))))
        fail_msg("%s: loss %.9g, not %.9g", what, got->data_loss + got->penalty, loss);
}

/* What differs in a score differs more where it is divided by little. */
static double sharpness(const cwi_trainer *t)
{
    const char *temperature = cw_options_get(t->options, "temperature");
    return temperature && temperature[0] ? fmax(1, 1 / atof(temperature)) : 1;
}

/* One engine beside the plain one for a few steps from the same parameters. */
static void check_steps(small_data *f, const char *pair, const kind *engine, const char *more)
{
    char what[200], ours[200], theirs[200];
    snprintf(what, sizeof what, "%s, %s, %s", engine->name, pair, more);
    snprintf(ours, sizeof ours, "%s %s", engine->options, more);
    snprintf(theirs, sizeof theirs, "%s %s", plain, more);
    cwi_trainer *a = open_engine(f, pair, ours), *b = open_engine(f, pair, theirs);
    make_steps(a, STEPS);
    make_steps(b, STEPS);
    check_tally(what, &a->tally, &b->tally, engine->loss * sharpness(a));
    settle(a);
    settle(b);
    double apart = distance(a, b);
    if (!(apart <= engine->apart)) fail_msg("%s: %g apart", what, apart);
    cwi_trainer_free(a);
    cwi_trainer_free(b);
}

static int met, listed; /* trainings that were tried on a GPU, and rankings there */

static bool is_part;           /* not all tests were asked for */
static const char *only = "*"; /* trainings whose words are like this are tried */

/* Does the engine take it? */
static bool takes(small_data *f, const char *pair, const kind *engine, const char *more)
{
    char why[CWI_DEVICE_TEXT];
    if (fnmatch(only, pair, 0) != 0) return false;
    if (strstr(engine->options, "deferred")) return !strstr(pair, "mult-vae");
    if (!strstr(engine->options, "cuda")) return true;
    cwi_trainer *t = open_engine(f, pair, more);
    bool can = cwi_cuda_trains(&t->task, why);
    if (!can && !strstr(why, "--device cuda does not train ")) fail_msg("%s", why);
    cwi_trainer_free(t);
    met += can;
    return can;
}

static void check_pair(small_data *f, const char *pair)
{
    static const char *const terms[] = {"reg-kind=table", "reg-kind=batch",
                                        "reg-kind=table reg-target=final"};
    bool has_slots = !strstr(pair, "mult-vae");
    for (int k = 1; k < N_ENGINES; k++)
        for (int term = 0; term < (has_slots ? 3 : 1); term++)
            if (takes(f, pair, &engines[k], has_slots ? terms[term] : "init=joint"))
                check_steps(f, pair, &engines[k], has_slots ? terms[term] : "init=joint");
}

static void every_engine_makes_the_steps_of_the_plain_one(void **state)
{
    for_each_pair(*state, check_pair);
}

static void variants_of_methods_are_the_same_too(void **state)
{
    static const char *const variants[][2] = {
        {"method=cpr backbone=mf", "beta=3 ratio=1 max-k=4 select=per-k"},
        {"method=cpr backbone=mf", "beta=3 ratio=1 max-k=4 select=per-k batch=96"},
        {"method=cpr backbone=mf", "beta=3 batch=4096"}, /* many that are alike */
        {"method=cpr backbone=lightgcn", "dim=6 layers=3 beta=2"},
        {"method=bpr backbone=mf", "dim=131"},
        {"method=dice backbone=mf", "neg=2 dis=l1"},
        {"method=dice backbone=lightgcn", "dis=dcor"},
        {"method=dice backbone=mf", "dis=dcor neg=3 dim=18"},
        {"method=dice backbone=mf", "dis=dcor dim=142 reg-kind=batch"},
        {"method=dice backbone=neumf", "dis=dcor dim=6 scorer=cosine spectral=0.1"},
        {"method=dice backbone=ngcf", "dis=dcor dis-penalty=2 reg-target=final"},
        {"method=cause backbone=mf", "neg=3 cause-penalty=l1"},
        {"method=rel-mf backbone=mf", "relmf-loss=log negatives=user"},
        {"method=bpr backbone=ngcf", "ngcf=original message-dropout=0.3 node-dropout=0.3"},
        {"method=dice backbone=ngcf", "ngcf=original dim=6 message-dropout=0.5"},
        {"method=cross-softmax backbone=ngcf", "ngcf=original node-dropout=0.5"},
        {"method=dice backbone=ngcf", "dim=6 layers=3 reg-target=final weight-reg=0.02"},
        {"method=cpr backbone=ngcf", "dim=5 layers=1 beta=2 reg-kind=batch reg-target=final"},
        {"method=bpr backbone=neumf", "hidden=6"},
        {"method=cpr backbone=neumf", "hidden=10,6,4 beta=2 weight-reg=0.02"},
        {"method=dice backbone=neumf", "hidden=8,6 dim=6"},
        {"method=bpr backbone=mf", "pos=user adam-eps=torch"},
        {"method=bpr backbone=mf", "scorer=cosine temperature=0.3"},
        {"method=cpr backbone=lightgcn", "scorer=cosine temperature=0.5"},
        {"method=dice backbone=ngcf", "scorer=cosine"}, /* every head by itself */
        {"method=bce backbone=mf", "temperature=2"},
        {"method=cause backbone=mf", "spectral=0.3 reg-kind=batch"},
        {"method=bpr backbone=ngcf", "spectral=0.1 reg-kind=batch reg-target=final"},
        {"method=cross-all backbone=lightgcn", "spectral=0.3 reg-kind=batch reg-target=final"},
        {"method=cpr backbone=mf", "spectral=0.2 beta=3 scorer=cosine"},
        {"method=dice backbone=lightgcn", "spectral=0.2"},
        {"method=sl backbone=mf", "spectral=0.05 candidates=9"},
        {"method=cross-softmax backbone=mf", "form=rows gamma=0.25 group=8"},
        {"method=cross-softmax backbone=lightgcn", "form=columns scorer=dot group=2"},
        {"method=cross-softmax backbone=ngcf", "form=both gamma=0 temperature=0.2"},
        {"method=cross-all backbone=mf", "hardest=0.25"},
        {"method=cross-all backbone=mf", "hardest=0.25 batch=300 group=150"}, /* several blocks */
        {"method=cross-all backbone=mf", "form=lse batch=300 group=150"},
        {"method=cross-all backbone=mf", "hardest=1 batch=260"},
        {"method=cross-softmax backbone=mf", "form=both batch=260 group=130"},
        {"method=cross-all backbone=mf", "hardest=0.25 group=12 scorer=cosine temperature=0.2"},
        {"method=cross-all backbone=lightgcn", "form=lse group=6"},
        {"method=sl backbone=mf", "candidates=5"},
        {"method=sl backbone=mf", "candidates=5 candidates-of=pair scorer=dot"},
        {"method=psl backbone=lightgcn", "candidates=4 temperature=0.4"},
        {"method=psl backbone=mf", "candidates=3 candidates-of=pair temperature=0.4"},
        {"method=bsl backbone=mf", "candidates=30 positive-temperature=0.5"},
        {"method=mult-vae init=joint", "vae-sizes=6 batch=20"},
        {"method=mult-vae init=joint", "vae-sizes=5,8,7 kl-steps=4 reg=0.02 keep=0.7"},
        {"method=bsl backbone=mf", "candidates=30 reg-kind=batch"},
        /* as much as there may be */
        {"method=bpr backbone=lightgcn", "layers=16"},
        {"method=bpr backbone=lightgcn", "layers=0"},
        {"method=bpr backbone=ngcf", "layers=6"},
        {"method=cpr backbone=mf", "max-k=16 batch=40"},
        {"method=bce backbone=mf", "neg=64"},
        {"method=bpr backbone=neumf", "hidden=7,6,5,4,3,2,2"},
        {"method=sl backbone=mf", "candidates=70 batch=32 reg-kind=batch"},
        {"method=psl backbone=mf", "candidates=3 candidates-of=pair reg-kind=batch"},
    };
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++)
        for (int k = 1; k < N_ENGINES; k++)
            if (takes(*state, variants[v][0], &engines[k], variants[v][1]))
                check_steps(*state, variants[v][0], &engines[k], variants[v][1]);
}

/* Whatever the registry holds, and rows that stand still: the plain engine has them all. */
static void every_rule_is_that_of_the_plain_engine(void **state)
{
    const char *name;
    static const char *const pairs[] = {"method=bpr backbone=mf", "method=cause backbone=mf",
                                        "method=bce backbone=lightgcn",
                                        "method=dice backbone=neumf", "method=mult-vae init=joint"};
#if defined(TEST_CUDA)
    const kind fast = {"cuda", "device=cuda", 2e-6, 1e-6};
#else
    const kind fast = {"cpu", "engine=cpu", 2e-6, 1e-6};
#endif
    for (size_t n = 0; (name = cw_optimizer_name(n)) != NULL; n++) {
        char rule[40];
        cwi_schedule schedule = cwi_find_optimizer(name)->schedule;
        bool waits = schedule == CWI_STEP_LATE && strstr(fast.options, "cuda"); /* not there */
        if (schedule != CWI_STEP_ALL && schedule != CWI_STEP_TOUCHED && !waits) continue;
        snprintf(rule, sizeof rule, "optimizer=%s", name);
        bool steps_all = schedule == CWI_STEP_ALL; /* as the last of the pairs needs */
        for (int p = 0; p < (steps_all ? 5 : 4); p++)
            if (takes(*state, pairs[p], &fast, rule)) check_steps(*state, pairs[p], &fast, rule);
    }
}

#if defined(TEST_CUDA)
/* ---- as far as steps can be compared -------------------------------------------------- */

enum { MANY_STEPS = 20 };
static const double parity = 1e-5;

/* Larger data, where a device has many blocks; fibres take time. */
typedef struct size_of_test {
    const char *options;
    bool is_small;
} size_of_test;

static size_of_test find_size(void)
{
    static const size_of_test small = {"dim=4 batch=24", true}, large = {"dim=36 batch=200", false};
    const cwi_cuda_calls *calls;
    cwi_cuda_device about;
    char why[CWI_CUDA_TEXT];
    assert_int_equal(cwi_cuda_load(&calls, why), CW_OK);
    assert_int_equal(calls->look(0, &about, why), CW_OK);
    return about.bytes > 0 && about.major == 0 ? small : large;
}

static double loss_so_far(const cwi_trainer *t)
{
    return t->tally.data_loss + t->tally.penalty;
}

/* The loss of every step, then all parameters, beside those of the CPU; samples are not selected.
 */
static void check_parity(small_data *f, const char *pair, const char *more)
{
    char ours[300], theirs[300];
    snprintf(ours, sizeof ours, "device=cuda optimizer=adam beta=1 %s", more);
    snprintf(theirs, sizeof theirs, "device=cpu optimizer=adam beta=1 %s", more);
    cwi_trainer *a = open_engine(f, pair, ours), *b = open_engine(f, pair, theirs);
    a->task.steps_per_epoch = b->task.steps_per_epoch = MANY_STEPS;
    for (int s = 0; s < MANY_STEPS; s++) {
        double before[] = {loss_so_far(a), loss_so_far(b)};
        make_steps(a, 1);
        make_steps(b, 1);
        double got = loss_so_far(a) - before[0], expected = loss_so_far(b) - before[1];
        if (!(fabs(got - expected) <= parity * fmax(fabs(expected), 0.01)))
            fail_msg("%s, %s: step %d has loss %.9g, not %.9g", pair, more, s + 1, got, expected);
    }
    check_tally(pair, &a->tally, &b->tally, parity);
    settle(a);
    settle(b);
    double apart = distance(a, b);
    if (!(apart <= parity)) fail_msg("%s, %s: %g apart after all steps", pair, more, apart);
    cwi_trainer_free(a);
    cwi_trainer_free(b);
}

static size_of_test extent;

/* A larger dataset where there is time for it. */
static void take_size(small_data *f)
{
    extent = find_size();
    if (extent.is_small) return;
    cw_dataset_free(f->data);
    f->data = simulate(f->l.ctx);
}

/* Pairs of a method and its backbone, with options. */
static void check_variants(small_data *f, const char *const (*variants)[2], size_t n,
                           void (*check)(small_data *, const char *, const char *))
{
    for (size_t v = 0; v < n; v++) {
        char more[200];
        snprintf(more, sizeof more, "%s %s", extent.options, variants[v][1]);
        if (fnmatch(only, variants[v][0], 0) == 0) check(f, variants[v][0], more);
    }
}

static void check_parity_of(small_data *f, const char *pair)
{
    static const kind device = {"cuda", "device=cuda", 0, 0};
    bool is_quick = strstr(pair, "backbone=mf") || strstr(pair, "=bpr ") || strstr(pair, "=vae");
    bool has_slots = !strstr(pair, "=vae");
    char more[200];
    snprintf(more, sizeof more, "%s%s", extent.options, has_slots ? "" : " init=joint");
    if (extent.is_small && !is_quick) return;
    if (takes(f, pair, &device, has_slots ? "" : "init=joint")) check_parity(f, pair, more);
}

static void twenty_steps_are_those_of_the_cpu(void **state)
{
    static const char *const variants[][2] = {
        {"method=bpr backbone=mf", "reg-kind=batch"},
        {"method=cpr backbone=mf", "scorer=cosine temperature=0.5"},
        {"method=dice backbone=mf", "dis=dcor"},
        {"method=bpr backbone=ngcf", "ngcf=original message-dropout=0.2 node-dropout=0.2"},
        {"method=cause backbone=mf", "spectral=0.2"},
    };
    small_data *f = *state;
    take_size(f);
    for_each_pair(f, check_parity_of);
    check_variants(f, variants, sizeof variants / sizeof variants[0], check_parity);
    if (!extent.is_small || fnmatch(only, "method=dice backbone=mf", 0) != 0) return;
    cw_dataset_free(f->data); /* points of many tiles */
    f->data = simulate(f->l.ctx);
    check_parity(f, "method=dice backbone=mf", "dis=dcor dim=36 batch=150");
}

/* A sample that one of them had not selected would move its rows as far as any step does. */
static void check_selection(small_data *f, const char *pair, const char *more)
{
    char ours[300], theirs[300];
    snprintf(ours, sizeof ours, "device=cuda optimizer=adam lr=0.01 %s", more);
    snprintf(theirs, sizeof theirs, "device=cpu optimizer=adam lr=0.01 %s", more);
    cwi_trainer *a = open_engine(f, pair, ours), *b = open_engine(f, pair, theirs);
    make_steps(a, 1);
    make_steps(b, 1);
    settle(a);
    settle(b);
    check_tally(pair, &a->tally, &b->tally, 1e-6);
    const cwi_tensor *x = &params_of(a)->tensor[0], *y = &params_of(b)->tensor[0];
    for (int64_t row = 0; row < x->rows; row++) {
        double apart = 0;
        for (int64_t c = row * x->columns; c < (row + 1) * x->columns; c++)
            apart += pow((double)x->data[c] - (double)y->data[c], 2);
        if (!(sqrt(apart / (double)x->columns) < 0.01 / 4))
            fail_msg("%s, %s: row %lld was trained otherwise", pair, more, (long long)row);
    }
    cwi_trainer_free(a);
    cwi_trainer_free(b);
}

static void the_first_step_selects_the_same_samples(void **state)
{
    static const char *const variants[][2] = {
        {"method=cpr backbone=mf", "beta=3"},
        {"method=cpr backbone=mf", "beta=5 max-k=4 select=per-k"},
        {"method=cpr backbone=mf", "beta=2 scorer=cosine"},
        {"method=cpr backbone=lightgcn", "beta=3"},
        {"method=cpr backbone=ngcf", "beta=3"},
        {"method=cpr backbone=neumf", "beta=3"},
    };
    small_data *f = *state;
    take_size(f);
    check_variants(f, variants, sizeof variants / sizeof variants[0], check_selection);
}
#endif

/* ---- the contract -------------------------------------------------------------------- */

/* Call for every engine, with a method of slots and with one of users. */
static void for_each_engine(small_data *f,
                            void (*try)(small_data *f, const char *pair, const kind *engine))
{
    static const char *const pairs[] = {"method=cpr backbone=mf", "method=dice backbone=lightgcn",
                                        "method=bpr backbone=ngcf", "method=ubpr backbone=neumf",
                                        "method=mult-vae init=joint"};
    for (int k = 0; k < N_ENGINES; k++)
        for (int p = 0; p < 5; p++)
            if (takes(f, pairs[p], &engines[k], "")) try(f, pairs[p], &engines[k]);
}

/* Steps that are asked for in ones and twos are those of a long window, whose rows wait in between.
 */
static void check_windows(small_data *f, const char *pair, const kind *engine)
{
    enum { MANY = 67 };
    cwi_trainer *at_once = open_engine(f, pair, engine->options);
    cwi_trainer *bit_by_bit = open_engine(f, pair, engine->options);
    at_once->task.steps_per_epoch = bit_by_bit->task.steps_per_epoch = MANY;
    make_steps(at_once, MANY);
    for (int made = 0, n = 1; made < MANY; made += n, n = n % 2 + 1)
        make_steps(bit_by_bit, made + n > MANY ? MANY - made : n);
    settle(at_once);
    settle(bit_by_bit);
    if (distance(at_once, bit_by_bit) != 0)
        fail_msg("%s, %s: not the same bits", engine->name, pair);
    check_tally(pair, &bit_by_bit->tally, &at_once->tally, 1e-12);
    cwi_trainer_free(at_once);
    cwi_trainer_free(bit_by_bit);
}

static void how_often_it_is_asked_changes_no_bit(void **state)
{
    static const char *const pairs[] = {"method=cpr backbone=mf batch=12 beta=3",
                                        "method=dice backbone=mf batch=6",
                                        "method=cause backbone=mf batch=4 dim=131"};
    for (int k = 1; k < N_ENGINES; k++)
        for (int p = 0; p < 3; p++)
            if (takes(*state, pairs[p], &engines[k], ""))
                check_windows(*state, pairs[p], &engines[k]);
}

#if defined(TEST_CUDA)
/* The least memory that a training takes on fibres, by the message of one that has none; 0 on a
 * GPU, whose memory is what it is. */
static long long least_memory(cwi_trainer *t)
{
    cwi_params first;
    cwi_engine *engine;
    long long bytes = 0;
    assert_int_equal(cwi_params_copy(t->ctx, params_of(t), &first), CW_OK);
    assert_int_equal(setenv("SIMT_BYTES", "1", 1), 0);
    if (t->engine->verbs->open(t->ctx, &t->task, &first, &engine) == CW_OK)
        t->engine->verbs->close(engine);
    else
        assert_int_equal(sscanf(cw_context_error(t->ctx), "training takes %lld", &bytes), 1);
    assert_int_equal(unsetenv("SIMT_BYTES"), 0);
    return bytes;
}

/* Where memory is short, windows are, and rows have one place: another way to the same bits. */
static void little_memory_changes_no_bit(void **state)
{
    static const char *const pairs[] = {"method=cpr backbone=mf batch=12 beta=3",
                                        "method=dice backbone=mf batch=6"};
    const kind *engine = &engines[1];
    for (int p = 0; p < 2; p++) {
        cwi_trainer *ample = open_engine(*state, pairs[p], engine->options);
        char bytes[32];
        snprintf(bytes, sizeof bytes, "%lld", least_memory(ample));
        if (strcmp(bytes, "0") != 0) assert_int_equal(setenv("SIMT_BYTES", bytes, 1), 0);
        cwi_trainer *scarce = open_engine(*state, pairs[p], engine->options);
        assert_int_equal(unsetenv("SIMT_BYTES"), 0);
        make_steps(ample, STEPS);
        make_steps(scarce, STEPS);
        settle(ample);
        settle(scarce);
        if (distance(ample, scarce) != 0) fail_msg("%s: not the same bits", pairs[p]);
        cwi_trainer_free(ample);
        cwi_trainer_free(scarce);
    }
}
#endif

/* Everything of one engine into another that was opened for the same task, as a checkpoint does. */
static void hand_over(cwi_trainer *from, cwi_trainer *to)
{
    cwi_state *x = malloc(sizeof *x), *y = malloc(sizeof *y);
    assert_int_equal(from->engine->verbs->read(from->engine, x), CW_OK);
    assert_int_equal(to->engine->verbs->read(to->engine, y), CW_OK);
    assert_int_equal(x->count, y->count);
    for (int k = 0; k < x->count; k++) {
        const cwi_state_array *a = &x->array[k], *b = cwi_state_find(y, a->name);
        assert_non_null(b);
        assert_true(a->columns == b->columns && a->dtype == b->dtype);
        size_t n = (size_t)(b->rows * (b->columns ? b->columns : 1));
        bool lacks = b->may_lack && a->rows == 0;
        if (n > 0 && !lacks) assert_int_equal(a->rows, b->rows);
        if (n > 0 && !lacks) memcpy(b->data, a->data, n * cwi_dtype_bytes[a->dtype]);
        if (n > 0 && lacks) memset(b->data, 0, n * cwi_dtype_bytes[a->dtype]);
    }
    assert_int_equal(to->engine->verbs->write(to->engine, from->epoch, &from->tally), CW_OK);
    free(x);
    free(y);
}

static void check_hand_over(small_data *f, const char *pair, const kind *engine)
{
    cwi_trainer *whole = open_engine(f, pair, engine->options);
    cwi_trainer *begun = open_engine(f, pair, engine->options);
    cwi_trainer *other = open_engine(f, pair, engine->options);
    make_steps(whole, STEPS);
    make_steps(begun, 1);
    make_steps(other, 2); /* what it did is forgotten */
    hand_over(begun, other);
    make_steps(other, STEPS - 1);
    settle(whole);
    settle(other);
    if (distance(whole, other) != 0) fail_msg("%s, %s: not the same bits", engine->name, pair);
    assert_int_equal(other->tally.steps, STEPS);
    cwi_trainer_free(whole);
    cwi_trainer_free(begun);
    cwi_trainer_free(other);
}

static void a_state_goes_on_in_another_engine_bit_for_bit(void **state)
{
    for_each_engine(*state, check_hand_over);
}

#if !defined(TEST_CUDA)
static void expect_near(const float *got, const float *expected, const float *unit, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (!(fabsf(got[k] - expected[k]) <= unit[k] + 1e-6f * fabsf(expected[k])))
            fail_msg("%g is not %g", (double)got[k], (double)expected[k]);
}

/* Rows of a table that wait for nothing hold its moments: those that are known better stay, and
 * lost ones are found as far as they are kept. */
static void check_packed(small_data *f, const char *pair)
{
    enum { BYTES = sizeof(float) };
    cwi_trainer *t = open_engine(f, pair, "engine=cpu optimizer=adam");
    cwi_host *host = (cwi_host *)t->engine;
    cwi_deferred *rows;
    make_steps(t, STEPS);
    const cwi_tensor *table = &host->params.tensor[0];
    int64_t n = table->rows * table->columns;
    float *m = host->memory[0].tensor[0].data, *v = host->memory[1].tensor[0].data;
    float *before[3], *of_m = malloc((size_t)n * BYTES), *of_v = calloc((size_t)n, BYTES);
    for (int k = 0; k < 3; k++) before[k] = malloc((size_t)n * BYTES);
    memcpy(before[0], table->data, (size_t)n * BYTES);
    memcpy(before[1], m, (size_t)n * BYTES);
    memcpy(before[2], v, (size_t)n * BYTES);
    for (int64_t k = 0; k < n; k++) of_m[k] = sqrtf(v[k]) / (float)CWI_DRIFT_UNITS;
    assert_int_equal(cwi_deferred_open(t->ctx, host, &rows), CW_OK);
    assert_int_equal(cwi_late_pack(t->ctx, rows, m, v, STEPS), CW_OK);
    assert_int_equal(cwi_late_unpack(t->ctx, rows, m, v, STEPS), CW_OK);
    assert_memory_equal(m, before[1], (size_t)n * BYTES);
    assert_memory_equal(v, before[2], (size_t)n * BYTES);
    memset(m, 0, (size_t)n * BYTES);
    memset(v, 0, (size_t)n * BYTES);
    assert_int_equal(cwi_late_unpack(t->ctx, rows, m, v, STEPS), CW_OK);
    assert_memory_equal(table->data, before[0], (size_t)n * BYTES);
    expect_near(m, before[1], of_m, n);
    expect_near(v, before[2], of_v, n);
    for (int k = 0; k < 3; k++) free(before[k]);
    free(of_m);
    free(of_v);
    cwi_deferred_free(rows);
    cwi_trainer_free(t);
}

static void moments_are_packed_and_found_again(void **state)
{
    check_packed(*state, "method=bpr backbone=mf");
    check_packed(*state, "method=bpr backbone=mf reg-kind=batch"); /* parameters lie elsewhere */
    check_packed(*state, "method=dice backbone=lightgcn");
}
#endif

#if defined(TEST_CUDA)
/* Rows that wait on the CPU and on a device do not: one goes on from the other, and the device from
 * itself bit for bit. */
static void rows_that_wait_go_to_a_device_and_back(void **state)
{
    static const char *const pairs[] = {
        "method=cpr backbone=mf batch=6", "method=bpr backbone=mf batch=6 reg-kind=batch",
        "method=dice backbone=mf batch=4 dis=dcor", "method=bpr backbone=lightgcn batch=6",
        "method=ubpr backbone=neumf batch=6"};
    const kind device = {"cuda", "device=cuda optimizer=adam-deferred", 1e-3, 1e-5};
    enum { MANY = 40, PART = MANY / 4 };
    for (int p = 0; p < 5; p++) {
        cwi_trainer *whole = open_engine(*state, pairs[p], "device=cpu optimizer=adam-deferred");
        cwi_trainer *first = open_engine(*state, pairs[p], "device=cpu optimizer=adam-deferred");
        cwi_trainer *second = open_engine(*state, pairs[p], device.options);
        cwi_trainer *third = open_engine(*state, pairs[p], "device=cpu optimizer=adam-deferred");
        whole->task.steps_per_epoch = first->task.steps_per_epoch = MANY;
        second->task.steps_per_epoch = third->task.steps_per_epoch = MANY;
        make_steps(whole, MANY);
        make_steps(first, PART);
        make_steps(second, 1); /* what it did is forgotten */
        hand_over(first, second);
        make_steps(second, PART);
        hand_over(second, third);
        make_steps(third, MANY - 2 * PART);
        settle(whole);
        settle(third);
        double apart = distance(whole, third);
        if (!(apart < device.apart)) fail_msg("%s: %g apart", pairs[p], apart);
        check_tally(pairs[p], &third->tally, &whole->tally, device.loss);
        cwi_trainer_free(whole);
        cwi_trainer_free(first);
        cwi_trainer_free(second);
        cwi_trainer_free(third);
        check_hand_over(*state, pairs[p], &device);
    }
}
#endif

#if defined(TEST_CUDA)
/* One device goes on from the other: the steps are those of one of them alone. */
static void check_crossing(small_data *f, const char *pair, const char *more)
{
    const char *const devices[] = {"device=cpu optimizer=adam", "device=cuda optimizer=adam"};
    enum { PART = 4, PARTS = 4 };
    char options[2][300];
    for (int k = 0; k < 2; k++) snprintf(options[k], sizeof options[k], "%s %s", devices[k], more);
    cwi_trainer *whole = open_engine(f, pair, options[0]), *now = open_engine(f, pair, options[1]);
    whole->task.steps_per_epoch = now->task.steps_per_epoch = PARTS * PART;
    make_steps(whole, PARTS * PART);
    make_steps(now, PART);
    for (int part = 1; part < PARTS; part++) {
        cwi_trainer *next = open_engine(f, pair, options[(part + 1) % 2]);
        next->task.steps_per_epoch = PARTS * PART;
        hand_over(now, next);
        cwi_trainer_free(now);
        now = next;
        make_steps(now, PART);
    }
    settle(whole);
    settle(now);
    check_tally(pair, &now->tally, &whole->tally, parity);
    double apart = distance(whole, now);
    if (!(apart <= parity)) fail_msg("%s, %s: %g apart", pair, more, apart);
    cwi_trainer_free(whole);
    cwi_trainer_free(now);
}

static void a_state_crosses_devices(void **state)
{
    static const char *const variants[][2] = {
        {"method=bpr backbone=mf", ""},
        {"method=bpr backbone=lightgcn", "reg-kind=batch"},
        {"method=bpr backbone=ngcf", "weight-reg=0.02"},
        {"method=bpr backbone=ngcf", "ngcf=original message-dropout=0.3 node-dropout=0.3"},
        {"method=dice backbone=ngcf", "dis=dcor"},
        {"method=bpr backbone=neumf", "hidden=8,6"},
        {"method=mult-vae", "init=joint"},
    };
    small_data *f = *state;
    take_size(f);
    check_variants(f, variants, sizeof variants / sizeof variants[0], check_crossing);
}
#endif

/* Engines that keep the same arrays can take over from each other. */
static void a_state_goes_from_the_plain_engine_to_a_fast_one_and_back(void **state)
{
    small_data *f = *state;
    const char *pair =
        strstr(engines[1].options, "cuda") ? "method=bpr backbone=mf" : "method=bpr backbone=neumf";
    cwi_trainer *whole = open_engine(f, pair, plain), *first = open_engine(f, pair, plain);
    cwi_trainer *second = open_engine(f, pair, engines[1].options);
    cwi_trainer *third = open_engine(f, pair, plain);
    make_steps(whole, STEPS);
    make_steps(first, 1);
    hand_over(first, second);
    make_steps(second, 1);
    hand_over(second, third);
    make_steps(third, 1);
    assert_true(distance(whole, third) < engines[1].apart);
    check_tally("handed over", &third->tally, &whole->tally, engines[1].loss);
    cwi_trainer_free(whole);
    cwi_trainer_free(first);
    cwi_trainer_free(second);
    cwi_trainer_free(third);
}

static void check_settled(small_data *f, const char *pair, const kind *engine)
{
    cwi_params before;
    cwi_trainer *t = open_engine(f, pair, engine->options);
    make_steps(t, STEPS);
    settle(t);
    assert_int_equal(cwi_params_copy(t->ctx, params_of(t), &before), CW_OK);
    settle(t);
    for (int k = 0; k < before.count; k++)
        assert_memory_equal(before.tensor[k].data, params_of(t)->tensor[k].data,
                            (size_t)(before.tensor[k].rows * before.tensor[k].columns) * 4);
    cwi_params_clear(&before);
    cwi_trainer_free(t);
}

static void settled_rows_stay(void **state)
{
    for_each_engine(*state, check_settled);
}

/* Every number of the state that is not a count becomes one that is none. */
static void spoil(cwi_trainer *t)
{
    cwi_state *state = malloc(sizeof *state);
    assert_int_equal(t->engine->verbs->read(t->engine, state), CW_OK);
    for (int k = 0; k < state->count; k++) {
        const cwi_state_array *a = &state->array[k];
        size_t width = a->dtype == CWI_F32 ? 4 : a->dtype == CWI_I16 ? 2 : 0;
        if (a->data) memset(a->data, 0xff, (size_t)(a->rows * a->columns) * width);
    }
    assert_int_equal(t->engine->verbs->write(t->engine, 0, &t->tally), CW_OK);
    free(state);
}

/* The step that goes wrong is told when somebody asks, and nothing moves from there on. */
static void check_bad(small_data *f, const char *pair, const kind *engine)
{
    cwi_trainer *t = open_engine(f, pair, engine->options);
    make_steps(t, 1);
    assert_int_equal(t->tally.bad, 0);
    spoil(t);
    make_steps(t, 2);
    if (t->tally.bad != 2) fail_msg("%s, %s: bad step %d", engine->name, pair, (int)t->tally.bad);
    assert_int_equal(t->tally.trained, 1);
    assert_int_equal(t->tally.applied, 1);
    assert_int_equal(cwi_trainer_listen(t), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(t->ctx), "not a number any more (epoch 1, step 2)"));
    cwi_trainer_free(t);
}

static void a_loss_that_is_no_number_is_the_last_one(void **state)
{
    for_each_engine(*state, check_bad);
}

static void check_epochs(small_data *f, const char *pair, const kind *engine)
{
    cwi_trainer *t = open_engine(f, pair, engine->options);
    for (int epoch = 0; epoch < 2; epoch++) {
        make_steps(t, STEPS);
        assert_int_equal(t->tally.steps, STEPS);
        assert_int_equal(t->tally.trained, STEPS);
        assert_int_equal(t->tally.applied, (epoch + 1) * STEPS);
        settle(t);
        t->epoch++;
        t->has_begun = false;
    }
    cwi_trainer_free(t);
}

static void a_tally_is_of_one_epoch_and_steps_of_all(void **state)
{
    for_each_engine(*state, check_epochs);
}

/* Lists that a device makes are those of the host, equal scores included. */
static void check_lists(small_data *f, const cwi_trainer *t, const cwi_ranker *own,
                        const cwi_ranker *host)
{
    enum { K = 5, MOST_USERS = 64 };
    const cwi_csr *mask = &t->training.by_user;
    int32_t users[MOST_USERS], item[MOST_USERS * K], count[MOST_USERS], n = f->data->n_users;
    if (!own->list) return;
    float *score = malloc((size_t)f->data->n_items * sizeof *score);
    assert_true(n <= MOST_USERS && f->data->n_items >= K);
    for (int32_t u = 0; u < n; u++) users[u] = n - 1 - u;
    const cwi_wish wish = {mask, users, n, K, NULL, item, count};
    assert_int_equal(own->list(t->ctx, own, &wish), CW_OK);
    for (int32_t u = 0; u < n; u++) {
        cwi_ranked top[K];
        int64_t begin = mask->start[users[u]], had = mask->start[users[u] + 1] - begin;
        host->score(host, &users[u], 1, score);
        assert_int_equal(cwi_topk(score, f->data->n_items, mask->value + begin, had, K, top),
                         count[u]);
        for (int32_t p = 0; p < count[u]; p++) assert_int_equal(top[p].item, item[u * K + p]);
    }
    listed++;
    free(score);
}

/* Metrics that a device adds up are those of the host, bit for bit; a second time of what it knows.
 */
static void check_metrics(const cwi_trainer *t, const cwi_ranker *own, const cwi_ranker *host)
{
    cwi_metrics expected, got;
    cwi_audience audience;
    assert_int_equal(
        cwi_audience_create(t->ctx, &t->dataset->part[CW_PART_VALID], host->n_users, &audience),
        CW_OK);
    audience.mask = &t->training.by_user;
    audience.is_kept = true;
    for (int k = 1; k < 9; k += 3) {
        const int64_t *degree = t->training.degree;
        assert_int_equal(cwi_evaluate_audience(t->ctx, host, &audience, degree, k, &expected),
                         CW_OK);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(cwi_evaluate_audience(t->ctx, own, &audience, degree, k, &got), CW_OK);
            assert_memory_equal(got.value, expected.value, sizeof got.value);
            assert_int_equal(got.users, expected.users);
        }
    }
    cwi_audience_clear(&audience);
}

/* A ranker after settle ranks by the parameters that the host reads. */
static void check_rank(small_data *f, const char *pair, const kind *engine)
{
    cwi_trainer *t = open_engine(f, pair, engine->options);
    cwi_ranker own = {0}, host = {0};
    float *a = malloc((size_t)f->data->n_items * sizeof *a),
          *b = malloc((size_t)f->data->n_items * sizeof *b);
    make_steps(t, STEPS);
    settle(t);
    assert_int_equal(t->engine->verbs->rank(t->engine, &own), CW_OK);
    assert_int_equal(cwi_method_rank(t->ctx, t->task.method, t->task.backbone, &t->task.shape,
                                     t->options, params_of(t), &host),
                     CW_OK);
    for (int32_t user = 0; user < f->data->n_users; user++) {
        own.score(&own, &user, 1, a);
        host.score(&host, &user, 1, b);
        assert_memory_equal(a, b, (size_t)f->data->n_items * sizeof *a);
    }
    check_lists(f, t, &own, &host);
    check_metrics(t, &own, &host);
    cwi_ranker_close(&own);
    cwi_ranker_close(&host);
    free(a);
    free(b);
    cwi_trainer_free(t);
}

/* What is kept is not touched by steps, and a second time takes its place. */
static void check_kept(small_data *f, const char *pair, const kind *engine)
{
    const cwi_params *kept;
    cwi_trainer *t = open_engine(f, pair, engine->options);
    const cwi_engine_verbs *v = t->engine->verbs;
    for (int round = 0; round < 2 && v->keep; round++) {
        cwi_params then = {0};
        make_steps(t, 1 + round);
        settle(t);
        assert_int_equal(cwi_params_copy(t->ctx, params_of(t), &then), CW_OK);
        assert_int_equal(v->keep(t->engine), CW_OK);
        make_steps(t, 1);
        assert_int_equal(v->kept(t->engine, &kept), CW_OK);
        for (int k = 0; k < then.count; k++)
            assert_memory_equal(kept->tensor[k].data, then.tensor[k].data,
                                (size_t)(then.tensor[k].rows * then.tensor[k].columns) *
                                    sizeof *then.tensor[k].data);
        cwi_params_clear(&then);
    }
    cwi_trainer_free(t);
}

static void kept_parameters_stay(void **state)
{
    for_each_engine(*state, check_kept);
}

static void a_ranker_is_of_the_settled_parameters(void **state)
{
    for_each_engine(*state, check_rank);
}

/* The rule depends on the data and the options alone. */
static void the_faster_adam_is_chosen_by_the_data(void **state)
{
    static const char *const cases[][3] = {
        {"method=bpr backbone=mf", "device=cpu dim=65536 batch=24",
         "adam"}, /* a step reads it all */
        {"method=bpr backbone=mf", "device=cpu dim=65536 batch=2 reg=0.05", "adam-deferred"},
        {"method=bpr backbone=mf", "device=cpu dim=32768 batch=2 reg=0.05",
         "adam"}, /* a small table */
        {"method=bpr backbone=mf", "device=cpu dim=65536 batch=2 reg=0.06",
         "adam"}, /* less accurate there */
        {"method=bpr backbone=mf", "device=cpu dim=65536 batch=2 reg=0 adam-eps=torch", "adam"},
        {"method=bpr backbone=lightgcn", "device=cpu batch=2 reg=0",
         "adam"}, /* a step reads all rows */
        {"method=dice backbone=mf", "device=cpu dim=65536 batch=2 reg=0", "adam"},
        {"method=mult-vae init=joint", "device=cpu batch=2", "adam"},
        {"method=bpr backbone=mf", "device=cpu batch=2 reg=0 optimizer=sgd", "sgd"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        cwi_trainer *t = open_engine(*state, cases[k][0], cases[k][1]);
        if (t->task.gpu) fail_msg("%s is trained on a GPU", cases[k][1]);
        assert_string_equal(cwi_options_text(t->options, "optimizer"), cases[k][2]);
        assert_string_equal(t->task.optimizer->name, cases[k][2]);
        cwi_trainer_free(t);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_small_data, free_small_data)

/* Why an engine does not go on with --strict. */
static void find_complaint(small_data *f, const char *engine, char *out, size_t size)
{
    char options[200];
    snprintf(options, sizeof options, "%s strict=on cycle=15 distinct=all", engine);
    cwi_trainer *t = open_engine(f, "method=cpr backbone=mf", options);
    cw_status status = CW_OK;
    for (int s = 0; s < STEPS && status == CW_OK; s++) status = cwi_trainer_step(t);
    if (status == CW_OK) status = t->engine->verbs->tell(t->engine, &t->tally);
    assert_int_equal(status, CW_BAD_DATA);
    snprintf(out, size, "%s", cw_context_error(t->ctx));
    cwi_begin(t->ctx);
    cwi_trainer_free(t);
}

static void samples_that_lack_are_told_by_every_engine(void **state)
{
    char expected[200], got[200];
    find_complaint(*state, engines[0].options, expected, sizeof expected);
    assert_non_null(strstr(expected, "were accepted"));
    for (int k = 1; k < N_ENGINES; k++) {
        find_complaint(*state, engines[k].options, got, sizeof got);
        assert_string_equal(got, expected);
    }
}

/* What is refused is not tried; this is about what is not. */
static void enough_was_tried(void **state)
{
    (void)state;
    if (!is_part && strstr(engines[1].options, "cuda"))
        if (met < 200 || listed < 2) fail_msg("%d trainings, %d rankings", met, listed);
}

/* Programs of the CUDA engine alone: no GPU is a reason to skip. */
static void ask_for_gpu(void)
{
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT] = "";
    int count = 0;
    if (!strstr(engines[1].options, "cuda")) return;
    if (cwi_cuda_load(&calls, why) == CW_OK && calls->count(&count, why) == CW_OK && count > 0)
        return;
    printf("the CUDA engine was not tried: %s\n", why);
    exit(77);
}

/* All tests, or those of a pattern, of all trainings or those like another one: a sanitizer takes
 * long, and parts can run side by side. */
int main(int argc, char **argv)
{
    ask_for_gpu();
    is_part = argc > 1;
    if (is_part) cmocka_set_test_filter(argv[1]);
    if (argc > 2) only = argv[2];
    const struct CMUnitTest tests[] = {
        TEST(every_engine_makes_the_steps_of_the_plain_one),
        TEST(variants_of_methods_are_the_same_too),
        TEST(every_rule_is_that_of_the_plain_engine),
        TEST(how_often_it_is_asked_changes_no_bit),
#if defined(TEST_CUDA)
        TEST(twenty_steps_are_those_of_the_cpu),
        TEST(the_first_step_selects_the_same_samples),
        TEST(little_memory_changes_no_bit),
#endif
        TEST(a_state_goes_on_in_another_engine_bit_for_bit),
        TEST(a_state_goes_from_the_plain_engine_to_a_fast_one_and_back),
#if defined(TEST_CUDA)
        TEST(rows_that_wait_go_to_a_device_and_back),
        TEST(a_state_crosses_devices),
#else
        TEST(moments_are_packed_and_found_again),
#endif
        TEST(settled_rows_stay),
        TEST(a_loss_that_is_no_number_is_the_last_one),
        TEST(a_tally_is_of_one_epoch_and_steps_of_all),
        TEST(kept_parameters_stay),
        TEST(a_ranker_is_of_the_settled_parameters),
        TEST(the_faster_adam_is_chosen_by_the_data),
        TEST(samples_that_lack_are_told_by_every_engine),
        cmocka_unit_test(enough_was_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
