/* jsonl.c - JSON lines: one object a line, whose keys say what is what, nested ones by dots. */
#include <string.h>

#include "core/mem.h"
#include "import/fields.h"
#include "import/leaves.h"

/* The keys of the sampled lines, in order of first appearance. */
typedef struct keys {
    cw_context *ctx;
    cwi_pile pile; /* their names */
    cwi_text name[CWI_MAX_NAMES];
    size_t count;
    /* when fields are looked for */
    cwi_text *field;
    size_t n;
} keys;

typedef struct key_view {
    cwi_view base;
    const cwi_sample *sample;
    keys *k;
    char *scratch; /* room for the longest line */
} key_view;

static size_t find_key(const keys *k, cwi_text path)
{
    size_t n = 0;
    while (n < k->count &&
           (k->name[n].length != path.length || memcmp(k->name[n].at, path.at, path.length) != 0))
        n++;
    return n;
}

static void remember_key(void *user, const cwi_leaf *leaf)
{
    keys *k = user;
    bool has_value = leaf->kind != CWI_LEAF_OBJECT && leaf->kind != CWI_LEAF_LIST;
    if (!has_value || k->count == CWI_MAX_NAMES || find_key(k, leaf->path) < k->count) return;
    char *name = cwi_pile_add(k->ctx, &k->pile, leaf->path.length + 1, 1);
    if (!name) return; /* told by the pile */
    memcpy(name, leaf->path.at, leaf->path.length);
    k->name[k->count++] = (cwi_text){name, leaf->path.length};
}

static void take_field(void *user, const cwi_leaf *leaf)
{
    const keys *k = user;
    size_t n = find_key(k, leaf->path);
    if (n < k->n && leaf->value.at && leaf->kind != CWI_LEAF_NULL) k->field[n] = leaf->value;
}

/* A row of the sample; keys that it lacks are empty. */
static size_t split_object(const cwi_view *view, size_t row, cwi_text *field, size_t n)
{
    const key_view *v = (const key_view *)view;
    keys *k = v->k;

    for (size_t f = 0; f < n; f++) field[f] = (cwi_text){"", 0};
    k->field = field;
    k->n = n;
    (void)cwi_leaves_read(v->sample->line[row], v->scratch, take_field, k);
    return n;
}

static bool recognise_jsonl(const cwi_import *import, const cwi_sample *sample, cwi_layout *layout)
{
    size_t good = 0;
    (void)layout;
    if (import->settings.delimiter) return false;
    for (size_t s = 0; s < sample->count; s++) {
        cwi_text line = cwi_trim(sample->line[s]);
        const char *quote = line.length > 2 ? line.at + 1 + strspn(line.at + 1, " \t") : NULL;
        good += quote && line.at[0] == '{' && (*quote == '"' || *quote == '}');
    }
    return good * 2 > sample->count;
}

/* The names of the keys that have roles outlive the sample. */
static cw_status keep_keys(cwi_import *import, const keys *k, const cwi_layout *layout)
{
    for (int role = 0; role < CWI_N_ROLES; role++) {
        cwi_free(import->key[role]);
        import->key[role] = NULL;
        if (layout->column[role] < 0) continue;
        cwi_text name = k->name[layout->column[role]];
        import->key[role] = cwi_format(import->ctx, "%.*s", (int)name.length, name.at);
        if (!import->key[role]) return CW_NO_MEMORY;
        import->key_length[role] = name.length;
    }
    return CW_OK;
}

static cw_status arrange_jsonl(cwi_import *import, const cwi_source *source,
                               const cwi_sample *sample, cwi_layout *layout)
{
    keys k = {.ctx = import->ctx};
    size_t longest = 0;
    cw_status status;

    for (size_t s = 0; s < sample->count; s++)
        if (sample->line[s].length > longest) longest = sample->line[s].length;
    char *scratch = cwi_pile_add(import->ctx, &k.pile, longest, 1);
    CW_TRY(k.pile.status);
    for (size_t s = 0; s < sample->count; s++)
        (void)cwi_leaves_read(sample->line[s], scratch, remember_key, &k);
    CW_TRY(k.pile.status);
    const key_view view = {
        .base = {.row = split_object, .n_rows = sample->count, .word = "key", .is_complete = true},
        .sample = sample,
        .k = &k,
        .scratch = scratch};
    CW_TRY(cwi_columns_find(import, source, &view.base, k.name, k.count, layout));
    CW_TRY(keep_keys(import, &k, layout));
done:
    cwi_pile_clear(&k.pile);
    return status;
}

/* What a line says of each role. */
typedef struct found {
    const cwi_import *import;
    cwi_leaf leaf[CWI_N_ROLES];
    bool has[CWI_N_ROLES];
} found;

static void take_leaf(void *user, const cwi_leaf *leaf)
{
    found *f = user;
    for (int role = 0; role < CWI_N_ROLES; role++)
        if (f->import->key[role] && f->import->key_length[role] == leaf->path.length &&
            memcmp(f->import->key[role], leaf->path.at, leaf->path.length) == 0) {
            f->leaf[role] = *leaf;
            f->has[role] = true;
        }
}

/* NULL, or why the value of a role cannot be used. */
static const char *check_role(const found *f, int role)
{
    bool is_id = role == CWI_ROLE_USER || role == CWI_ROLE_ITEM;
    if (!f->has[role]) return is_id ? "is missing" : NULL;
    switch (f->leaf[role].kind) {
    case CWI_LEAF_OBJECT: return "is an object";
    case CWI_LEAF_LIST: return "is a list";
    case CWI_LEAF_WORD: return "is true or false";
    case CWI_LEAF_NULL: return is_id ? "is null" : NULL;
    default: return NULL;
    }
}

static cw_status read_object(cwi_import *import, const cwi_source *source, cwi_text line)
{
    found f = {.import = import};
    cwi_row row = {0};

    CW_PASS(cwi_grow(import->ctx, &import->scratch, &import->scratch_bytes, line.length, 1));
    const char *wrong = cwi_leaves_read(line, import->scratch, take_leaf, &f);
    if (wrong) return cwi_import_bad(import, source, "%s", wrong);
    for (int role = 0; role < CWI_N_ROLES; role++) {
        if (!import->key[role]) continue;
        wrong = check_role(&f, role);
        if (wrong) return cwi_import_bad(import, source, "the key %s %s", import->key[role], wrong);
        bool has_value = f.has[role] && f.leaf[role].kind != CWI_LEAF_NULL;
        row.field[role] = has_value ? f.leaf[role].value : (cwi_text){"", 0};
    }
    return cwi_import_row(import, source, &row);
}

const cwi_reader cwi_reader_jsonl = {
    .name = "jsonl", .recognise = recognise_jsonl, .arrange = arrange_jsonl, .read = read_object};
