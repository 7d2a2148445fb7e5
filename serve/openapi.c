/* openapi.c - the table of routes as OpenAPI 3.1, and as Markdown for docs/http.md. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

extern const unsigned char cwi_serve_schemas[];

/* What any route may say, and those that take tokens or a body. */
static const int always[] = {400, 404, 413, 414, 429, 503};

/* ---- schemas of values ----------------------------------------------------------- */

static json_t *text_schema(double least, double most)
{
    /* JSON may have a zero within a text; ids may not. */
    return json_pack("{s:s, s:I, s:I, s:s}", "type", "string", "minLength", (json_int_t)least,
                     "maxLength", (json_int_t)most, "pattern", "^[^\\u0000]*$");
}

static json_t *words_schema(const char *words)
{
    json_t *list = json_array();
    for (const char *at = words; at;) {
        size_t length = strcspn(at, "|");
        json_array_append_new(list, json_stringn(at, length));
        at = at[length] ? at + length + 1 : NULL;
    }
    return json_pack("{s:s, s:o}", "type", "string", "enum", list);
}

static json_t *rows_schema(const field *f)
{
    json_t *when = json_pack("{s:s, s:i, s:f}", "type", "number", "minimum", 0, "maximum", 1e11);
    json_t *row =
        json_pack("{s:s, s:b, s:[s, s], s:{s:o, s:o, s:o}}", "type", "object",
                  "additionalProperties", 0, "required", "user", "item", "properties", "user",
                  text_schema(1, ID_LENGTH), "item", text_schema(1, ID_LENGTH), "time", when);
    return json_pack("{s:s, s:I, s:I, s:o}", "type", "array", "minItems", (json_int_t)f->low,
                     "maxItems", (json_int_t)f->high, "items", row);
}

static json_t *number_schema(const field *f)
{
    json_t *schema = json_pack("{s:s}", "type", f->kind == A_WHOLE ? "integer" : "number");
    json_object_set_new(schema, "minimum", json_integer((json_int_t)f->low));
    json_object_set_new(schema, "maximum", json_integer((json_int_t)f->high));
    if (f->preset)
        json_object_set_new(schema, "default", json_loads(f->preset, JSON_DECODE_ANY, 0));
    return schema;
}

static json_t *field_schema(const field *f)
{
    json_t *schema;
    switch (f->kind) {
    case A_TEXT: return text_schema(f->low, f->high);
    case A_WHOLE:
    case A_REAL: return number_schema(f);
    case A_WORD:
        schema = words_schema(f->words);
        json_object_set_new(schema, "default", json_string(f->preset));
        return schema;
    case SOME_TEXT:
        return json_pack("{s:s, s:I, s:I, s:o}", "type", "array", "minItems", (json_int_t)f->low,
                         "maxItems", (json_int_t)f->high, "items", text_schema(0, ID_LENGTH));
    case SOME_REAL: /* names are ids as elsewhere */
        return json_pack("{s:s, s:o, s:{s:s, s:i, s:i}}", "type", "object", "propertyNames",
                         text_schema(0, ID_LENGTH), "additionalProperties", "type", "number",
                         "minimum", -1000000, "maximum", 1000000);
    case SOME_ROWS: return rows_schema(f);
    }
    return NULL;
}

/* ---- routes ---------------------------------------------------------------------------- */

static json_t *parameter(const field *f)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", f->name, "in",
                     f->place == IN_PATH ? "path" : "query", "required", f->is_required,
                     "description", f->help, "schema", field_schema(f));
}

/* Exactly one of two fields. */
static json_t *either_schema(const char *either)
{
    char first[32], second[32];
    if (sscanf(either, "%31s %31s", first, second) != 2) return NULL;
    return json_pack("[{s:[s]}, {s:[s]}]", "required", first, "required", second);
}

static json_t *body_schema(const route *r)
{
    json_t *properties = json_object(), *required = json_array();
    for (const field *f = r->fields; f && f->name; f++) {
        if (f->place != IN_BODY) continue;
        json_t *schema = field_schema(f);
        json_object_set_new(schema, "description", json_string(f->help));
        json_object_set_new(properties, f->name, schema);
        if (f->is_required) json_array_append_new(required, json_string(f->name));
    }
    json_t *schema = json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0,
                               "properties", properties, "required", required);
    if (r->either) json_object_set_new(schema, "oneOf", either_schema(r->either));
    return schema;
}

static bool has_fields(const route *r, value_place place)
{
    for (const field *f = r->fields; f && f->name; f++)
        if (f->place == place) return true;
    return false;
}

static void add_problem(json_t *responses, int status)
{
    char code[8];
    snprintf(code, sizeof code, "%d", status);
    json_object_set_new(responses, code,
                        json_pack("{s:s, s:{s:{s:{s:s}}}}", "description", status_title(status),
                                  "content", "application/problem+json", "schema", "$ref",
                                  "#/components/schemas/Problem"));
}

static json_t *good_response(const route *r)
{
    char schema[64];
    if (strchr(r->reply, '/')) {
        char type[64];
        snprintf(type, sizeof type, "%.*s", (int)strcspn(r->reply, ";"), r->reply);
        return json_pack("{s:s, s:{s:{}}}", "description", r->summary, "content", type);
    }
    snprintf(schema, sizeof schema, "#/components/schemas/%s", r->reply);
    return json_pack("{s:s, s:{s:{s:{s:s}}}}", "description", r->summary, "content",
                     "application/json", "schema", "$ref", schema);
}

