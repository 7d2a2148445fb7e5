/* engine_check.h - trainers of tiny data, and a look into their engines between two verbs. */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include "core/text.h"
#include "engine/cpu/cpu.h"
#include "testing.h"
#include "train/train.h"

/* The batch of the last step. */
static inline const cwi_batch *batch_of(const cwi_trainer *t)
{
    return &((cwi_cpu *)t->engine)->now->batch;
}

static inline const cwi_params *params_of(const cwi_trainer *t)
{
    const cwi_params *params;
    assert_int_equal(t->engine->verbs->params(t->engine, &params), CW_OK);
    return params;
}

/* What the state has under this name. */
static inline cwi_state_array array_of(const cwi_trainer *t, const char *name)
{
    cwi_state *state = malloc(sizeof *state);
    assert_int_equal(t->engine->verbs->read(t->engine, state), CW_OK);
    const cwi_state_array *found = cwi_state_find(state, name);
    if (!found) fail_msg("there is no %s", name);
    cwi_state_array out = *found;
    free(state);
    return out;
}

/* ---- trainers of tiny data ---------------------------------------------------------- */

/* A dozen users and few items, so that all numbers can be tried. */
typedef struct small_data {
    listener l;
    cw_dataset *data;
} small_data;

static inline int make_small_data(void **state)
{
    static const char *const settings[][2] = {
        {"users", "12"},       {"items", "8"},    {"dim", "2"},  {"relevant", "0.6"},
        {"popularity", "0.2"}, {"activity", "0"}, {"alpha", "0"}};
    small_data *f = calloc(1, sizeof *f);
    cw_options *drawn, *split;
    listener_init(&f->l);
    assert_int_equal(cw_context_set_threads(f->l.ctx, 1), CW_OK);
    assert_int_equal(cw_options_create(f->l.ctx, "simulate", &drawn), CW_OK);
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        assert_int_equal(cw_options_set(f->l.ctx, drawn, settings[k][0], settings[k][1]), CW_OK);
    assert_int_equal(cw_options_create(f->l.ctx, "prepare", &split), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, split, "core", "1"), CW_OK);
    assert_int_equal(cw_dataset_simulate(f->l.ctx, drawn, split, &f->data), CW_OK);
    cw_options_free(drawn);
    cw_options_free(split);
    *state = f;
    return 0;
}

static inline int free_small_data(void **state)
{
    small_data *f = *state;
    cw_dataset_free(f->data);
    listener_clear(&f->l);
    free(f);
    return 0;
}

/* Options of tiny trainings, from "name=value name=value" in turn. */
static inline cw_options *trainer_options(small_data *f, const char *first, const char *second)
{
    static const char common[] =
        "dim=4 batch=24 layers=2 hidden=6,4 vae-sizes=3,5 init=normal init-scale=0.5 reg=0.3 "
        "lr=1e-3 margin=1 min-size=2 int-weight=2 pop-weight=1.5 dis-penalty=0.5 "
        "temperature=1 candidates=20";
    const char *const texts[] = {common, first, second};
    char name[32], value[32];
    int length;
    cw_options *options;
    assert_int_equal(cw_options_create(f->l.ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, options, "preset", "paper"), CW_OK);
    for (int k = 0; k < 6; k++) /* the method and the backbone say what else they take */
        for (const char *at = texts[k % 3];
             sscanf(at, " %31[^= ]=%31s%n", name, value, &length) == 2; at += length) {
            const char *method = cw_options_get(options, "method");
            const char *backbone = cw_options_get(options, "backbone");
            if (!backbone[0]) backbone = cw_method_backbone(method, 0);
            bool is_pair = strcmp(name, "method") == 0 || strcmp(name, "backbone") == 0;
            if (k < 3 ? is_pair : cw_method_takes(method, backbone, name))
                assert_int_equal(cw_options_set(f->l.ctx, options, name, value), CW_OK);
        }
    return options;
}

/* A trainer whose epochs are one step. */
static inline cwi_trainer *open_trainer(small_data *f, const char *first, const char *second)
{
    cwi_trainer *t;
    cw_options *options = trainer_options(f, first, second);
    if (cwi_trainer_create(f->l.ctx, f->data, options, &t) != CW_OK)
        fail_msg("%s %s: %s", first, second, cw_context_error(f->l.ctx));
    cw_options_free(options);
    t->task.steps_per_epoch = 1;
    return t;
}

/* Call for every method that learns on every backbone it works on. */
static inline void for_each_pair(small_data *f, void (*try)(small_data *f, const char *pair))
{
    int met = 0;
    for (size_t m = 0; cw_method_name(m); m++)
        for (size_t b = 0; cw_backbone_name(b); b++) {
            char pair[64];
            const cwi_method *method = cwi_find_method(cw_method_name(m));
            if (cwi_word_index(method->backbones, cw_backbone_name(b)) < 0) continue;
            if (!method->sampler && !cwi_find_backbone(cw_backbone_name(b))->learn) continue;
            snprintf(pair, sizeof pair, "method=%s backbone=%s", method->name, cw_backbone_name(b));
            try(f, pair);
            met++;
        }
    assert_true(met > 30);
}

#endif
