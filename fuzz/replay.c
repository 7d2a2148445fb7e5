/*
 * replay.c - run a fuzz target on every file of its corpus, without a fuzzer engine.
 *   fuzz_<parser> FOLDER
 * Nothing is judged here: a target aborts, or a sanitizer does, when something is wrong.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input lies at the end of a block of exactly its size, so that reading past it is noticed. */
static int replay_file(const char *folder, const char *name)
{
    static uint8_t bytes[MAX_INPUT_BYTES];
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *input = malloc(size + !size);
    if (!input) return 1;
    memcpy(input, bytes, size);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0, count = 0;

    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "there is no corpus %s\n", argc == 2 ? argv[1] : "given");
        return 1;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        failed |= replay_file(argv[1], entry->d_name);
        count++;
    }
    closedir(folder);
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("replayed %d inputs\n", count);
    return failed || count == 0;
}
