/* routes.c - the table of routes, and nothing else. */
#include "server.h"

#define NAME    IN_PATH, A_TEXT, 1, ID_LENGTH, NULL, NULL
#define IDS(at) at, SOME_TEXT, 0, (at) == IN_QUERY ? 20 : 100000, NULL, NULL
#define N(at)   at, A_WHOLE, 1, 1000, "10", NULL
#define DIAL    A_REAL, -1000000, 1000000, NULL, NULL
#define MODEL   A_WORD, 0, 0, "main", "main|beside"

static const char about_n[] = "length of a list; it is shorter where there are not as many items",
                  about_filter[] = "seen: leave out what the user had; none: leave it in",
                  about_only[] = "the only items that may be there",
                  about_exclude[] = "items that must not be there",
                  about_dial[] = "popularity dial: rank by score + dial * ln(1 + train rows of the "
                                 "item); that of the model unless given",
                  about_diversity[] = "pass over items like one above: 0 never, 1 looks at nothing "
                                      "else",
                  about_boost[] = "what is added to the scores of items",
                  about_model[] = "main, or the model beside it",
                  about_history[] = "the items that somebody new liked",
                  about_user[] = "raw id of a user";

/* What most lists take. */
#define LIST_FIELDS(at)                                                                            \
    {"n", N(at), about_n, false}, {"only", IDS(at), about_only, false},                            \
        {"exclude", IDS(at), about_exclude, false}, {"dial", at, DIAL, about_dial, false},         \
        {"diversity", at, A_REAL, 0, 1, "0", NULL, about_diversity, false},                        \
    {                                                                                              \
        "model", at, MODEL, about_model, false                                                     \
    }
#define FILTER(at)                                                                                 \
    {                                                                                              \
        "filter", at, A_WORD, 0, 0, "seen", "seen|none", about_filter, false                       \
    }
#define BOOST(at)                                                                                  \
    {                                                                                              \
        "boost", at, SOME_REAL, 0, 100000, NULL, NULL, about_boost, false                          \
    }

static const field recommend_fields[] = {
    {"user", NAME, about_user, true}, FILTER(IN_QUERY), LIST_FIELDS(IN_QUERY), {0}};

static const field batch_fields[] = {
    {"users", IN_BODY, SOME_TEXT, 1, 1000, NULL, NULL, "raw ids of users, a list for each", false},
    {"history", IN_BODY, SOME_TEXT, 1, 10000, NULL, NULL, about_history, false},
    FILTER(IN_BODY),
    LIST_FIELDS(IN_BODY),
    BOOST(IN_BODY),
    {0}};

static const field rank_fields[] = {
    {"user", IN_BODY, A_TEXT, 1, ID_LENGTH, NULL, NULL, about_user, false},
    {"history", IN_BODY, SOME_TEXT, 1, 10000, NULL, NULL, about_history, false},
    {"items", IN_BODY, SOME_TEXT, 1, 1000, NULL, NULL, "the items to put in order", true},
    {"dial", IN_BODY, DIAL, about_dial, false},
    BOOST(IN_BODY),
    {"model", IN_BODY, MODEL, about_model, false},
    {0}};

static const field similar_fields[] = {
    {"item", NAME, "raw id of an item", true}, LIST_FIELDS(IN_QUERY), {0}};

static const field popular_fields[] = {{"n", N(IN_QUERY), about_n, false},
                                       {"only", IDS(IN_QUERY), about_only, false},
                                       {"exclude", IDS(IN_QUERY), about_exclude, false},
                                       {"model", IN_QUERY, MODEL, about_model, false},
                                       {0}};

static const field explain_fields[] = {{"user", NAME, about_user, true},
                                       {"item", NAME, "raw id of an item", true},
                                       {"n", N(IN_QUERY), "how many reasons to name", false},
                                       {"model", IN_QUERY, MODEL, about_model, false},
                                       {0}};

static const field explain_new_fields[] = {
    {"history", IN_BODY, SOME_TEXT, 1, 10000, NULL, NULL, about_history, true},
    {"item", IN_BODY, A_TEXT, 1, ID_LENGTH, NULL, NULL, "raw id of an item", true},
    {"n", N(IN_BODY), "how many reasons to name", false},
    {"model", IN_BODY, MODEL, about_model, false},
    {0}};

static const field feedback_fields[] = {
    {"interactions", IN_BODY, SOME_ROWS, 1, 10000, NULL, NULL,
     "what was done: user, item, and a time in seconds since 1970 (now unless given)", true},
    {0}};

static const field served_fields[] = {{"model", IN_QUERY, MODEL, about_model, false}, {0}};

const route routes[] = {
    {"GET", "/v1/recommend/{user}", "recommend", "the best items for a user", READER,
     recommend_fields, NULL, "List", "422", answer_recommend},
    {"POST", "/v1/recommend", "recommend_batch", "lists for many users, or one for somebody new",
     READER, batch_fields, "users history", "Lists", "422", answer_batch},
    {"GET", "/v1/similar/{item}", "similar", "the items most alike to one", READER, similar_fields,
     NULL, "List", "404 422", answer_similar},
    {"POST", "/v1/rank", "rank", "given items in the order that fits somebody", READER, rank_fields,
     "user history", "List", "422", answer_rank},
    {"GET", "/v1/popular", "popular", "the items with most rows in the log", READER, popular_fields,
     NULL, "List", "", answer_popular},
    {"GET", "/v1/explain/{user}/{item}", "explain", "which items of a user speak for an item",
     READER, explain_fields, NULL, "Reasons", "404 422", answer_explain},
    {"POST", "/v1/explain", "explain_new", "the same for somebody new", READER, explain_new_fields,
     NULL, "Reasons", "404 422", answer_explain},
    {"POST", "/v1/feedback", "feedback",
     "keep interactions: the reply comes when they are on the disk", WRITER, feedback_fields, NULL,
     "Accepted", "", answer_feedback},
    {"POST", "/v1/reload", "reload", "read the model files again", ADMIN, NULL, NULL, "Reloaded",
     "422", answer_reload},
    {"GET", "/v1/model", "model", "the models that are served", READER, NULL, NULL, "Models", "",
     answer_model},
    {"GET", "/v1/served", "served", "how popular what is served is, against the log", READER,
     served_fields, NULL, "Served", "", answer_served},
    {"GET", "/health/live", "live", "the process answers", ANYBODY, NULL, NULL, "Health", "",
     answer_live},
    {"GET", "/health/ready", "ready", "it has a model and is not about to stop", ANYBODY, NULL,
     NULL, "Health", "", answer_ready},
    {"GET", "/metrics", "metrics", "counters for Prometheus", READER, NULL, NULL,
     "text/plain; version=0.0.4; charset=utf-8", "", answer_metrics},
    {"GET", "/openapi.json", "openapi", "this description", ANYBODY, NULL, NULL, "application/json",
     "", answer_openapi},
    {"GET", "/", "page", "a page to explore the model", ANYBODY, NULL, NULL,
     "text/html; charset=utf-8", "", answer_page},
    {0}};