static json_t *responses_of(const route *r)
{
    json_t *responses = json_pack("{s:o}", "200", good_response(r));
    for (size_t k = 0; k < sizeof always / sizeof always[0]; k++) add_problem(responses, always[k]);
    if (r->role > ANYBODY) {
        add_problem(responses, 401);
        add_problem(responses, 403);
    }
    if (has_fields(r, IN_BODY)) add_problem(responses, 415);
    for (const char *at = r->fails; *at; at += strcspn(at, " ") + (strchr(at, ' ') != NULL))
        add_problem(responses, atoi(at));
    return responses;
}

static json_t *operation(const route *r)
{
    json_t *parameters = json_array();
    for (const field *f = r->fields; f && f->name; f++)
        if (f->place != IN_BODY) json_array_append_new(parameters, parameter(f));
    json_t *out = json_pack("{s:s, s:s, s:o, s:o}", "operationId", r->name, "summary", r->summary,
                            "parameters", parameters, "responses", responses_of(r));
    if (has_fields(r, IN_BODY))
        json_object_set_new(out, "requestBody",
                            json_pack("{s:b, s:{s:{s:o}}}", "required", 1, "content",
                                      "application/json", "schema", body_schema(r)));
    if (r->role > ANYBODY)
        json_object_set_new(out, "security",
                            r->role == READER ? json_pack("[{}, {s:[]}]", "bearer")
                                              : json_pack("[{s:[]}]", "bearer"));
    return out;
}

static json_t *paths(void)
{
    json_t *all = json_object();
    for (const route *r = routes; r->method; r++) {
        char method[8] = "";
        for (size_t k = 0; k < sizeof method - 1 && r->method[k]; k++) {
            method[k] = (char)tolower((unsigned char)r->method[k]);
            method[k + 1] = '\0';
        }
        if (!json_object_get(all, r->path)) json_object_set_new(all, r->path, json_object());
        json_object_set_new(json_object_get(all, r->path), method, operation(r));
    }
    return all;
}

char *serve_openapi(void)
{
    json_t *schemas = json_loads((const char *)cwi_serve_schemas, 0, NULL);
    json_t *root =
        json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:o, s:{s:{s:s, s:s}}}}", "openapi", "3.1.0",
                  "info", "title", "crosswise serve", "version", cw_version(), "description",
                  "Recommendations from a trained model. Ids are those of the raw log, as UTF-8.",
                  "paths", paths(), "components", "schemas", schemas, "securitySchemes", "bearer",
                  "type", "http", "scheme", "bearer");
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text;
}

/* ---- as Markdown --------------------------------------------------------------------- */

static void print_kind(FILE *out, const field *f)
{
    switch (f->kind) {
    case A_TEXT: fputs("text", out); break;
    case A_WHOLE: fprintf(out, "whole number, %.0f to %.0f", f->low, f->high); break;
    case A_REAL: fprintf(out, "number, %.0f to %.0f", f->low, f->high); break;
    case A_WORD:
        for (const char *c = f->words; *c; c++) fputs(*c == '|' ? " or " : (char[]){*c, 0}, out);
        break;
    case SOME_TEXT:
        fputs(f->place == IN_QUERY ? "texts, the parameter repeated" : "array of texts", out);
        break;
    case SOME_REAL: fputs("object, ids with numbers", out); break;
    case SOME_ROWS: fputs("array of `{\"user\", \"item\", \"time\"}`", out); break;
    }
    if (f->preset) fprintf(out, " (%s)", f->preset);
    if (f->is_required) fputs(", required", out);
}

static void print_route(FILE *out, const route *r)
{
    static const char *const who[] = {"anybody", "read", "write", "admin"};
    static const char *const places[] = {"path", "query", "body"};
    fprintf(out, "\n## %s %s\n\n%c%s. ", r->method, r->path, toupper((unsigned char)r->summary[0]),
            r->summary + 1);
    if (strchr(r->reply, '/'))
        fprintf(out, "Reply: `%s`", r->reply);
    else
        fprintf(out, "Reply: `%s` in [schemas.json](../serve/schemas.json)", r->reply);
    fprintf(out, "; for: %s.\n", who[r->role]);
    if (!r->fields) return;
    fputs("\n| | in | what it may be (default) | |\n|---|---|---|---|\n", out);
    for (const field *f = r->fields; f->name; f++) {
        fprintf(out, "| `%s` | %s | ", f->name, places[f->place]);
        print_kind(out, f);
        fprintf(out, " | %s |\n", f->help);
    }
    if (r->either) {
        size_t length = strcspn(r->either, " ");
        fprintf(out, "\nOne of `%.*s` and `%s` must be there.\n", (int)length, r->either,
                r->either + length + 1);
    }
}

char *serve_markdown(void)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    fputs("# Routes of crosswise serve\n\nWritten from the table of the server (`make docs`); "
          "[serving.md](serving.md) explains. The same as OpenAPI is at\n`/openapi.json`. Fields "
          "that are not listed are refused. What goes wrong is `Problem` (RFC 9457), "
          "`application/problem+json`.\n",
          out);
    for (const route *r = routes; r->method; r++) print_route(out, r);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}
