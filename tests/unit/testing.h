/* testing.h - what the unit tests share. */
#ifndef TESTING_H
#define TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/context.h"

enum { SKIPPED = 77 }; /* exit code of a test that cannot run here */

/* The cases that CROSSWISE_CASES names, as "first,second", or all where it is not set. */
static inline int run_cases(const struct CMUnitTest *all, size_t n, CMFixtureFunction open,
                            CMFixtureFunction close)
{
    enum { MOST = 16 };
    const char *named = getenv("CROSSWISE_CASES");
    struct CMUnitTest chosen[MOST];
    size_t n_chosen = 0;
    if (!named) return _cmocka_run_group_tests("tests", all, n, open, close);
    for (size_t length; *named; named += length + (named[length] == ',')) {
        size_t k = 0;
        length = strcspn(named, ",");
        while (k < n && (strlen(all[k].name) != length || memcmp(all[k].name, named, length) != 0))
            k++;
        if (k == n || n_chosen == MOST) {
            print_error("no case, or too many: CROSSWISE_CASES from %s on\n", named);
            return 1;
        }
        chosen[n_chosen++] = all[k];
    }
    return _cmocka_run_group_tests("tests", chosen, n_chosen, open, close);
}
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, open, close)                                                 \
    run_cases(tests, sizeof(tests) / sizeof((tests)[0]), open, close)

/* A context that collects what is logged. */
typedef struct listener {
    cw_context *ctx;
    char log[4096]; /* all lines, each with its end */
} listener;

static inline void collect_log(void *user, cw_log_level level, const char *text)
{
    listener *l = user;
    size_t used = strlen(l->log);
    snprintf(l->log + used, sizeof l->log - used, "%s%s\n", level == CW_LOG_WARNING ? "! " : "",
             text);
}

static inline void listener_init(listener *l)
{
    l->log[0] = '\0';
    assert_int_equal(cw_context_create(&l->ctx), CW_OK);
    cw_context_set_log(l->ctx, collect_log, l);
}

static inline void listener_clear(listener *l)
{
    cw_context_free(l->ctx);
}

/* Options of "prepare" for the split of the paper; data that numbers depend on are made with it. */
static inline cw_options *paper_split(cw_context *ctx)
{
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "prepare", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "cap", "1/60"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "holdout", "0.3"), CW_OK);
    return options;
}

/* A fresh folder for one test; remove_scratch takes it away with all it holds. */
/* In TMPDIR, which tools/check puts into memory. */
static inline void make_scratch(char path[64])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, 64, "%.30s/crosswise-test-XXXXXX", base && strlen(base) <= 30 ? base : "/tmp");
    assert_non_null(mkdtemp(path));
}

static inline void remove_scratch(const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

/* A context, a scratch folder and the path of something to be made in it. */
typedef struct workshop {
    listener l;
    char folder[64];
    char path[128];
} workshop;

static inline int workshop_open(void **state, const char *name)
{
    workshop *w = calloc(1, sizeof *w);
    listener_init(&w->l);
    make_scratch(w->folder);
    snprintf(w->path, sizeof w->path, "%s/%s", w->folder, name);
    *state = w;
    return 0;
}

static inline int workshop_close(void **state)
{
    workshop *w = *state;
    remove_scratch(w->folder);
    listener_clear(&w->l);
    free(w);
    return 0;
}

static inline void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* The whole of a text file; static, so only one at a time. */
static inline const char *read_text(const char *folder, const char *name)
{
    static char text[1 << 16];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

/* Where real datasets lie, or a loud skip of the whole program. */
static inline const char *data_folder_or_skip(void)
{
    const char *folder = getenv("CROSSWISE_DATA");
    char path[1024];
    if (folder) {
        snprintf(path, sizeof path, "%s/README.md", folder);
        FILE *file = fopen(path, "r");
        if (file) {
            fclose(file);
            return folder;
        }
    }
    printf("skipped: no datasets in %s (set CROSSWISE_DATA)\n", folder ? folder : "CROSSWISE_DATA");
    exit(SKIPPED);
}

#endif
