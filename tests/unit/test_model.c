/* test_model.c - model files: round trips, damage, replacement, export. */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/modelfile.h"
#include "model/tensorfile.h"
#include "model_sample.h"
#include "prepare/npy.h"

enum { MAX_BYTES = 1 << 14 };

typedef struct place {
    cw_context *ctx;
    char folder[64], path[128];
    cw_model *model;
} place;

static int open_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    assert_int_equal(cw_context_create(&p->ctx), CW_OK);
    make_scratch(p->folder);
    snprintf(p->path, sizeof p->path, "%s/m.safetensors", p->folder);
    p->model = make_sample(p->ctx);
    *state = p;
    return 0;
}

static int close_place(void **state)
{
    place *p = *state;
    cw_model_free(p->model);
    remove_scratch(p->folder);
    cw_context_free(p->ctx);
    free(p);
    return 0;
}

static size_t load_bytes(const char *path, unsigned char bytes[MAX_BYTES])
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, MAX_BYTES, file);
    fclose(file);
    return length;
}

static void a_model_survives_the_round_trip(void **state)
{
    place *p = *state;
    cw_model *got;
    unsigned char first[MAX_BYTES], second[MAX_BYTES];

    assert_int_equal(cw_model_save(p->ctx, p->model, p->path), CW_OK);
    size_t length = load_bytes(p->path, first);
    assert_int_equal(cw_model_load(p->ctx, p->path, &got), CW_OK);
    assert_int_equal(cw_model_users(got), SAMPLE_USERS);
    assert_int_equal(cw_model_items(got), SAMPLE_ITEMS);
    assert_string_equal(got->method, "cpr");
    assert_string_equal(got->backbone, "mf");
    assert_string_equal(got->about, p->model->about);
    assert_int_equal(got->params.count, 1);
    assert_string_equal(got->params.tensor[0].name, "embeddings");
    assert_memory_equal(got->params.tensor[0].data, sample_vectors, sizeof sample_vectors);
    assert_memory_equal(got->degree, p->model->degree, SAMPLE_ITEMS * sizeof *got->degree);
    assert_memory_equal(got->seen.start, p->model->seen.start,
                        (SAMPLE_USERS + 1) * sizeof *got->seen.start);
    assert_memory_equal(got->seen.value, p->model->seen.value, 8 * sizeof *got->seen.value);
    assert_string_equal(cwi_idmap_text(&got->users, 2), "c\td");
    assert_int_equal(cwi_idmap_find(&got->items, "caf\xe9", 4), 4);
    assert_int_equal(cw_model_save(p->ctx, got, p->path), CW_OK);
    assert_int_equal(load_bytes(p->path, second), length);
    assert_memory_equal(first, second, length);
    cw_model_free(got);
}

/* ann's i1 and i5, dee's i4, and i0 of the guest eve. */
static void hide_some(place *p)
{
    static const int32_t row[] = {0, 0, 3, 4}, item[] = {1, 5, 4, 0}, own[] = {2};
    static const char *const guest[] = {"eve"};
    cwi_rest *rest = &p->model->rest;
    sample_ids(p->ctx, guest, 1, &rest->users);
    assert_int_equal(cwi_csr_create(p->ctx, (int32_t[]){0}, own, 1, 1, &rest->rows), CW_OK);
    assert_int_equal(cwi_csr_create(p->ctx, row, item, 4, SAMPLE_USERS + 1, &rest->hidden), CW_OK);
}

