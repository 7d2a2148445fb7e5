/*
 * fuzzing.h - what the fuzzers share.
 *
 * Readers of whole files and folders get a scratch folder in memory that holds something valid; an
 * input stands for one file of it.  An input that begins with '#' is a list of changes to the
 * valid file, so that the reader is entered deeply and stays so when formats change.
 */
#ifndef FUZZING_H
#define FUZZING_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "import/idmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void must(bool holds);

/* A context of one thread. */
cw_context *open_context(void);

/* It must succeed; otherwise the reason is printed. */
void must_work(const cw_context *ctx, cw_status status);

/* A failure has a reason, a success none. */
void check_status(const cw_context *ctx, cw_status status);

/* ---- files ----------------------------------------------------------------- */

typedef struct bytes {
    uint8_t *at; /* a zero follows */
    size_t size;
} bytes;

typedef struct place {
    char path[256];
} place;

/* A name in the scratch folder of this process, which goes when the process ends. */
place scratch(const char *name);
place fresh(const char *name); /* there is nothing of that name */

bytes read_bytes(const char *path);
void write_bytes(const char *path, bytes b);
void write_text(const char *path, const char *text);

/* ---- changes ---------------------------------------------------------------- */

/*
 * The input itself, or after '#' the base with these changes: two bytes for the place, one for how
 * many bytes go there, one for how many come, and those.  New memory.
 */
bytes change_bytes(const bytes *base, const uint8_t *data, size_t size);

/*
 * The same for JSON: after '#' every line "N VALUE" replaces the Nth value of the base, counted in
 * the order of the text from 1, and "N" alone removes it.  Signatures are left out, for what is
 * not signed is believed.
 */
bytes change_json(const bytes *base, const uint8_t *data, size_t size);

/* The same for a file of tensors of a format: after '%' every line "ARRAY INDEX NUMBER" sets a
 * number of the base. */
bytes change_tensors(const bytes *base, const char *format, const uint8_t *data, size_t size);

/* Make the checksum of a model or checkpoint right, since no fuzzer would ever guess it. */
void sign_tensors(bytes *file);

/* ---- something to work on ------------------------------------------------------ */

cw_options *make_options(cw_context *ctx, const char *stage, const char *const settings[][2]);

/* 8 users and 11 items, simulated. */
cw_dataset *make_dataset(cw_context *ctx);

/* One of other settings, which end with a pair of NULLs. */
cw_dataset *simulate_dataset(cw_context *ctx, const char *const (*how)[2]);

/* Options to train on it in a moment. */
cw_options *training_options(cw_context *ctx);

/* ---- bytes as choices ----------------------------------------------------------- */

typedef struct tape {
    const uint8_t *at;
    size_t left;
} tape;

/* Zeros follow the end of a tape. */
uint8_t take_byte(tape *t);
int64_t take_number(tape *t, int64_t least, int64_t most);
float take_float(tape *t); /* a finite one */

/* An id of 1 to 12 bytes, none of them zero. */
size_t take_id(tape *t, char out[16]);
void take_ids(cw_context *ctx, tape *t, int32_t n, cwi_idmap *out);
void compare_ids(const cwi_idmap *a, const cwi_idmap *b);

/* Change some byte of a file. */
void damage(tape *t, const char *path);

#endif
