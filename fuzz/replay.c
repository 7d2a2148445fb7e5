/* replay.c - run a fuzz target on every file of a folder, without a fuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(size + 1);
    int failed = !file || !bytes || fread(bytes, 1, size, file) != size;

    if (!failed) (void)LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    if (file) fclose(file);
    return failed;
}

int main(int argc, char **argv)
{
    int count = 0, failed = 0;
    struct dirent *entry;
    struct stat info;
    char path[4096];

    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER (which must be there)\n", argv[0]);
        return 1;
    }
    while ((entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        count++;
        if (replay(path, (size_t)info.st_size) != 0) {
            fprintf(stderr, "cannot read %s\n", path);
            failed = 1;
        }
    }
    closedir(folder);
    printf("%d inputs\n", count);
    return failed || count == 0;
}