static void hidden_rows_survive_the_round_trip(void **state)
{
    place *p = *state;
    static const int64_t start[] = {0, 2, 2, 2, 3, 4};
    static const int32_t item[] = {1, 5, 4, 0};
    unsigned char first[MAX_BYTES], second[MAX_BYTES];
    cw_model *got;
    char *text;

    hide_some(p);
    assert_int_equal(cw_model_save(p->ctx, p->model, p->path), CW_OK);
    size_t length = load_bytes(p->path, first);
    assert_non_null(strstr((const char *)first + 8, "\"format_version\":\"2\""));
    assert_int_equal(cw_model_load(p->ctx, p->path, &got), CW_OK);
    assert_int_equal(got->rest.hidden.n_rows, SAMPLE_USERS + 1);
    assert_memory_equal(got->rest.hidden.start, start, sizeof start);
    assert_memory_equal(got->rest.hidden.value, item, sizeof item);
    assert_int_equal(cw_model_info(p->ctx, got, &text), CW_OK);
    assert_non_null(strstr(text, "\"hidden_rows\": 4"));
    cw_text_free(text);
    assert_int_equal(cw_model_save(p->ctx, got, p->path), CW_OK);
    assert_int_equal(load_bytes(p->path, second), length);
    assert_memory_equal(first, second, length);
    cw_model_free(got);
}

static void info_is_json(void **state)
{
    place *p = *state;
    char *text;
    assert_int_equal(cw_model_info(p->ctx, p->model, &text), CW_OK);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "users")), 4);
    assert_int_equal(json_integer_value(json_object_get(root, "train_rows")), 8);
    assert_int_equal(json_integer_value(json_object_get(root, "parameters")), 30);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "about"), "seed")),
                     7);
    json_decref(root);
    cw_text_free(text);
}

/* ---- damage ------------------------------------------------------------------- */

static void every_flipped_byte_is_noticed(void **state)
{
    place *p = *state;
    unsigned char bytes[MAX_BYTES];
    cw_model *got;

    assert_int_equal(cw_model_save(p->ctx, p->model, p->path), CW_OK);
    size_t length = load_bytes(p->path, bytes);
    unsigned char *copy = cwi_alloc(p->ctx, length, 1);
    for (size_t at = 0; at < length; at++) {
        memcpy(copy, bytes, length);
        copy[at] ^= (unsigned char)(1 << (at % 8));
        cwi_begin(p->ctx);
        if (cwi_model_parse(p->ctx, "m", copy, length, &got) != CW_BAD_DATA)
            fail_msg("a flip at byte %zu was accepted", at);
        assert_null(got);
        assert_true(strncmp(p->ctx->error, "m: ", 3) == 0 || strncmp(p->ctx->error, "m ", 2) == 0);
    }
    cwi_free(copy);
}

static const char run_text[] =
    "{\"method\": \"cpr\", \"backbone\": \"mf\", \"options\": {\"dim\": 3}, \"lr\": 0.1}";

static void a_record_names_the_checksum_of_its_model(void **state)
{
    place *p = *state;
    char record[256], hash[CWI_HASH_BYTES];
    snprintf(record, sizeof record, "%s.json", p->path);
    for (int k = 0; k < 2; k++) { /* also over those that are there */
        assert_int_equal(cw_model_save_run(p->ctx, p->model, p->path, run_text, record, false),
                         CW_OK);
        assert_int_equal(cwi_file_hash(p->ctx, p->path, hash), CW_OK);
        json_t *got = json_load_file(record, 0, NULL);
        json_t *model = json_object_get(got, "model");
        assert_string_equal(json_string_value(json_object_get(model, "xxh3_128")), hash);
        assert_true(json_real_value(json_object_get(got, "lr")) == 0.1);
        json_decref(got);
    }
    assert_int_equal(unlink(record), 0);
}

