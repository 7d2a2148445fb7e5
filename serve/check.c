/* check.c - the values of a request, held to the fields of its route. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server.h"

/* Enough of a value for a message. */
#define SHOWN "%.60s"

const value *value_of(const call *c, const char *name)
{
    static const value none;
    const field *fields = c->route->fields;
    for (size_t k = 0; fields && fields[k].name; k++)
        if (strcmp(fields[k].name, name) == 0) return &c->w->value[k];
    return &none;
}

void values_clear(call *c)
{
    for (size_t k = 0; k < MAX_FIELDS; k++) {
        free((void *)c->w->value[k].texts);
        free(c->w->value[k].numbers);
        c->w->value[k] = (value){0};
    }
}

static bool lack_memory(call *c)
{
    say_problem(c->out, 503, NULL, "out of memory");
    return false;
}

/* ---- one value ------------------------------------------------------------------ */

/* A few digits, as most numbers are; false: it is something else. */
static bool read_digits(const char *text, double *out)
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 9 || text[length] || (text[0] == '0' && length > 1)) return false;
    *out = (double)strtol(text, NULL, 10);
    return true;
}

/* JSON's way to write a number, in any locale. */
static bool read_number(const char *text, double *out)
{
    if (read_digits(text, out)) return true;
    json_t *number = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    bool is_number = json_is_number(number);
    if (is_number) *out = json_number_value(number);
    json_decref(number);
    return is_number;
}

static bool refuse_number(call *c, const field *f)
{
    say_problem(c->out, 400, f->name, "%s must be %s from %.15g to %.15g", f->name,
                f->kind == A_WHOLE ? "a whole number" : "a number", f->low, f->high);
    return false;
}

static bool set_number(call *c, const field *f, double number, value *out)
{
    bool is_whole = f->kind != A_WHOLE || number == floor(number);
    if (!(number >= f->low && number <= f->high) || !is_whole) return refuse_number(c, f);
    out->number = number;
    return true;
}

static bool refuse_word(call *c, const field *f)
{
    char words[128];
    snprintf(words, sizeof words, "%s", f->words);
    for (char *bar; (bar = strchr(words, '|'));) *bar = ' ';
    say_problem(c->out, 400, f->name, "%s must be one of these: %s", f->name, words);
    return false;
}

