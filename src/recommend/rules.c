/* rules.c - the options of recommending, and the rules that they make. */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/option_rows.h"
#include "core/text.h"
#include "import/source.h"
#include "recommend/recommend.h"

enum { MAX_LINES = 10000000 }; /* of a list of items; no catalogue is near it */

const cw_option_info cwi_recommend_options[] = {
    WHOLE("k", "10", 1, 1000000,
          "length of a list; it is shorter when there are not as many items"),
    TEXT("exclude", "seen",
         "what to leave out: seen (the items of each user in train, and those rated below "
         "min-rating), none, or a file with one item id a line that nobody shall get, in addition "
         "to seen"),
    TEXT("only", "",
         "a file with the only items that anybody shall get, one id a line; empty: all items"),
    TEXT("boost", "",
         "a file with items whose scores are lifted: id, tab, what is added; below 0 lowers them"),
    REAL(
        "diversity", "0", 0, 1,
        "pass over items that are like one above them in the list, by the cosine of their vectors: "
        "0 never, 1 looks at nothing else"),
    REAL("popularity", "0", -CWI_MAX_DIAL, CWI_MAX_DIAL,
         "the popularity dial: rank by score + dial * ln(1 + train rows of the item); above 0 "
         "favours popular items, below 0 rare ones; a model of tune has its own unless it is "
         "given"),
    TEXT("device", "auto",
         "who makes lists of users: cpu, cuda (the first GPU), cuda:1 (the second), mpi (all "
         "processes that mpirun has started, each a part of the users), or auto: a GPU where there "
         "is one and it is worth it, else the CPU; lists are the same"),
    {0}};

/* What the lines of a file name: items, each with a number where there is a tab. */
typedef struct listing {
    const cw_model *model;
    bool has_numbers;
    bool *is_listed; /* [n_items] */
    float *number;   /* [n_items]; NULL without numbers */
    int64_t n_unknown;
} listing;

/* Splits off the number behind the last tab. */
static cw_status read_number(cw_context *ctx, const cwi_source *source, const char *line,
                             size_t *length, float *out)
{
    const char *tab = memrchr(line, '\t', *length);
    double value;
    if (!tab) return cwi_source_fail(ctx, source, CW_BAD_DATA, "there is no tab behind the item");
    size_t after = (size_t)(tab - line) + 1;
    if (!cwi_parse_real(tab + 1, *length - after, &value) || !(fabs(value) <= CWI_MAX_DIAL))
        return cwi_source_fail(ctx, source, CW_BAD_DATA,
                               "what is added to a score must be a number between %d and %d",
                               -CWI_MAX_DIAL, CWI_MAX_DIAL);
    *length = after - 1;
    *out = (float)value;
    return CW_OK;
}

static cw_status take_line(cw_context *ctx, const cwi_source *source, const char *line,
                           size_t length, listing *l)
{
    float number = 0;
    if (cwi_source_line_number(source) > MAX_LINES)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "a list may have %d lines and no more",
                               MAX_LINES);
    if (length > CWI_MAX_ID_BYTES)
        return cwi_source_fail(ctx, source, CW_BAD_DATA, "a line may have %d bytes and no more",
                               CWI_MAX_ID_BYTES);
    if (length == 0) return CW_OK;
    if (l->number) CW_PASS(read_number(ctx, source, line, &length, &number));
    int32_t item = length > 0 ? cwi_idmap_find(&l->model->items, line, length) : -1;
    l->n_unknown += item < 0;
    if (item < 0) return CW_OK; /* it cannot turn up */
    l->is_listed[item] = true;
    if (l->number) l->number[item] = number;
    return CW_OK;
}