static void a_foreign_file_is_no_place_for_a_model_or_record(void **state)
{
    place *p = *state;
    cw_context *ctx = p->ctx;
    char record[256];
    unsigned char bytes[MAX_BYTES];
    snprintf(record, sizeof record, "%s.json", p->path);
    FILE *file = fopen(record, "w");
    assert_non_null(file);
    assert_true(fputs("{\"mine\": 1}", file) >= 0 && fclose(file) == 0);
    assert_int_equal(cw_model_save_run(ctx, p->model, p->path, run_text, record, false), CW_IO);
    assert_non_null(strstr(ctx->error, "is no record of crosswise"));
    assert_int_not_equal(access(p->path, F_OK), 0);
    assert_int_equal(cw_model_save(ctx, p->model, record), CW_IO);
    assert_non_null(strstr(ctx->error, "is no model of crosswise"));
    assert_int_equal(load_bytes(record, bytes), 11);
    assert_int_equal(cw_model_save_run(ctx, p->model, p->path, "{", record, true), CW_BAD_DATA);
    assert_int_equal(load_bytes(record, bytes), 11);
    assert_int_not_equal(access(p->path, F_OK), 0);
    assert_int_equal(cw_model_save_run(ctx, p->model, p->path, run_text, record, true), CW_OK);
    assert_int_equal(unlink(record), 0);
}

/* The sample as arrays and notes, to be changed before it is written. */
typedef struct parts {
    cwi_array array[20];
    cwi_note note[3];
    cwi_tensorfile file;
} parts;

/* Read the saved sample, let `change` alter it, write it with a right checksum and load that. */
static const char *load_changed(place *p, void (*change)(parts *parts))
{
    cwi_tensorfile file;
    parts changed = {0};
    cw_model *got;

    (void)unlink(p->path); /* what the last change has made no model of is not replaced */
    assert_int_equal(cw_model_save(p->ctx, p->model, p->path), CW_OK);
    assert_int_equal(cwi_tensorfile_read(p->ctx, p->path, "crosswise-model", 1, &file), CW_OK);
    memcpy(changed.array, file.arrays, file.n_arrays * sizeof *file.arrays);
    memcpy(changed.note, file.notes, file.n_notes * sizeof *file.notes);
    changed.file = (cwi_tensorfile){.format = file.format,
                                    .version = 1,
                                    .arrays = changed.array,
                                    .n_arrays = file.n_arrays,
                                    .notes = changed.note,
                                    .n_notes = file.n_notes};
    change(&changed);
    assert_int_equal(cwi_tensorfile_write(p->ctx, p->path, &changed.file), CW_OK);
    cw_status status = cw_model_load(p->ctx, p->path, &got);
    cwi_tensorfile_clear(&file);
    cw_model_free(got);
    assert_true((status == CW_OK) == (p->ctx->error[0] == '\0'));
    if (status != CW_OK) {
        assert_int_equal(status, CW_BAD_DATA);
        assert_null(got);
        assert_non_null(strstr(p->ctx->error, p->path));
    }
    return p->ctx->error;
}

static cwi_array *array_of(parts *x, const char *name)
{
    for (size_t a = 0; a < x->file.n_arrays; a++)
        if (strcmp(x->array[a].name, name) == 0) return &x->array[a];
    fail_msg("there is no %s", name);
    return NULL;
}

static void set_data(parts *x, const char *name, const void *data)
{
    array_of(x, name)->data = data;
}

static void nothing(parts *x)
{
    (void)x;
}

static void newer(parts *x)
{
    x->file.version = 4;
}

static void foreign(parts *x)
{
    x->file.format = "pt";
}

static void checkpoint(parts *x)
{
    x->file.format = "crosswise-checkpoint";
}

static void no_method(parts *x)
{
    x->note[0].key = "other";
}

static void odd_backbone(parts *x)
{
    x->note[1].value = "../mf";
}

static void long_method(parts *x)
{
    x->note[0].value = "a23456789b23456789c23456789d23456789";
}

static void about_is_a_list(parts *x)
{
    x->note[2].value = "[]";
}

static void about_is_broken(parts *x)
{
    x->note[2].value = "{";
}

static void start_descends(parts *x)
{
    static const int64_t start[] = {0, 3, 1, 3, 8};
    set_data(x, "seen.start", start);
}

static void start_is_short(parts *x)
{
    static const int64_t start[] = {0, 1, 3, 3, 7};
    set_data(x, "seen.start", start);
}

