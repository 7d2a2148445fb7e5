/* fuzz_trip_tensors.c - any named arrays and notes, written and read back, are the same; the file
 * with any byte changed is refused. */
#include "fuzzing.h"
#include "model/tensorfile.h"

enum { MAX_ARRAYS = 6, MAX_ROWS = 9, MAX_WIDTH = 8 };

typedef struct sample {
    char name[MAX_ARRAYS][8], note[16];
    uint8_t data[MAX_ARRAYS][MAX_ROWS * MAX_ROWS * MAX_WIDTH];
    cwi_array array[MAX_ARRAYS];
    cwi_note notes[1];
    cwi_tensorfile file;
} sample;

static void make(tape *t, sample *s)
{
    size_t n = (size_t)take_number(t, 0, MAX_ARRAYS);
    for (size_t a = 0; a < n; a++) {
        snprintf(s->name[a], sizeof s->name[a], "%c%zu", 'a' + take_byte(t) % 26, a);
        s->array[a] = (cwi_array){.name = s->name[a],
                                  .dtype = take_byte(t) % 7,
                                  .rank = take_byte(t) % 3,
                                  .data = s->data[a]};
        for (int d = 0; d < s->array[a].rank; d++)
            s->array[a].shape[d] = take_number(t, 0, MAX_ROWS);
        for (size_t k = 0; k < sizeof s->data[a] && t->left > 0; k++) s->data[a][k] = take_byte(t);
    }
    take_id(t, s->note);
    for (char *c = s->note; *c; c++) *c &= 0x7f; /* notes are UTF-8 */
    s->notes[0] = (cwi_note){"note", s->note};
    s->file = (cwi_tensorfile){.format = "crosswise-trip",
                               .version = 3,
                               .n_arrays = n,
                               .n_notes = 1,
                               .arrays = s->array,
                               .notes = s->notes};
}

static void compare(const sample *s, const cwi_tensorfile *got)
{
    must(got->version == 3 && got->n_arrays == s->file.n_arrays && got->n_notes == 1);
    must(strcmp(cwi_tensorfile_note(got, "note"), s->note) == 0);
    for (size_t a = 0; a < got->n_arrays; a++) {
        const cwi_array *ours = &s->array[a], *theirs = cwi_tensorfile_find(got, ours->name);
        must(theirs && theirs->dtype == ours->dtype && theirs->rank == ours->rank);
        for (int d = 0; d < ours->rank; d++) must(theirs->shape[d] == ours->shape[d]);
        size_t length = (size_t)cwi_array_count(ours) * cwi_dtype_bytes[ours->dtype];
        must(memcmp(theirs->data, ours->data, length) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    tape t = {data, size};
    place path = fresh("tensors");
    cwi_tensorfile got;
    sample *s = calloc(1, sizeof *s);

    must(s != NULL);
    make(&t, s);
    must_work(ctx, cwi_tensorfile_write(ctx, path.path, &s->file));
    must_work(ctx, cwi_tensorfile_read(ctx, path.path, "crosswise-trip", 3, &got));
    compare(s, &got);
    cwi_tensorfile_clear(&got);

    damage(&t, path.path);
    cw_status status = cwi_tensorfile_read(ctx, path.path, "crosswise-trip", 3, &got);
    must(status != CW_OK);
    check_status(ctx, status);
    free(s);
    cw_context_free(ctx);
    return 0;
}
