/* fuzzing.c - a scratch folder, changes to valid files, bytes as choices. */
#include "fuzzing.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "model/tensorfile.h"

void must(bool holds)
{
    if (!holds) abort();
}

cw_context *open_context(void)
{
    cw_context *ctx;
    must(cw_context_create(&ctx) == CW_OK);
    must(cw_context_set_threads(ctx, 1) == CW_OK);
    return ctx;
}

void must_work(const cw_context *ctx, cw_status status)
{
    if (status == CW_OK) return;
    fprintf(stderr, "%s\n", cw_context_error(ctx));
    abort();
}

void check_status(const cw_context *ctx, cw_status status)
{
    must((status == CW_OK) == (cw_context_error(ctx)[0] == '\0'));
}

/* ---- files ----------------------------------------------------------------- */

static char folder[64];

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    (void)about;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_all(const char *path)
{
    (void)nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_folder(void)
{
    remove_all(folder);
}

/* In memory where there is such a place. */
static void make_folder(void)
{
    strcpy(folder, "/dev/shm/crosswise-fuzz-XXXXXX");
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/crosswise-fuzz-XXXXXX");
        must(mkdtemp(folder) != NULL);
    }
    must(atexit(remove_folder) == 0);
}

place scratch(const char *name)
{
    place p;
    if (!folder[0]) make_folder();
    int length = snprintf(p.path, sizeof p.path, "%s/%s", folder, name);
    must(length > 0 && (size_t)length < sizeof p.path);
    return p;
}

place fresh(const char *name)
{
    place p = scratch(name);
    remove_all(p.path);
    return p;
}

static bytes new_bytes(size_t size)
{
    bytes b = {malloc(size + 1), size};
    must(b.at != NULL);
    b.at[size] = '\0';
    return b;
}

bytes read_bytes(const char *path)
{
    FILE *file = fopen(path, "rb");
    must(file && fseek(file, 0, SEEK_END) == 0);
    bytes b = new_bytes((size_t)ftell(file));
    rewind(file);
    must(fread(b.at, 1, b.size, file) == b.size);
    fclose(file);
    return b;
}

void write_bytes(const char *path, bytes b)
{
    FILE *file = fopen(path, "wb");
    must(file && fwrite(b.at, 1, b.size, file) == b.size);
    must(fclose(file) == 0);
}

void write_text(const char *path, const char *text)
{
    write_bytes(path, (bytes){(uint8_t *)text, strlen(text)});
}

/* ---- changes ---------------------------------------------------------------- */

static bytes copy_bytes(const uint8_t *data, size_t size)
{
    bytes b = new_bytes(size);
    if (size > 0) memcpy(b.at, data, size);
    return b;
}

/* Put `come` bytes in the place of `go` bytes. */
static void splice(bytes *b, size_t at, size_t go, const uint8_t *data, size_t come)
{
    if (go > b->size - at) go = b->size - at;
    bytes made = new_bytes(b->size - go + come);
    memcpy(made.at, b->at, at);
    if (come > 0) memcpy(made.at + at, data, come);
    memcpy(made.at + at + come, b->at + at + go, b->size - at - go);
    free(b->at);
    *b = made;
}

bytes change_bytes(const bytes *base, const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] != '#') return copy_bytes(data, size);
    tape t = {data + 1, size - 1};
    bytes made = copy_bytes(base->at, base->size);
    while (t.left > 4) {
        size_t at = (size_t)take_number(&t, 0, UINT16_MAX) % (made.size + 1);
        size_t go = take_byte(&t), come = take_byte(&t);
        if (come > t.left) come = t.left;
        splice(&made, at, go, t.at, come);
        t = (tape){t.at + come, t.left - come};
    }
    return made;
}

/* Replace value number *n, counting down; NULL removes it.  True when that is done. */
static bool replace_value(json_t *root, int64_t *n, json_t *value)
{
    const char *key;
    size_t index;
    json_t *child;
    void *next;
    json_object_foreach_safe(root, next, key, child)
    {
        if (--*n == 0)
            return value ? json_object_set(root, key, value) == 0 : json_object_del(root, key) == 0;
        if (replace_value(child, n, value)) return true;
    }
    json_array_foreach(root, index, child)
    {
        if (--*n == 0)
            return value ? json_array_set(root, index, value) == 0
                         : json_array_remove(root, index) == 0;
        if (replace_value(child, n, value)) return true;
    }
    return false;
}

static void change_line(json_t *root, const char *line, size_t length)
{
    char *text;
    int64_t n = strtol(line, &text, 10);
    size_t used = (size_t)(text - line);
    if (used > length) return;
    json_t *value = json_loadb(text, length - used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (n > 0) replace_value(root, &n, value);
    json_decref(value);
}

bytes change_json(const bytes *base, const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] != '#') return copy_bytes(data, size);
    bytes lines = copy_bytes(data + 1, size - 1);
    json_t *root = json_loadb((const char *)base->at, base->size, 0, NULL);
    must(root != NULL);
    for (const char *line = (const char *)lines.at; *line;) {
        size_t length = strcspn(line, "\n");
        change_line(root, line, length);
        line += length + (line[length] == '\n');
    }
    json_object_del(root, "signed");
    json_object_del(root, "xxh3_128");
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    must(text != NULL);
    json_decref(root);
    free(lines.at);
    return (bytes){(uint8_t *)text, strlen(text)};
}

void sign_tensors(bytes *file)
{
    char digits[CWI_CHECKSUM_DIGITS + 1];
    if (file->size < CWI_CHECKSUM_AT + CWI_CHECKSUM_DIGITS) return;
    cwi_tensorfile_checksum(file->at, file->size, digits);
    memcpy(file->at + CWI_CHECKSUM_AT, digits, CWI_CHECKSUM_DIGITS);
}