static void start_is_negative(parts *x)
{
    static const int64_t start[] = {-1, 1, 3, 3, 8};
    set_data(x, "seen.start", start);
}

static void no_users(parts *x)
{
    array_of(x, "seen.start")->shape[0] = 1;
}

static void empty_start(parts *x)
{
    array_of(x, "seen.start")->shape[0] = 0;
}

static void item_too_large(parts *x)
{
    static const int32_t item[] = {6, 2, 3, 0, 1, 2, 3, 5};
    set_data(x, "seen.item", item);
}

static void item_negative(parts *x)
{
    static const int32_t item[] = {-1, 2, 3, 0, 1, 2, 3, 5};
    set_data(x, "seen.item", item);
}

static void items_descend(parts *x)
{
    static const int32_t item[] = {0, 3, 2, 0, 1, 2, 3, 5};
    set_data(x, "seen.item", item);
}

static void items_are_wide(parts *x)
{
    static const int64_t item[8];
    set_data(x, "seen.item", item);
    array_of(x, "seen.item")->dtype = CWI_I64;
}

static void items_twice_in_train(parts *x)
{
    static const int32_t item[] = {0, 2, 2, 0, 1, 2, 3, 5};
    set_data(x, "seen.item", item);
}

static void degree_negative(parts *x)
{
    static const int64_t degree[] = {0, 0, 0, -1, 0, 0};
    set_data(x, "degree", degree);
}

static void degree_missing(parts *x)
{
    array_of(x, "degree")->name = "other";
}

static void no_items(parts *x)
{
    array_of(x, "degree")->shape[0] = 0;
}

static void user_twice(parts *x)
{
    set_data(x, "users.text", "annannc\tddee");
}

static void user_with_zero(parts *x)
{
    set_data(x, "users.text", "a\0nbobc\tddee");
}

static void user_empty(parts *x)
{
    static const int64_t start[] = {0, 3, 3, 9, 12};
    set_data(x, "users.start", start);
}

static void user_start_descends(parts *x)
{
    static const int64_t start[] = {0, 9, 6, 9, 12};
    set_data(x, "users.start", start);
}

static void too_few_users(parts *x)
{
    array_of(x, "users.start")->shape[0] = 4;
}

static void text_too_short(parts *x)
{
    array_of(x, "items.text")->shape[0]--;
}

static void not_finite(parts *x)
{
    static float vectors[30];
    vectors[29] = NAN;
    set_data(x, "embeddings", vectors);
}

static void infinite(parts *x)
{
    static float vectors[30];
    vectors[0] = -INFINITY;
    set_data(x, "embeddings", vectors);
}

static void not_a_matrix(parts *x)
{
    array_of(x, "embeddings")->rank = 1;
}

static void odd_tensor_name(parts *x)
{
    array_of(x, "embeddings")->name = "../../x";
}

static void unknown_kind(parts *x)
{
    x->array[x->file.n_arrays++] =
        (cwi_array){.name = "more", .dtype = CWI_U8, .rank = 1, .shape = {1}, .data = "a"};
}

/* Two guests, "eve" with items 1 and 3 and "fay" without any, and the item "rare". */
static void add_guests(parts *x)
{
    static const int64_t start[] = {0, 2, 2}, users[] = {0, 3, 6}, items[] = {0, 4};
    static const int32_t item[] = {1, 3};
    const cwi_array guests[] = {
        {.name = "guests.start", .dtype = CWI_I64, .rank = 1, .shape = {3}, .data = start},
        {.name = "guests.item", .dtype = CWI_I32, .rank = 1, .shape = {2}, .data = item},
        {.name = "guests.users.start", .dtype = CWI_I64, .rank = 1, .shape = {3}, .data = users},
        {.name = "guests.users.text", .dtype = CWI_U8, .rank = 1, .shape = {6}, .data = "evefay"},
        {.name = "guests.items.start", .dtype = CWI_I64, .rank = 1, .shape = {2}, .data = items},
        {.name = "guests.items.text", .dtype = CWI_U8, .rank = 1, .shape = {4}, .data = "rare"}};
    for (size_t k = 0; k < sizeof guests / sizeof guests[0]; k++)
        x->array[x->file.n_arrays++] = guests[k];
}