static cw_status take_lines(cw_context *ctx, const char *path, listing *l)
{
    cwi_source *source;
    const char *line;
    size_t length;
    cw_status status = cwi_source_open(ctx, path, &source);
    while (status == CW_OK) {
        status = cwi_source_line(ctx, source, &line, &length);
        if (status != CW_OK || !line) break;
        status = take_line(ctx, source, line, length, l);
    }
    if (status == CW_OK && l->n_unknown > 0)
        cwi_log(ctx, CW_LOG_WARNING, "%s: %lld items are not in the model", cwi_source_name(source),
                (long long)l->n_unknown);
    cwi_source_close(source);
    return status;
}

/* Read items, and numbers unless `numbers` is NULL, in memory that the model bounds and not the
 * list. */
static cw_status read_items(cw_context *ctx, const char *path, const cw_model *model,
                            const int32_t **items, const float **numbers, size_t *count)
{
    cw_status status = CW_NO_MEMORY;
    size_t n_items = (size_t)model->n_items;
    listing l = {.model = model};
    int32_t *listed = cwi_alloc(ctx, n_items, sizeof *listed);
    *items = listed; /* freed with the rules */
    l.is_listed = cwi_alloc_zero(ctx, n_items, sizeof *l.is_listed);
    if (numbers) *numbers = l.number = cwi_alloc(ctx, n_items, sizeof *l.number);
    if (!listed || !l.is_listed || (numbers && !l.number)) goto done;
    CW_TRY(take_lines(ctx, path, &l));
    for (int32_t i = 0; i < model->n_items; i++) {
        if (!l.is_listed[i]) continue;
        if (l.number) l.number[*count] = l.number[i]; /* the count never passes i */
        listed[(*count)++] = i;
    }
done:
    cwi_free(l.is_listed);
    return status;
}

static cw_status read_exclusion(cw_context *ctx, const char *text, const cw_model *model,
                                cw_rules *rules)
{
    rules->with_seen = strcmp(text, "none") == 0;
    if (rules->with_seen || strcmp(text, "seen") == 0) return CW_OK;
    if (text[0] == '\0')
        return cwi_fail(ctx, CW_BAD_ARG, "exclude is empty; it must be seen, none or a file");
    return read_items(ctx, text, model, &rules->exclude, NULL, &rules->n_exclude);
}

static cw_status read_rules(cw_context *ctx, const cw_options *options, const cw_model *model,
                            cw_rules *rules)
{
    const char *only = cwi_options_text(options, "only"),
               *boost = cwi_options_text(options, "boost");
    if (cw_options_is_given(options, "popularity"))
        rules->dial = cwi_options_real(options, "popularity");
    rules->diversity = cwi_options_real(options, "diversity");
    if (only[0]) CW_PASS(read_items(ctx, only, model, &rules->only, NULL, &rules->n_only));
    if (boost[0])
        CW_PASS(read_items(ctx, boost, model, &rules->boosted, &rules->boosts, &rules->n_boosted));
    return read_exclusion(ctx, cwi_options_text(options, "exclude"), model, rules);
}

cw_status cw_rules_create(cw_context *ctx, const cw_model *model, const cw_options *options,
                          cw_rules **out)
{
    cw_status status;
    cw_rules *rules = NULL;

    cwi_begin(ctx);
    *out = NULL;
    CW_TRY(cwi_check_given(ctx, "the model", model));
    CW_TRY(cwi_options_check(ctx, options, "recommend"));
    rules = cwi_alloc_zero(ctx, 1, sizeof *rules);
    if (!rules) return CW_NO_MEMORY;
    CW_TRY(cwi_model_dial(ctx, model, &rules->dial));
    if (options) CW_TRY(read_rules(ctx, options, model, rules));
    *out = rules;
done:
    if (status != CW_OK) cw_rules_free(rules);
    return status;
}

void cw_rules_free(cw_rules *rules)
{
    if (!rules) return;
    cwi_free((void *)rules->exclude);
    cwi_free((void *)rules->only);
    cwi_free((void *)rules->boosted);
    cwi_free((void *)rules->boosts);
    cwi_free(rules);
}
