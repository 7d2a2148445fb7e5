/* fuzz_experiment.c - any bytes as a file that an experiment keeps, which the first byte chooses:
 * the experiment is reported from it, or says what is wrong. */
#include <dirent.h>
#include <unistd.h>

#include "fuzzing.h"

enum { MAX_FILES = 16 };

static char plan[1024];
static char names[MAX_FILES][192]; /* in the scratch folder */
static bytes base[MAX_FILES];
static size_t n_files;

/* Remember all records of a folder. */
static void collect(const char *folder)
{
    DIR *entries = opendir(scratch(folder).path);
    must(entries != NULL);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (!strstr(entry->d_name, ".json")) continue;
        must(n_files < MAX_FILES);
        snprintf(names[n_files], sizeof names[0], "%s/%.100s", folder, entry->d_name);
        base[n_files] = read_bytes(scratch(names[n_files]).path);
        n_files++;
    }
    closedir(entries);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Two methods, one of them tuned, on two seeds. */
static void prepare(void)
{
    cw_context *ctx = open_context();
    cw_dataset *data = make_dataset(ctx);
    must_work(ctx, cw_dataset_save(ctx, data, scratch("data").path, false));
    snprintf(plan, sizeof plan,
             "{\"datasets\":[\"%s\"],\"seeds\":2,"
             "\"options\":{\"dim\":2,\"batch\":8,\"epochs\":2,\"metric\":\"recall@3\"},"
             "\"tune\":{\"kind\":\"halving\",\"rungs\":[1],\"keep\":2},"
             "\"tables\":[{\"title\":\"T\",\"methods\":[\"bpr\","
             "{\"method\":\"cpr\",\"grid\":{\"lr\":[0.001,0.01]}}]}]}",
             scratch("data").path);
    must_work(ctx, cw_experiment_run(ctx, plan, NULL, scratch("lab").path, NULL));
    collect("lab/runs");
    collect("lab/data");
    qsort(names, n_files, sizeof names[0], by_name);
    for (size_t k = 0; k < n_files; k++) {
        free(base[k].at);
        base[k] = read_bytes(scratch(names[k]).path);
    }
    cw_dataset_free(data);
    cw_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json;
    if (size == 0) return 0;
    if (n_files == 0) prepare();
    size_t k = data[0] % n_files;
    cw_context *ctx = open_context();
    bytes file = change_json(&base[k], data + 1, size - 1);

    write_bytes(scratch(names[k]).path, file);
    cw_status status = cw_experiment_run(ctx, plan, NULL, scratch("lab").path, &json);
    check_status(ctx, status);
    json_t *results = json ? json_loads(json, 0, NULL) : NULL;
    must((results != NULL) == (status == CW_OK));
    write_bytes(scratch(names[k]).path, base[k]);
    json_decref(results);
    cw_text_free(json);
    free(file.at);
    cw_context_free(ctx);
    return 0;
}