static void guest_is_a_user(parts *x)
{
    add_guests(x);
    set_data(x, "guests.users.text", "evebob");
}

static void guest_has_a_foreign_item(parts *x)
{
    static const int32_t item[] = {1, 600};
    add_guests(x);
    set_data(x, "guests.item", item);
}

static void guests_without_ids(parts *x)
{
    add_guests(x);
    x->file.n_arrays -= 4;
}

static void no_room_for_guest_items(parts *x)
{
    add_guests(x);
    array_of(x, "guests.items.start")->shape[0] = 0;
}

/* Of four users and two guests: bob and eve had "rare". */
static void add_lost(parts *x)
{
    static const int64_t start[] = {0, 0, 1, 1, 1, 2, 2};
    static const int32_t item[] = {0, 0};
    add_guests(x);
    x->array[x->file.n_arrays++] = (cwi_array){
        .name = "guests.lost.start", .dtype = CWI_I64, .rank = 1, .shape = {7}, .data = start};
    x->array[x->file.n_arrays++] = (cwi_array){
        .name = "guests.lost.item", .dtype = CWI_I32, .rank = 1, .shape = {2}, .data = item};
}

static void lost_is_an_item(parts *x)
{
    static const int32_t item[] = {0, 1};
    add_lost(x);
    set_data(x, "guests.lost.item", item);
}

static void lost_of_too_few(parts *x)
{
    add_lost(x);
    array_of(x, "guests.lost.start")->shape[0] = 6;
}

static void lost_without_start(parts *x)
{
    add_lost(x);
    x->array[x->file.n_arrays - 2] = x->array[x->file.n_arrays - 1];
    x->file.n_arrays--;
}

/* Of ann i1 and i5, of dee i4. */
static void add_hidden(parts *x)
{
    static const int64_t start[] = {0, 2, 2, 2, 3};
    static const int32_t item[] = {1, 5, 4};
    x->array[x->file.n_arrays++] = (cwi_array){
        .name = "hidden.start", .dtype = CWI_I64, .rank = 1, .shape = {5}, .data = start};
    x->array[x->file.n_arrays++] =
        (cwi_array){.name = "hidden.item", .dtype = CWI_I32, .rank = 1, .shape = {3}, .data = item};
}

static void add_terms(parts *x)
{
    static const float term[SAMPLE_ITEMS] = {0, 1, -1};
    x->array[x->file.n_arrays++] = (cwi_array){
        .name = "bucket.term", .dtype = CWI_F32, .rank = 1, .shape = {SAMPLE_ITEMS}, .data = term};
}

static void terms_of_too_few(parts *x)
{
    add_terms(x);
    array_of(x, "bucket.term")->shape[0] = SAMPLE_ITEMS - 1;
}

static void terms_are_whole_numbers(parts *x)
{
    add_terms(x);
    array_of(x, "bucket.term")->dtype = CWI_I32;
}

static void term_is_infinite(parts *x)
{
    static const float term[SAMPLE_ITEMS] = {0, -INFINITY};
    add_terms(x);
    set_data(x, "bucket.term", term);
}

static void hidden_of_guests_is_missing(parts *x)
{
    add_guests(x);
    add_hidden(x);
}

static void hidden_of_too_few(parts *x)
{
    add_hidden(x);
    array_of(x, "hidden.start")->shape[0] = 4;
    array_of(x, "hidden.item")->shape[0] = 2;
}

static void hidden_start_descends(parts *x)
{
    static const int64_t start[] = {0, 2, 1, 2, 3};
    add_hidden(x);
    set_data(x, "hidden.start", start);
}

