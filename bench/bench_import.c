/* bench_import.c - how fast text becomes interactions, on files generated here. */
#include "bench.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "crosswise/crosswise.h"

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

static void read_file(const char *path)
{
    cw_context *ctx;
    cw_interactions *rows;

    if (cw_context_create(&ctx) != CW_OK) exit(1);
    if (cw_import(ctx, &path, 1, NULL, &rows) != CW_OK) {
        fprintf(stderr, "%s\n", cw_context_error(ctx));
        exit(1);
    }
    cw_interactions_free(rows);
    cw_context_free(ctx);
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

static void measure(const char *name, void (*generate)(FILE *), int also_packed)
{
    char path[] = "/tmp/bench_import_XXXXXX", packed[sizeof path + 3], packed_name[64];
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;

    if (!file) exit(1);
    generate(file);
    double megabytes = (double)ftell(file) / 1e6;
    if (fclose(file) != 0) exit(1);
    BENCH(name, RUNS, megabytes, "MB", read_file(path));
    if (also_packed) {
        snprintf(packed, sizeof packed, "%s.gz", path);
        snprintf(packed_name, sizeof packed_name, "%s, gzip", name);
        pack(path, packed);
        BENCH(packed_name, RUNS, megabytes, "MB", read_file(packed));
        unlink(packed);
    }
    unlink(path);
}

int main(void)
{
    measure("import ratings.dat", write_dat, 1);
    measure("import csv, rating and time", write_csv, 0);
    measure("import csv, pairs", write_pairs, 0);
    measure("import adjacency lists", write_lists, 1);
    measure("import ifashion", write_hashes, 0);
    return 0;
}
