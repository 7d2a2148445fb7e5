/* story.c - what the numbers of the demo mean, in words that follow from them. */
#include <math.h>
#include <stdlib.h>

#include "demo.h"

int demo_leader(demo_value bpr, demo_value cpr)
{
    double chance = 1.96 * sqrt(bpr.error * bpr.error + cpr.error * cpr.error);
    if (!(fabs(bpr.mean - cpr.mean) > chance)) return 0; /* also when one is not known */
    return bpr.mean > cpr.mean ? DEMO_BPR : DEMO_CPR;
}

static int other(int method)
{
    return method == DEMO_BPR ? DEMO_CPR : DEMO_BPR;
}

static demo_value of(const demo *d, int split, int method, size_t offset)
{
    const char *result = (const char *)&d->result[split][method];
    return *(const demo_value *)(const void *)(result + offset);
}

#define LEADER(d, split, field)                                                                    \
    demo_leader((d)->result[split][DEMO_BPR].field, (d)->result[split][DEMO_CPR].field)

/* "CPR finds more (Recall@20 0.05 against 0.04)", or that there is nothing to choose. */
static void compare(FILE *out, const demo *d, int split, size_t offset, const char *verb,
                    const char *what)
{
    demo_value bpr = of(d, split, DEMO_BPR, offset), cpr = of(d, split, DEMO_CPR, offset);
    int first = demo_leader(bpr, cpr);
    if (first == 0)
        fprintf(out,
                "BPR and CPR are too close to call (%s %.4f and %.4f, a difference that chance "
                "can make)",
                what, bpr.mean, cpr.mean);
    else
        fprintf(out, "%s %s (%s %.4f against %.4f)", demo_method_title[first], verb, what,
                first == DEMO_BPR ? bpr.mean : cpr.mean, first == DEMO_BPR ? cpr.mean : bpr.mean);
}

static void tell_tests(FILE *out, const demo *d)
{
    fprintf(out, "On the usual test, whose rows were shown to users the way the training rows "
                 "were, ");
    compare(out, d, DEMO_USUAL, offsetof(demo_result, recall), "finds more", "Recall@20");
    fprintf(out,
            ". Always recommending the most popular items gets %.4f there. On the debiased "
            "test, where rare and popular items count more alike, ",
            d->result[DEMO_USUAL][DEMO_POP].recall.mean);
    compare(out, d, DEMO_DEBIASED, offsetof(demo_result, recall), "finds more", "Recall@20");
    fprintf(out, ".");
}

static void tell_truth(FILE *out, const demo *d)
{
    int first = LEADER(d, DEMO_DEBIASED, relevance), order = LEADER(d, DEMO_DEBIASED, tau);

    fprintf(out, "\n\nHere the truth is known, because the users are simulated. Of the models "
                 "trained on the debiased split, ");
    compare(out, d, DEMO_DEBIASED, offsetof(demo_result, relevance),
            "recommends what users like more", "mean true relevance");
    fprintf(out, "; items drawn at random would have %.2f and a perfect list %.2f.",
            d->random_relevance, d->best_relevance);
    if (order == 0)
        fprintf(out, " Their orders of all items agree about equally well with the true one.");
    else
        fprintf(out,
                " %s, the order of all items by %s agrees better with the true one "
                "(Kendall's tau %.3f against %.3f).",
                first == other(order) ? "On the other hand" : "Also", demo_method_title[order],
                d->result[DEMO_DEBIASED][order].tau.mean,
                d->result[DEMO_DEBIASED][other(order)].tau.mean);
}

static void tell_popularity(FILE *out, const demo *d)
{
    double bpr = d->result[DEMO_DEBIASED][DEMO_BPR].arp.mean;
    double cpr = d->result[DEMO_DEBIASED][DEMO_CPR].arp.mean;
    int first = LEADER(d, DEMO_DEBIASED, arp);
    if (first == 0)
        fprintf(out, " The two recommend about equally popular items.");
    else
        fprintf(out, " What %s recommends is %.1f times as popular as what %s does.",
                demo_method_title[first], first == DEMO_BPR ? bpr / cpr : cpr / bpr,
                demo_method_title[other(first)]);
}

static void tell_choice(FILE *out, const char *test, int chosen)
{
    if (chosen == 0)
        fprintf(out, "%s test cannot tell the two apart", test);
    else
        fprintf(out, "%s test would choose %s", test, demo_method_title[chosen]);
}

/* Would the tests choose the recommender that users like more? */
static void tell_moral(FILE *out, const demo *d)
{
    int truth_usual = LEADER(d, DEMO_USUAL, relevance);
    int truth = LEADER(d, DEMO_DEBIASED, relevance);

    tell_choice(out, "The usual", LEADER(d, DEMO_USUAL, recall));
    fprintf(out, ", ");
    tell_choice(out, "the debiased", LEADER(d, DEMO_DEBIASED, recall));
    if (truth == 0)
        fprintf(out, ", and by the truth neither is clearly better.");
    else if (truth_usual == other(truth))
        fprintf(out,
                ", and by the truth it depends on what they train on: %s is better trained on the "
                "usual split, %s on the debiased one.",
                demo_method_title[truth_usual], demo_method_title[truth]);
    else
        fprintf(out, ", and by the truth users like what %s recommends more%s.",
                demo_method_title[truth],
                truth_usual == truth ? ", whichever split it trains on" : "");
}

/* The text that was written, unless some of it found no memory. */
static char *finish(FILE *out, char **text)
{
    bool is_whole = !ferror(out);
    if (fclose(out) == 0 && is_whole) return *text;
    free(*text);
    return NULL;
}

char *demo_story(const demo *d)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    tell_tests(out, d);
    tell_truth(out, d);
    tell_popularity(out, d);
    return finish(out, &text);
}

char *demo_verdict(const demo *d)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    tell_moral(out, d);
    return finish(out, &text);
}

char *demo_setting(const demo *d)
{
    char *text = NULL;
    size_t bytes = 0;
    char users[32], items[32], rows[32];
    const cw_dataset *data = d->data[DEMO_USUAL];
    int64_t count = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    for (int part = CW_PART_TRAIN; part <= CW_PART_TEST; part++)
        count += cw_dataset_count(data, (cw_part)part);
    fprintf(out,
            "%s simulated users were shown some of %s items and left %s interactions, %.0f %% of "
            "them with the most popular tenth of the items. The log is split twice: the usual way, "
            "at random, and debiased, so that items are tested more evenly. BPR, the usual "
            "pairwise method, and CPR, cross pairwise ranking, train on either with the same "
            "settings.",
            cli_thousands(cw_dataset_users(data), users),
            cli_thousands(cw_dataset_items(data), items), cli_thousands(count, rows),
            100 * d->top_share);
    return finish(out, &text);
}