static void hidden_start_is_short(parts *x)
{
    static const int64_t start[] = {0, 2, 2, 2, 2};
    add_hidden(x);
    set_data(x, "hidden.start", start);
}

static void hidden_start_is_negative(parts *x)
{
    static const int64_t start[] = {-1, 2, 2, 2, 3};
    add_hidden(x);
    set_data(x, "hidden.start", start);
}

static void hidden_item_too_large(parts *x)
{
    static const int32_t item[] = {1, SAMPLE_ITEMS, 4};
    add_hidden(x);
    set_data(x, "hidden.item", item);
}

static void hidden_item_negative(parts *x)
{
    static const int32_t item[] = {-1, 5, 4};
    add_hidden(x);
    set_data(x, "hidden.item", item);
}

static void hidden_items_descend(parts *x)
{
    static const int32_t item[] = {5, 1, 4};
    add_hidden(x);
    set_data(x, "hidden.item", item);
}

static void hidden_without_items(parts *x)
{
    add_hidden(x);
    x->file.n_arrays--;
}

static void hidden_without_users(parts *x)
{
    add_hidden(x);
    x->array[x->file.n_arrays - 2] = x->array[x->file.n_arrays - 1];
    x->file.n_arrays--;
}

static void hidden_items_are_floats(parts *x)
{
    static const float none[3];
    add_hidden(x);
    array_of(x, "hidden.item")->dtype = CWI_F32;
    set_data(x, "hidden.item", none);
}

static void what_does_not_fit_together_is_refused(void **state)
{
    static const struct {
        void (*change)(parts *parts);
        const char *says;
    } cases[] = {
        {nothing, ""},
        {items_twice_in_train, ""},
        {newer, "was written by a newer crosswise: its format version is 4"},
        {foreign, "was not written by crosswise"},
        {checkpoint, "format crosswise-checkpoint, not crosswise-model"},
        {no_method, "method is missing"},
        {odd_backbone, "backbone is not a name"},
        {long_method, "method is not a name"},
        {about_is_a_list, "about is not a JSON object"},
        {about_is_broken, "about is not a JSON object"},
        {start_descends, "seen.start does not ascend"},
        {start_is_short, "seen.start does not ascend"},
        {start_is_negative, "seen.start does not ascend"},
        {no_users, "seen.start has a wrong length"},
        {empty_start, "seen.start has a wrong length"},
        {item_too_large, "seen.item has an item that is out of range"},
        {item_negative, "seen.item has an item that is out of range"},
        {items_descend, "seen.item has an item that is out of range or out of order"},
        {items_are_wide, "seen.item is of another type"},
        {degree_negative, "degree has a number below 0"},
        {degree_missing, "degree is missing"},
        {no_items, "degree has a wrong length"},
        {user_twice, "users.text has an id twice"},
        {user_with_zero, "users.text has an id that is empty, too long or has a zero byte"},
        {user_empty, "users.text has an id that is empty"},
        {user_start_descends, "users.start does not ascend"},
        {too_few_users, "users.start has a wrong length"},
        {text_too_short, "items.start does not ascend"},
        {not_finite, "embeddings has a number that is not finite"},
        {infinite, "embeddings has a number that is not finite"},
        {not_a_matrix, "embeddings is not a matrix"},
        {odd_tensor_name, "has a name that is too long or has odd characters"},
        {unknown_kind, "is not of a known kind"},
        {add_guests, ""},
        {guest_is_a_user, "guests are among those of training"},
        {guest_has_a_foreign_item, "guests.item has an item that is out of range"},
        {guests_without_ids, "guests.users.start is missing"},
        {no_room_for_guest_items, "guests.items.start has a wrong length"},
        {add_hidden, ""},
        {add_lost, ""},
        {lost_is_an_item, "guests.lost.item has an item that is out of range"},
        {lost_of_too_few, "guests.lost.start has a wrong length"},
        {lost_without_start, "guests.lost.start is missing"},
        {hidden_of_guests_is_missing, "hidden.start has a wrong length"},
        {hidden_of_too_few, "hidden.start has a wrong length"},
        {hidden_start_descends, "hidden.start does not ascend"},
        {hidden_start_is_short, "hidden.start does not ascend"},
        {hidden_start_is_negative, "hidden.start does not ascend"},
        {hidden_item_too_large, "hidden.item has an item that is out of range"},
        {hidden_item_negative, "hidden.item has an item that is out of range"},
        {hidden_items_descend, "hidden.item has an item that is out of range or out of order"},
        {hidden_without_items, "hidden.item is missing"},
        {hidden_without_users, "hidden.start is missing"},
        {hidden_items_are_floats, "hidden.item is of another type"},
        {add_terms, ""},
        {terms_of_too_few, "bucket.term has a wrong length"},
        {terms_are_whole_numbers, "bucket.term is of another type"},
        {term_is_infinite, "bucket.term has a number that is not finite"},
    };
    place *p = *state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *said = load_changed(p, cases[c].change);
        if (cases[c].says[0] ? !strstr(said, cases[c].says) : said[0])
            fail_msg("case %zu: '%s' instead of '%s'", c, said, cases[c].says);
    }
}

