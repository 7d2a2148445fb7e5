/* bench_import.c - how fast text becomes interactions, on files generated here. */
#include "bench.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { RUNS = 5 };

/* A small generator of its own, so that the files are the same everywhere. */
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Popular items are frequent: the square of a uniform number, scaled. */
static unsigned skewed(uint64_t *state, unsigned n)
{
    double u = (double)(next(state) >> 11) * 0x1p-53;
    return (unsigned)(u * u * n);
}

static void write_dat(FILE *file)
{
    uint64_t state = 1;
    for (unsigned line = 0; line < 2000000; line++)
        fprintf(file, "%u::%u::%u::%u\n", 1 + line / 140, 1 + skewed(&state, 10677),
                1 + (unsigned)(next(&state) % 5), 800000000 + (unsigned)(next(&state) % 400000000));
}

static void write_csv(FILE *file)
{
    uint64_t state = 2;
    fprintf(file, "user,item,rating,timestamp\n");
    for (unsigned line = 0; line < 2000000; line++)
        fprintf(file, "%u,%u,%u.%u,%u\n", 1 + (unsigned)(next(&state) % 70000),
                1 + skewed(&state, 10677), 1 + (unsigned)(next(&state) % 4),
                5 * (unsigned)(next(&state) % 2), 800000000 + (unsigned)(next(&state) % 400000000));
}

static void write_pairs(FILE *file)
{
    uint64_t state = 3;
    fprintf(file, "user,item\n");
    for (unsigned line = 0; line < 2000000; line++)
        fprintf(file, "%u,%u\n", (unsigned)(next(&state) % 70000), skewed(&state, 10677));
}

static void write_lists(FILE *file)
{
    uint64_t state = 4;
    for (unsigned user = 0; user < 30000; user++) {
        fprintf(file, "%u", user);
        for (unsigned count = 10 + (unsigned)(next(&state) % 100); count > 0; count--)
            fprintf(file, " %u", skewed(&state, 40981));
        fputc('\n', file);
    }
}

static void write_hashes(FILE *file)
{
    uint64_t state = 5;
    for (unsigned line = 0; line < 500000; line++) {
        uint64_t user = next(&state) % 100000 * UINT64_C(0x9e3779b97f4a7c15);
        uint64_t outfit = skewed(&state, 50000) * UINT64_C(0xc2b2ae3d27d4eb4f);
        fprintf(file, "%016llx%016llx,%08x;%08x;%08x,%016llx%016llx\n", (unsigned long long)user,
                (unsigned long long)~user, (unsigned)next(&state), (unsigned)next(&state),
                (unsigned)next(&state), (unsigned long long)outfit, (unsigned long long)~outfit);
    }
}

static cw_status read_file(bench *b, const char *path)
{
    cw_interactions *rows;
    cw_status status = cw_import(b->ctx, &path, 1, NULL, &rows);
    cw_interactions_free(rows);
    return status;
}

/* Core filter and debiased split of what the file holds. */
static cw_status time_split(bench *b, const char *name, const char *path)
{
    cw_interactions *rows;
    cw_dataset *data = NULL;
    cw_status status = cw_import(b->ctx, &path, 1, NULL, &rows);
    if (status != CW_OK) return status;
    BENCH(
        b, name, RUNS, cw_interactions_count(rows), "rows", if (status == CW_OK) {
            cw_dataset_free(data);
            status = cw_dataset_prepare(b->ctx, rows, NULL, &data);
        });
    cw_dataset_free(data);
    cw_interactions_free(rows);
    return status;
}

/* The same text again, compressed, so that MB/s of text can be compared. */
static void pack(const char *from, const char *to)
{
    static char block[1 << 16];
    FILE *in = fopen(from, "rb");
    gzFile out = gzopen(to, "wb6");
    size_t got;

    if (!in || !out) exit(1);
    while ((got = fread(block, 1, sizeof block, in)) > 0)
        if (gzwrite(out, block, (unsigned)got) != (int)got) exit(1);
    if (gzclose(out) != Z_OK) exit(1);
    fclose(in);
}

typedef struct kind {
    const char *name;
    void (*generate)(FILE *);
    bool is_packed; /* read it compressed, too */
    bool is_split;  /* split what was read, too */
} kind;

static cw_status measure(bench *b, const kind *k)
{
    char path[] = "/tmp/bench_import_XXXXXX", packed[sizeof path + 3], name[64];
    cw_status status = CW_OK;
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;

    if (!file) exit(1);
    k->generate(file);
    double megabytes = (double)ftell(file) / 1e6;
    if (fclose(file) != 0) exit(1);
    snprintf(name, sizeof name, "import/%s", k->name);
    BENCH(b, name, RUNS, megabytes, "MB", if (status == CW_OK) status = read_file(b, path));
    if (k->is_packed && status == CW_OK) {
        snprintf(packed, sizeof packed, "%s.gz", path);
        snprintf(name, sizeof name, "import/%s gzip", k->name);
        pack(path, packed);
        BENCH(b, name, RUNS, megabytes, "MB", if (status == CW_OK) status = read_file(b, packed));
        unlink(packed);
    }
    if (k->is_split && status == CW_OK) {
        snprintf(name, sizeof name, "split/%s", k->name);
        status = time_split(b, name, path);
    }
    unlink(path);
    return status;
}

static cw_status run(bench *b)
{
    static const kind kinds[] = {{"ratings.dat", write_dat, true, true},
                                 {"csv rating and time", write_csv, false, false},
                                 {"csv pairs", write_pairs, false, true},
                                 {"adjacency lists", write_lists, true, false},
                                 {"ifashion", write_hashes, false, false}};
    cw_status status = CW_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && status == CW_OK; k++)
        status = measure(b, &kinds[k]);
    return status;
}

int main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}