/* Array and index of a line, and where in it the number begins; NULL when there is no such place.
 */
static const cwi_array *find_array(const cwi_tensorfile *file, const char *line, int64_t *index,
                                   char **number)
{
    char name[64];
    size_t length = strcspn(line, " ");
    if (length >= sizeof name) return NULL;
    memcpy(name, line, length);
    name[length] = '\0';
    const cwi_array *array = cwi_tensorfile_find(file, name);
    *index = strtoll(line + length, number, 10);
    return array && *index >= 0 && *index < cwi_array_count(array) ? array : NULL;
}

static void set_number(const cwi_tensorfile *file, const char *line)
{
    int64_t index;
    char *number;
    const cwi_array *array = find_array(file, line, &index, &number);
    if (!array) return;
    size_t width = cwi_dtype_bytes[array->dtype];
    char *at = (char *)array->data + (size_t)index * width; /* our own copy */
    int64_t whole = strtoll(number, NULL, 10);
    double real = strtod(number, NULL);
    float small = (float)real;
    memcpy(at,
           array->dtype == CWI_F32   ? (void *)&small
           : array->dtype == CWI_F64 ? (void *)&real
                                     : (void *)&whole,
           width);
}

bytes change_tensors(const bytes *good, const char *format, const uint8_t *data, size_t size)
{
    if (size == 0 || data[0] != '%') return change_bytes(good, data, size);
    cw_context *ctx = open_context();
    bytes file = change_bytes(good, (const uint8_t *)"#", 1);
    bytes lines = change_bytes(good, data, size);
    cwi_tensorfile parsed;
    must_work(ctx,
              cwi_tensorfile_parse(ctx, "good", file.at, file.size, format, INT16_MAX, &parsed));
    for (char *line = strtok((char *)lines.at + 1, "\n"); line; line = strtok(NULL, "\n"))
        set_number(&parsed, line);
    cwi_tensorfile_clear(&parsed);
    free(lines.at);
    cw_context_free(ctx);
    return file;
}

/* ---- something to work on ------------------------------------------------------ */

cw_options *make_options(cw_context *ctx, const char *stage, const char *const settings[][2])
{
    cw_options *options;
    must_work(ctx, cw_options_create(ctx, stage, &options));
    for (; (*settings)[0]; settings++)
        must_work(ctx, cw_options_set(ctx, options, (*settings)[0], (*settings)[1]));
    return options;
}

cw_dataset *simulate_dataset(cw_context *ctx, const char *const (*how)[2])
{
    static const char *const split[][2] = {{"core", "1"}, {0}};
    cw_dataset *data;
    cw_options *simulate = make_options(ctx, "simulate", how);
    cw_options *prepare = make_options(ctx, "prepare", split);
    must_work(ctx, cw_dataset_simulate(ctx, simulate, prepare, &data));
    cw_options_free(simulate);
    cw_options_free(prepare);
    return data;
}

cw_dataset *make_dataset(cw_context *ctx)
{
    static const char *const how[][2] = {{"users", "8"},      {"items", "12"},       {"dim", "2"},
                                         {"relevant", "0.7"}, {"popularity", "0"},   {"alpha", "0"},
                                         {"activity", "0"},   {"uniform-test", "3"}, {0}};
    return simulate_dataset(ctx, how);
}

cw_options *training_options(cw_context *ctx)
{
    static const char *const how[][2] = {{"dim", "2"},           {"batch", "8"},
                                         {"epochs", "2"},        {"eval-every", "1"},
                                         {"metric", "recall@3"}, {0}};
    return make_options(ctx, "train", how);
}

/* ---- bytes as choices ----------------------------------------------------------- */

uint8_t take_byte(tape *t)
{
    if (t->left == 0) return 0;
    t->left--;
    return *t->at++;
}

int64_t take_number(tape *t, int64_t least, int64_t most)
{
    uint64_t number = 0;
    for (int64_t range = most - least; range > 0; range >>= 8) number = number << 8 | take_byte(t);
    return least + (int64_t)(number % ((uint64_t)(most - least) + 1));
}

float take_float(tape *t)
{
    uint32_t bits = (uint32_t)take_number(t, 0, UINT32_MAX);
    float value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0;
}

size_t take_id(tape *t, char out[16])
{
    size_t length = (size_t)take_number(t, 1, 12);
    for (size_t k = 0; k < length; k++) {
        uint8_t byte = take_byte(t);
        out[k] = (char)(byte ? byte : 'x');
    }
    out[length] = '\0';
    return length;
}

void take_ids(cw_context *ctx, tape *t, int32_t n, cwi_idmap *out)
{
    char id[16];
    int32_t index;
    while (out->count < n) {
        size_t length = take_id(t, id);
        if (cwi_idmap_find(out, id, length) >= 0)
            length = (size_t)snprintf(id, sizeof id, "=%d", out->count);
        must_work(ctx, cwi_idmap_add(ctx, out, id, length, &index));
    }
}

void compare_ids(const cwi_idmap *a, const cwi_idmap *b)
{
    must(a->count == b->count);
    for (int32_t k = 0; k < a->count; k++)
        must(strcmp(cwi_idmap_text(a, k), cwi_idmap_text(b, k)) == 0);
}

void damage(tape *t, const char *path)
{
    bytes file = read_bytes(path);
    size_t at = (size_t)take_number(t, 0, UINT16_MAX) % file.size;
    uint8_t flip = take_byte(t);
    file.at[at] ^= (uint8_t)(flip ? flip : 1);
    write_bytes(path, file);
    free(file.at);
}