static void ranking_refuses_parameters_of_another_shape(void **state)
{
    place *p = *state;
    cwi_ranker ranker;
    p->model->params.tensor[0].rows = 9;
    assert_int_equal(cwi_model_rank(p->ctx, p->model, &ranker), CW_BAD_DATA);
    assert_non_null(strstr(p->ctx->error, "embeddings of the model is 9 x 3, not 10 x 3"));
    cwi_begin(p->ctx);
    strcpy(p->model->backbone, "pop");
    assert_int_equal(cwi_model_rank(p->ctx, p->model, &ranker), CW_BAD_DATA);
    assert_non_null(strstr(p->ctx->error, "lacks the tensor popularity"));
    cwi_begin(p->ctx);
    strcpy(p->model->backbone, "oracle");
    assert_int_equal(cwi_model_rank(p->ctx, p->model, &ranker), CW_BAD_DATA);
    assert_non_null(strstr(p->ctx->error, "'oracle' is not known"));
}

/* ---- replacement -------------------------------------------------------------- */

static int count_files(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(command, "r");
    int count = -1;
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

static void a_failing_write_keeps_the_old_file(void **state)
{
    place *p = *state;
    unsigned char before[MAX_BYTES], after[MAX_BYTES];
    struct rlimit limit, small;

    assert_int_equal(cw_model_save(p->ctx, p->model, p->path), CW_OK);
    size_t length = load_bytes(p->path, before);
    p->model->params.tensor[0].data[0] = 9;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 700;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    cw_status status = cw_model_save(p->ctx, p->model, p->path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, CW_IO);
    assert_non_null(strstr(cw_context_error(p->ctx), "m.safetensors"));
    assert_int_equal(load_bytes(p->path, after), length);
    assert_memory_equal(before, after, length);
    assert_int_equal(count_files(p->folder), 1);
    assert_int_equal(cw_model_save(p->ctx, p->model, p->path), CW_OK);
    load_bytes(p->path, after);
    assert_memory_not_equal(before, after, length);
    assert_int_equal(count_files(p->folder), 1);
}

static void a_place_that_cannot_be_is_refused(void **state)
{
    place *p = *state;
    cw_model *got = p->model;
    assert_int_equal(cw_model_save(p->ctx, p->model, "there/is/no/folder"), CW_IO);
    assert_int_equal(cw_model_load(p->ctx, "there/is/no/file", &got), CW_IO);
    assert_null(got);
    assert_int_equal(cw_model_save(p->ctx, p->model, p->folder), CW_IO);
}

static void allocation_failures_are_reported(void **state)
{
    place *p = *state;
    char folder[128];
    for (int which = 0; which < 4; which++) {
        cw_status status = CW_NO_MEMORY;
        for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
            cw_model *got = NULL;
            char *text = NULL;
            snprintf(folder, sizeof folder, "%s/e%d", p->folder, (int)nth);
            cwi_mem_fail_at(p->ctx, nth);
            if (which == 0)
                status = cw_model_save(p->ctx, p->model, p->path);
            else if (which == 1)
                status = cw_model_load(p->ctx, p->path, &got);
            else if (which == 2)
                status = cw_model_info(p->ctx, p->model, &text);
            else
                status = cw_model_export(p->ctx, p->model, folder, false);
            cwi_mem_fail_at(p->ctx, 0);
            cw_model_free(got);
            cw_text_free(text);
        }
        assert_int_equal(status, CW_OK);
    }
    assert_int_equal(count_files(p->folder), 2);
}

