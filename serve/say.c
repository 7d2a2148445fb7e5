/* say.c - replies: JSON, and problems as RFC 9457 has them. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

static const struct {
    int status;
    const char *title;
} titles[] = {{200, "OK"},
              {400, "Bad Request"},
              {401, "Unauthorized"},
              {403, "Forbidden"},
              {404, "Not Found"},
              {405, "Method Not Allowed"},
              {413, "Content Too Large"},
              {414, "URI Too Long"},
              {415, "Unsupported Media Type"},
              {422, "Unprocessable Content"},
              {429, "Too Many Requests"},
              {500, "Internal Server Error"},
              {503, "Service Unavailable"},
              {0, NULL}};

const char *status_title(int status)
{
    size_t k = 0;
    while (titles[k].title && titles[k].status != status) k++;
    return titles[k].title ? titles[k].title : "Error";
}

/* What was said before does not count. */
static void drop_body(reply *out)
{
    if (!out->is_static) free(out->body);
    out->body = NULL;
    out->is_static = false;
}

/* There is always this. */
static void say_no_memory(reply *out)
{
    static char text[] =
        "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
        "\"detail\":\"out of memory\"}";
    drop_body(out);
    out->status = 503;
    out->retry_s = 1;
    out->type = "application/problem+json";
    out->body = text;
    out->length = sizeof text - 1;
    out->is_static = true;
}

static void put(reply *out, int status, const char *type, json_t *root)
{
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text) {
        say_no_memory(out);
        return;
    }
    drop_body(out);
    out->status = status;
    out->type = type;
    out->body = text;
    out->length = strlen(text);
}

void say_json(reply *out, int status, json_t *root)
{
    put(out, status, "application/json", root);
}

void say_draft(reply *out, const char *type, draft *d)
{
    size_t length;
    char *text = draft_take(d, &length);
    if (!text) {
        say_no_memory(out);
        return;
    }
    drop_body(out);
    out->status = 200;
    out->type = type;
    out->body = text;
    out->length = length;
}

void say_problem(reply *out, int status, const char *which, const char *format, ...)
{
    char detail[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    json_t *root =
        json_pack("{s:s, s:s, s:i, s:o}", "type", "about:blank", "title", status_title(status),
                  "status", status, "detail", serve_id_json(detail));
    if (root && which) json_object_set_new(root, "field", json_string(which));
    put(out, status, "application/problem+json", root);
    if (status == 429 || status == 503) out->retry_s = 1;
}

json_t *serve_id_json(const char *id)
{
    json_t *string = json_string(id);
    if (string) return string;
    char *plain = malloc(4 * strlen(id) + 1), *at = plain;
    for (; plain && *id; id++) {
        unsigned char byte = (unsigned char)*id;
        if (byte < 128)
            *at++ = *id;
        else
            at += snprintf(at, 5, "\\x%02x", byte);
    }
    if (plain) *at = '\0';
    string = plain ? json_string(plain) : NULL;
    free(plain);
    return string;
}

void reply_clear(reply *out)
{
    if (!out->is_static) free(out->body);
    free(out->text);
    json_decref(out->rows);
    *out = (reply){0};
}