static bool set_word(call *c, const field *f, const char *text, value *out)
{
    size_t length = strlen(text);
    for (const char *at = f->words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (length > 0 && strncmp(at, text, length) == 0 &&
            (at[length] == '|' || at[length] == '\0')) {
            out->text = text;
            return true;
        }
    return refuse_word(c, f);
}

/* Ids have a bound, so that every reply has one. */
static bool check_length(call *c, const field *f, const char *text)
{
    if (count_characters(text) <= ID_LENGTH) return true;
    say_problem(c->out, 400, f->name, "an id may have %d characters and no more", (int)ID_LENGTH);
    return false;
}

static bool set_text(call *c, const field *f, const char *text, value *out)
{
    if (!text[0]) {
        say_problem(c->out, f->place == IN_PATH ? 404 : 400, f->name, "%s is empty", f->name);
        return false;
    }
    out->text = text;
    return check_length(c, f, text);
}

static bool check_count(call *c, const field *f, size_t n)
{
    if ((double)n >= f->low && (double)n <= f->high) return true;
    say_problem(c->out, 400, f->name, "%s has %zu entries; it must have from %.15g to %.15g",
                f->name, n, f->low, f->high);
    return false;
}

/* ---- values of the URL ------------------------------------------------------------- */

static bool add_text(call *c, const char *text, size_t room, value *out)
{
    if (!out->texts) out->texts = calloc(room, sizeof *out->texts);
    if (!out->texts) return lack_memory(c);
    out->texts[out->n++] = text;
    return true;
}

static bool read_text(call *c, const field *f, const char *text, value *out)
{
    bool was_given = out->is_given;
    double number;
    out->is_given = true;
    if (f->kind == SOME_TEXT)
        return check_count(c, f, out->n + 1) && check_length(c, f, text) &&
               add_text(c, text, (size_t)f->high, out);
    if (was_given) {
        say_problem(c->out, 400, f->name, "%s is there more than once", f->name);
        return false;
    }
    if (f->kind == A_TEXT) return set_text(c, f, text, out);
    if (f->kind == A_WORD) return set_word(c, f, text, out);
    return read_number(text, &number) ? set_number(c, f, number, out) : refuse_number(c, f);
}

static const field *find_field(const route *r, value_place place, const char *name, size_t *which)
{
    for (*which = 0; r->fields && r->fields[*which].name; ++*which)
        if (r->fields[*which].place == place && strcmp(r->fields[*which].name, name) == 0)
            return &r->fields[*which];
    return NULL;
}

static bool read_query(call *c)
{
    const url *u = &c->w->url;
    size_t which;
    for (size_t k = 0; k < u->n_pairs; k++) {
        const field *f = find_field(c->route, IN_QUERY, u->pair[k].name, &which);
        if (!f) {
            say_problem(c->out, 400, NULL, "there is no parameter '" SHOWN "' here",
                        u->pair[k].name);
            return false;
        }
        if (!read_text(c, f, u->pair[k].value, &c->w->value[which])) return false;
    }
    return true;
}

/* Parts of the path stand where the route has braces. */
static bool read_path(call *c)
{
    const char *at = c->route->path + 1;
    size_t which = 0;
    for (size_t k = 0; k < c->w->url.n_segments; k++) {
        const char *end = strchr(at, '/');
        if (*at == '{' &&
            !read_text(c, &c->route->fields[which], c->w->url.segment[k], &c->w->value[which]))
            return false;
        which += *at == '{';
        at = end ? end + 1 : at;
    }
    return true;
}

/* ---- values of the body -------------------------------------------------------------- */

static bool refuse_kind(call *c, const field *f, const char *what)
{
    say_problem(c->out, 400, f->name, "%s must be %s", f->name, what);
    return false;
}

static bool read_texts(call *c, const field *f, const json_t *json, value *out)
{
    size_t k;
    json_t *one;
    if (!json_is_array(json)) return refuse_kind(c, f, "an array of texts");
    if (!check_count(c, f, json_array_size(json))) return false;
    out->texts = calloc(json_array_size(json) + 1, sizeof *out->texts);
    if (!out->texts) return lack_memory(c);
    json_array_foreach(json, k, one)
    {
        if (!json_is_string(one)) return refuse_kind(c, f, "an array of texts");
        if (!check_length(c, f, json_string_value(one))) return false;
        out->texts[out->n++] = json_string_value(one);
    }
    return true;
}

static bool read_numbers(call *c, const field *f, const json_t *json, value *out)
{
    const char *key;
    json_t *one;
    if (!json_is_object(json)) return refuse_kind(c, f, "an object of numbers");
    if (!check_count(c, f, json_object_size(json))) return false;
    out->texts = calloc(json_object_size(json) + 1, sizeof *out->texts);
    out->numbers = calloc(json_object_size(json) + 1, sizeof *out->numbers);
    if (!out->texts || !out->numbers) return lack_memory(c);
    json_object_foreach((json_t *)json, key, one)
    {
        double number = json_number_value(one);
        if (!json_is_number(one) || !(fabs(number) <= 1e6))
            return refuse_kind(c, f, "an object of numbers from -1000000 to 1000000");
        if (!check_length(c, f, key)) return false;
        out->texts[out->n] = key;
        out->numbers[out->n++] = number;
    }
    return true;
}

static bool is_row(const json_t *row)
{
    const char *user = json_string_value(json_object_get(row, "user"));
    const char *item = json_string_value(json_object_get(row, "item"));
    const json_t *when = json_object_get(row, "time");
    double seconds = json_number_value(when);
    return json_is_object(row) && user && user[0] && item && item[0] &&
           count_characters(user) <= ID_LENGTH && count_characters(item) <= ID_LENGTH &&
           (!when || (json_is_number(when) && seconds >= 0 && seconds <= 1e11)) &&
           json_object_size(row) == (when ? 3u : 2u);
}

static bool read_rows(call *c, const field *f, const json_t *json, value *out)
{
    size_t k;
    json_t *row;
    if (!json_is_array(json)) return refuse_kind(c, f, "an array of interactions");
    if (!check_count(c, f, json_array_size(json))) return false;
    json_array_foreach(json, k, row) if (!is_row(row))
    {
        say_problem(
            c->out, 400, f->name,
            "%s[%zu] must be an object with user and item, texts of 1 to 1000 characters, and "
            "perhaps time, seconds from 0 to 1e11",
            f->name, k);
        return false;
    }
    out->rows = json;
    out->n = json_array_size(json);
    return true;
}

static bool read_json(call *c, const field *f, const json_t *json, value *out)
{
    out->is_given = true;
    switch (f->kind) {
    case A_TEXT:
        return json_is_string(json) ? set_text(c, f, json_string_value(json), out)
                                    : refuse_kind(c, f, "a text");
    case A_WORD:
        return json_is_string(json) ? set_word(c, f, json_string_value(json), out)
                                    : refuse_word(c, f);
    case A_WHOLE:
    case A_REAL:
        return json_is_number(json) ? set_number(c, f, json_number_value(json), out)
                                    : refuse_number(c, f);
    case SOME_TEXT: return read_texts(c, f, json, out);
    case SOME_REAL: return read_numbers(c, f, json, out);
    case SOME_ROWS: return read_rows(c, f, json, out);
    }
    return false;
}

static bool takes_body(const route *r)
{
    for (const field *f = r->fields; f && f->name; f++)
        if (f->place == IN_BODY) return true;
    return false;
}

static bool parse_body(call *c, json_t **body)
{
    const request *in = c->in;
    json_error_t error;
    static const char json_type[] = "application/json";
    size_t length = sizeof json_type - 1;
    if (!in->type || strncasecmp(in->type, json_type, length) != 0 ||
        (in->type[length] != '\0' && !strchr("; \t", in->type[length]))) {
        say_problem(c->out, 415, NULL, "the body must be application/json");
        return false;
    }
    *body = json_loadb(in->body, in->body_length, JSON_REJECT_DUPLICATES, &error);
    if (!*body)
        say_problem(c->out, 400, NULL, "the body is not JSON: %s in line %d", error.text,
                    error.line);
    else if (!json_is_object(*body))
        say_problem(c->out, 400, NULL, "the body must be a JSON object");
    return json_is_object(*body);
}

static bool read_body(call *c, json_t **body)
{
    const char *key;
    json_t *one;
    size_t which;
    if (!takes_body(c->route)) return true; /* what is there does not matter */
    if (!parse_body(c, body)) return false;
    json_object_foreach(*body, key, one)
    {
        const field *f = find_field(c->route, IN_BODY, key, &which);
        if (!f) {
            say_problem(c->out, 400, NULL, "there is no field '" SHOWN "' here", key);
            return false;
        }
        if (!read_json(c, f, one, &c->w->value[which])) return false;
    }
    return true;
}

/* ---- all of them ------------------------------------------------------------------- */

/* Of "a b" one must be there, and not both. */
static bool check_either(call *c)
{
    char first[32], second[32];
    if (!c->route->either || sscanf(c->route->either, "%31s %31s", first, second) != 2) return true;
    if (value_of(c, first)->is_given != value_of(c, second)->is_given) return true;
    say_problem(c->out, 400, NULL, "give one of %s and %s", first, second);
    return false;
}

static void preset(const field *f, value *out)
{
    if (out->is_given || !f->preset) return;
    if (f->kind == A_WORD)
        out->text = f->preset;
    else
        (void)read_number(f->preset, &out->number);
}

bool check_values(call *c, json_t **body)
{
    if (!read_path(c) || !read_query(c) || !read_body(c, body) || !check_either(c)) return false;
    const field *f = c->route->fields;
    for (size_t k = 0; f && f[k].name; k++) {
        if (f[k].is_required && !c->w->value[k].is_given) {
            say_problem(c->out, 400, f[k].name, "%s is missing", f[k].name);
            return false;
        }
        preset(&f[k], &c->w->value[k]);
    }
    return true;
}