/* ---- export ------------------------------------------------------------------- */

static void check_matrix(place *p, const char *name, const float *expected, int64_t rows)
{
    char path[192];
    cwi_npy array;
    void *data;
    snprintf(path, sizeof path, "%s/out/%s", p->folder, name);
    assert_int_equal(cwi_npy_read(p->ctx, path, &array, &data), CW_OK);
    assert_int_equal(array.shape[0], rows);
    assert_int_equal(array.shape[1], SAMPLE_WIDTH);
    assert_memory_equal(data, expected, (size_t)rows * SAMPLE_WIDTH * sizeof(float));
    cwi_free(data);
}

static void export_writes_vectors_and_ids(void **state)
{
    place *p = *state;
    char folder[128];
    snprintf(folder, sizeof folder, "%s/out", p->folder);
    assert_int_equal(cw_model_export(p->ctx, p->model, folder, false), CW_OK);
    check_matrix(p, "user_vectors.npy", sample_vectors, SAMPLE_USERS);
    check_matrix(p, "item_vectors.npy", sample_vectors + SAMPLE_USERS * SAMPLE_WIDTH, SAMPLE_ITEMS);
    check_matrix(p, "params/embeddings.npy", sample_vectors, SAMPLE_USERS + SAMPLE_ITEMS);
    assert_string_equal(read_text(folder, "users.txt"), "ann\nbob\nc\td\ndee\n");
    assert_string_equal(read_text(folder, "items.txt"), "i0\ni1\ni2\ni3\ncaf\xe9\ni5\n");
    assert_non_null(strstr(read_text(folder, "model.json"), "\"method\": \"cpr\""));
    assert_int_equal(cw_model_export(p->ctx, p->model, folder, false), CW_IO);
    assert_int_equal(cw_model_export(p->ctx, p->model, folder, true), CW_OK);
}

static void export_refuses_ids_with_line_breaks(void **state)
{
    place *p = *state;
    char folder[128];
    snprintf(folder, sizeof folder, "%s/out", p->folder);
    p->model->users.text[1] = '\n';
    assert_int_equal(cw_model_export(p->ctx, p->model, folder, false), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(p->ctx), "id 0 of users.txt has a line break"));
    assert_int_equal(count_files(p->folder), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_place, close_place)
    const struct CMUnitTest tests[] = {
        TEST(a_model_survives_the_round_trip),
        TEST(hidden_rows_survive_the_round_trip),
        TEST(info_is_json),
        TEST(a_record_names_the_checksum_of_its_model),
        TEST(a_foreign_file_is_no_place_for_a_model_or_record),
        TEST(every_flipped_byte_is_noticed),
        TEST(what_does_not_fit_together_is_refused),
        TEST(ranking_refuses_parameters_of_another_shape),
        TEST(a_failing_write_keeps_the_old_file),
        TEST(a_place_that_cannot_be_is_refused),
        TEST(allocation_failures_are_reported),
        TEST(export_writes_vectors_and_ids),
        TEST(export_refuses_ids_with_line_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
