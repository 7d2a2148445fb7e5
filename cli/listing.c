/* listing.c - lists for machines and people. */
#include "listing.h"

#include <stdlib.h>
#include <string.h>

#include "serve.h"

/* The shortest decimal that reads back as the same float. */
static const char *print_score(float score, char out[32])
{
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(out, 32, "%.*g", digits, (double)score);
        if (strtof(out, NULL) == score) break;
    }
    return out;
}

/* An id within tab-separated columns: what would break them becomes \t, \n, \r, and \ is \\. */
static void print_id(const char *id)
{
    for (; *id; id++) {
        switch (*id) {
        case '\t': fputs("\\t", stdout); break;
        case '\n': fputs("\\n", stdout); break;
        case '\r': fputs("\\r", stdout); break;
        case '\\': fputs("\\\\", stdout); break;
        default: putchar(*id);
        }
    }
}

void print_header(printer *p)
{
    const char *last = p->has_reasons ? "\tbecause" : "";
    if (!p->has_header && !p->is_json) printf("%s\t%s\tscore\thow%s\n", p->key, p->item, last);
    p->has_header = true;
}

static const char *id_of(const printer *p, bool is_user, int32_t number)
{
    return is_user ? cw_model_user_id(p->model, number) : cw_model_item_id(p->model, number);
}

/* What speaks for a place of a list: "id (added), id (added)". */
static void print_reasons(const printer *p, const list *l, int32_t place)
{
    char added[32];
    putchar('\t');
    for (int32_t k = 0; l->reasons && k < l->n_reason[place]; k++) {
        const reason *why = &l->reasons[place * l->max_reasons + k];
        if (k > 0) fputs(", ", stdout);
        print_id(id_of(p, false, why->item));
        printf(" (%s)", print_score(why->added, added));
    }
}

static void print_rows(printer *p, const list *l)
{
    char score[32];
    print_header(p);
    for (int32_t r = 0; r < l->count; r++) {
        print_id(l->key);
        putchar('\t');
        print_id(id_of(p, p->lists_users, l->items[r]));
        printf("\t%s\t%s", print_score(l->scores[r], score), l->how);
        if (p->has_reasons) print_reasons(p, l, r);
        putchar('\n');
    }
}

static json_t *reasons_json(const printer *p, const list *l, int32_t place)
{
    char added[32];
    json_t *all = json_array();
    for (int32_t k = 0; l->reasons && k < l->n_reason[place]; k++) {
        const reason *why = &l->reasons[place * l->max_reasons + k];
        json_array_append_new(all, json_pack("{s:o, s:f}", "item",
                                             serve_id_json(id_of(p, false, why->item)), "added",
                                             atof(print_score(why->added, added))));
    }
    return all;
}

static void print_json(const printer *p, const list *l)
{
    const char *member = p->lists_users ? "user" : "item";
    char score[32];
    json_t *items = json_array();
    for (int32_t r = 0; r < l->count; r++) {
        json_t *place =
            json_pack("{s:o, s:f}", member, serve_id_json(id_of(p, p->lists_users, l->items[r])),
                      "score", atof(print_score(l->scores[r], score)));
        if (p->has_reasons) json_object_set_new(place, "because", reasons_json(p, l, r));
        json_array_append_new(items, place);
    }
    json_t *root = json_pack("{s:o, s:s, s:o}", p->key, serve_id_json(l->key), "how", l->how,
                             p->lists_users ? "users" : "items", items);
    (void)json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
}

void print_list(printer *p, const list *l)
{
    if (p->is_json)
        print_json(p, l);
    else
        print_rows(p, l);
}
