/* record.c - what training tells while it runs and leaves behind. */
#include <jansson.h>
#include <stdlib.h>

#include "core/json.h"
#include "core/mem.h"
#include "train/train.h"

double cwi_seconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + 1e-9 * (double)(now.tv_nsec - then->tv_nsec);
}

json_t *cwi_record_metrics(const cwi_metrics *metrics)
{
    char key[CWI_METRIC_KEY_BYTES];
    json_t *out = json_object();
    for (int m = 0; m < CWI_N_METRICS; m++)
        if (metrics->is_known[m])
            cwi_json_set(&out, cwi_metric_key(m, metrics->k, key),
                         cwi_json_number(metrics->value[m]));
    cwi_json_set(&out, "users", json_integer(metrics->users));
    return out;
}

/* Share of samples accepted, by slots per row. */
static json_t *report_accepted(const cwi_trainer *t)
{
    json_t *out = json_object();
    const cwi_draws *draws = &t->tally.draws;
    for (int g = 0; g < CWI_MAX_GROUPS && draws->slots[g] > 0; g++) {
        char key[32];
        if (draws->attempts[g] == 0) continue;
        snprintf(key, sizeof key, "k%lld", (long long)draws->slots[g] / 2);
        cwi_json_set(&out, key, json_real((double)draws->accepted[g] / (double)draws->attempts[g]));
    }
    return out;
}

static json_t *make_epoch(const cwi_trainer *t, const cwi_metrics *valid, double train_s,
                          double eval_s)
{
    double steps = t->tally.trained > 0 ? (double)t->tally.trained : 1;
    double data_loss = t->tally.data_loss / steps;
    double reg_loss = (t->tally.reg_loss + t->tally.penalty) / steps;
    json_t *out = json_pack(
        "{s:I, s:f, s:f, s:o, s:o, s:o, s:I, s:f, s:o}", "epoch", (json_int_t)t->epoch, "train_s",
        train_s, "eval_s", eval_s, "loss", cwi_json_number(data_loss + reg_loss), "data_loss",
        cwi_json_number(data_loss), "reg_loss", cwi_json_number(reg_loss), "best_epoch",
        (json_int_t)t->stopper.best_epoch, "best", t->stopper.best, "accepted", report_accepted(t));
    if (valid) cwi_json_set(&out, "valid", cwi_record_metrics(valid));
    return out;
}

/* The event is the epoch with its kind and the end of the road. */
static void tell(const cwi_trainer *t, const json_t *epoch)
{
    if (!t->ctx->tell.event) return;
    const char *phase = t->sequel.phase;
    json_t *event = json_pack(
        "{s:s, s:I, s:I}", "event", phase ? phase : "epoch", "epochs",
        (json_int_t)(phase ? t->sequel.epochs : cwi_options_integer(t->options, "epochs")),
        "eval_every", (json_int_t)(phase ? 0 : cwi_options_integer(t->options, "eval-every")));
    char *text = json_object_update(event, (json_t *)epoch) == 0
                     ? cwi_json_print(t->ctx, event, JSON_COMPACT | JSON_REAL_PRECISION(10))
                     : NULL;
    if (text) t->ctx->tell.event(t->ctx->tell.event_user, text);
    cwi_free(text);
    json_decref(event);
}

cw_status cwi_record_epoch(cwi_trainer *t, const cwi_metrics *valid, double train_s, double eval_s)
{
    json_t *epoch = make_epoch(t, valid, train_s, eval_s);
    if (epoch) tell(t, epoch);
    cwi_json_add(&t->epochs, epoch);
    return cwi_json_check(t->ctx, t->epochs);
}
