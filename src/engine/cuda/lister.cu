/* lister.cu - lists of some rows at a time: by bounds, then of all scores for whom those do not help. */
#include "engine/cuda/lister.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/cuda/lists.cuh"

enum {
    LEFT_BASE = 64, /* items of a row that may be left, beside LEFT_PER_PLACE k */
    LEFT_PER_PLACE = 2,
    MOST_ROWS = 1 << 17,
    MOST_SCORES = 1 << 26,
    MOST_ITEMS = 1 << 30, /* whose numbers, and those of whole tiles, are counted in 32 bits */
    HARD_AT_ONCE = 2048,
    WAVES = 8, /* blocks a processor, at least, where there are enough tiles */
};
static const int64_t most_bytes = (int64_t)2 << 30;

/* What grows with what is asked for. */
enum {
    ROOM_WHO,
    ROOM_USERS,
    ROOM_START,
    ROOM_VALUE,
    ROOM_TILT,
    ROOM_HALF_USERS,
    ROOM_HALF_ITEMS,
    ROOM_LENGTH,
    ROOM_REST,
    ROOM_UNIT,
    ROOM_MASKED,
    ROOM_BEST,
    ROOM_PRODUCT,
    ROOM_N_FOUND,
    ROOM_FOUND,
    ROOM_ORDER,
    ROOM_HARD,
    ROOM_SCORE,
    ROOM_KEY,
    ROOM_ITEM,
    ROOM_COUNT,
    ROOM_HELD_START,
    ROOM_HELD_VALUE,
    ROOM_DEGREE,
    ROOM_DISCOUNT,
    ROOM_IDEAL,
    ROOM_RESULT,
    ROOMS
};

/* What the host wants to know of every round. */
typedef struct outcome {
    unsigned n_hard, n_bad;
} outcome;

struct cwi_cuda_lister {
    gpu g;
    lister_tables tables;
    float *own_items, *own_term; /* where they are not the engine's */
    statistics *of_items;
    outcome *out;
    gpu_room room[ROOMS], values_here; /* the latter in the memory of the host */
    int64_t budget;                    /* bytes that rows may take */
    int processors;
    int32_t deepest; /* vectors of halves that blocks have room for */
    const void *key; /* of what was held out that is there */
};

template <typename T> static T *need(cwi_cuda_lister *e, int room, int64_t count)
{
    return (T *)gpu_grow(&e->g, &e->room[room], count * (int64_t)sizeof(T));
}

static cw_status end_call(const cwi_cuda_lister *e, char *why)
{
    if (e->g.status != CW_OK) snprintf(why, CWI_CUDA_TEXT, "%s", e->g.why);
    return e->g.status;
}

static unsigned blocks_of(const cwi_cuda_lister *e)
{
    return 2 + 8 * (unsigned)e->processors;
}

static int32_t whole(int32_t n, int32_t each)
{
    return (n + each - 1) / each * each;
}

/* ---- open and close -------------------------------------------------------------------------- */

static cw_status open_on(int device, cwi_cuda_lister **out, char *why)
{
    cwi_cuda_device about;
    cwi_cuda_lister *e = *out = (cwi_cuda_lister *)calloc(1, sizeof *e);
    if (!e) {
        snprintf(why, CWI_CUDA_TEXT, "there is no memory left");
        return CW_NO_MEMORY;
    }
    cw_status status = gpu_look(device, &about, why);
    if (status != CW_OK) return status;
    gpu_open(&e->g, device);
    e->processors = about.processors;
    e->budget = about.free_bytes / 2;
    if (e->budget > most_bytes) e->budget = most_bytes;
    e->of_items = (statistics *)gpu_alloc(&e->g, 1, sizeof *e->of_items);
    e->out = (outcome *)gpu_alloc(&e->g, 1, sizeof *e->out);
    while (tile_room_bytes(e->deepest + PIECE) <= gpu_block_bytes(&e->g) && e->deepest < 512)
        e->deepest += PIECE;
    gpu_use_room(&e->g, (const void *)find_best, tile_room_bytes(e->deepest));
    return end_call(e, why);
}

cw_status lister_over(const lister_tables *tables, cwi_cuda_lister **out, char *why)
{
    cw_status status = open_on(tables->device, out, why);
    if (*out) (*out)->tables = *tables;
    return status;
}

/* Bytes of what a row takes for lists of k. */
static int64_t bytes_of_row(const cwi_cuda_lister *e, int32_t k)
{
    int64_t width = e->tables.width, tiles = whole(e->tables.n_items, TILE_ITEMS) / TILE_ITEMS;
    int64_t left = LEFT_BASE + LEFT_PER_PLACE * (int64_t)k;
    return 6 * (width + PIECE) + tiles * (GROUPS_A_TILE * 4 + TILE_ITEMS / 8 + TILE_ITEMS * 2) + 12 * left + 4 * k + 128;
}

cw_status lister_open(const cwi_cuda_catalog *c, cwi_cuda_lister **out, char *why)
{
    int64_t numbers = (int64_t)c->n_items * c->width;
    cwi_cuda_device about;
    if (c->n_items > MOST_ITEMS) {
        snprintf(why, CWI_CUDA_TEXT, "--device cuda lists at most %d items; there are %d: take "
                                     "--device cpu",
                 MOST_ITEMS, (int)c->n_items);
        *out = NULL;
        return CW_UNSUPPORTED;
    }
    cw_status status = open_on(c->device, out, why);
    if (status != CW_OK) return status;
    cwi_cuda_lister *e = *out;
    e->tables.device = c->device;
    e->tables.n_items = c->n_items;
    e->tables.width = c->width;
    int64_t bytes = numbers * 4 + (int64_t)whole(c->n_items, TILE_ITEMS) * (c->width + PIECE) * 2 +
                    (int64_t)c->n_items * 32 + TILE_USERS * bytes_of_row(e, CWI_CUDA_MOST_LISTED);
    e->g.advice = "--device cpu does without it";
    status = gpu_look(c->device, &about, why);
    if (status != CW_OK) return status;
    if (bytes > about.free_bytes) {
        snprintf(why, CWI_CUDA_TEXT,
                 "lists of %d items take %lld bytes of the memory of GPU %d (%s), which has %lld left; "
                 "--device cpu takes none of it",
                 (int)c->n_items, (long long)bytes, c->device, about.name, (long long)about.free_bytes);
        return CW_NO_MEMORY;
    }
    e->own_items = (float *)gpu_alloc(&e->g, numbers, sizeof *e->own_items);
    gpu_put(&e->g, e->own_items, c->items, (size_t)numbers * sizeof *c->items);
    if (c->term) {
        e->own_term = (float *)gpu_alloc(&e->g, c->n_items, sizeof *e->own_term);
        gpu_put(&e->g, e->own_term, c->term, (size_t)c->n_items * sizeof *c->term);
    }
    e->tables.items = e->own_items;
    gpu_wait(&e->g);
    if ((about.free_bytes - bytes) / 2 < e->budget) e->budget = (about.free_bytes - bytes) / 2;
    return end_call(e, why);
}

/* Other items of the same shape. */
cw_status lister_renew(cwi_cuda_lister *e, const float *items, char *why)
{
    size_t numbers = (size_t)e->tables.n_items * (size_t)e->tables.width;
    gpu_enter(&e->g);
    gpu_put(&e->g, e->own_items, items, numbers * sizeof *items);
    gpu_wait(&e->g);
    return end_call(e, why);
}

void lister_close(cwi_cuda_lister *e)
{
    if (!e) return;
    gpu_enter(&e->g);
    for (int k = 0; k < ROOMS; k++) gpu_drop(&e->g, &e->room[k]);
    gpu_drop_here(&e->g, &e->values_here);
    gpu_close(&e->g);
    free(e);
}

int32_t lister_most_rows(const cwi_cuda_lister *e, int32_t k)
{
    int64_t rows = e->budget / bytes_of_row(e, k) / TILE_USERS * TILE_USERS;
    return rows < TILE_USERS ? TILE_USERS : rows < MOST_ROWS ? (int32_t)rows : MOST_ROWS;
}

/* ---- a round --------------------------------------------------------------------------------- */

/* Who gets lists, and what they do not get. */
static void put_rows(cwi_cuda_lister *e, const cwi_cuda_wish *wish, int32_t first, bool is_there,
                     listing *l)
{
    gpu *g = &e->g;
    int64_t n = l->rows;
    if (wish->users) {
        int32_t *who = need<int32_t>(e, ROOM_WHO, n);
        if (!is_there) gpu_put(g, who, wish->users + first, (size_t)n * sizeof *who);
        l->who = who;
        l->users = e->tables.users;
    } else {
        int64_t numbers = n * l->width;
        float *users = need<float>(e, ROOM_USERS, numbers);
        gpu_put(g, users, wish->vectors + (int64_t)first * l->width, (size_t)numbers * sizeof *users);
        l->users = users;
    }
    l->start = e->tables.start;
    l->value = e->tables.value;
    if (!wish->start) return;
    const int64_t *from = wish->start + first;
    int64_t *start = need<int64_t>(e, ROOM_START, n + 1);
    int32_t *value = need<int32_t>(e, ROOM_VALUE, from[n] - from[0]);
    gpu_put(g, start, from, (size_t)(n + 1) * sizeof *from);
    gpu_put(g, value, wish->value + from[0], (size_t)(from[n] - from[0]) * sizeof *value);
    l->start = start;
    l->value = value;
    l->is_by_row = true;
    l->first_value = from[0];
}

static listing plan_round(cwi_cuda_lister *e, const cwi_cuda_wish *wish, int32_t first, int32_t n,
                          bool is_there)
{
    listing l = {};
    l.rows = n;
    l.n_items = e->tables.n_items;
    l.width = e->tables.width;
    l.k = wish->k;
    l.items = e->tables.items;
    l.term = e->own_term;
    l.of_items = e->of_items;
    l.n_hard = &e->out->n_hard;
    if (wish->tilt) {
        double *tilt = need<double>(e, ROOM_TILT, l.n_items);
        gpu_put(&e->g, tilt, wish->tilt, (size_t)l.n_items * sizeof *tilt);
        l.tilt = tilt;
    }
    put_rows(e, wish, first, is_there, &l);
    l.depth = whole(l.width + (l.term || l.tilt), PIECE);
    l.tiles = whole(l.n_items, TILE_ITEMS) / TILE_ITEMS;
    l.most = LEFT_BASE + LEFT_PER_PLACE * l.k;
    l.hard = need<int32_t>(e, ROOM_HARD, n);
    l.item = need<int32_t>(e, ROOM_ITEM, (int64_t)n * l.k);
    l.count = need<int32_t>(e, ROOM_COUNT, n);
    return l;
}

/* Lists from bounds, of whom they help; the others are listed. */
static void screen_round(cwi_cuda_lister *e, listing *l)
{
    gpu *g = &e->g;
    int64_t n = l->rows, padded = whole(l->rows, TILE_USERS), tiles = l->tiles;
    l->half_users = need<uint16_t>(e, ROOM_HALF_USERS, padded * l->depth);
    l->half_items = need<uint16_t>(e, ROOM_HALF_ITEMS, tiles * TILE_ITEMS * l->depth);
    l->length = need<float>(e, ROOM_LENGTH, n);
    l->rest = need<float>(e, ROOM_REST, n);
    l->unit = need<double>(e, ROOM_UNIT, n);
    l->masked = need<uint32_t>(e, ROOM_MASKED, padded * tiles * (TILE_ITEMS / 32));
    l->product = need<uint4>(e, ROOM_PRODUCT, padded * tiles * GROUPS_A_TILE);
    l->best = need<float>(e, ROOM_BEST, padded * tiles * GROUPS_A_TILE);
    l->n_found = need<int32_t>(e, ROOM_N_FOUND, n);
    l->found = need<int32_t>(e, ROOM_FOUND, n * l->most);
    l->order = need<unsigned long long>(e, ROOM_ORDER, n * l->most);
    listing x = *l;
    dim3 all(blocks_of(e)), threads(BLOCK), tile(TILE_THREADS);
    int32_t across = (int32_t)(padded / TILE_USERS), parts = WAVES * e->processors / across + 1;
    if (parts > x.tiles) parts = x.tiles;
    int32_t each = (x.tiles + parts - 1) / parts;
    dim3 blocks((unsigned)across, (unsigned)((x.tiles + each - 1) / each));
    int bytes = tile_room_bytes(x.depth);
    gpu_zero(g, x.of_items, sizeof *x.of_items);
    LAUNCH(find_longest, all, threads, g, x);
    LAUNCH(round_items, all, threads, g, x);
    LAUNCH(round_users, all, threads, g, x);
    LAUNCH(start_masks, all, threads, g, x);
    LAUNCH(mask_rows, all, threads, g, x);
    LAUNCH_ROOM(find_best, blocks, tile, bytes, g, x, each);
    LAUNCH(find_left, all, threads, g, x);
    LAUNCH(list_found, all, threads, g, x);
}

/* Lists of all scores, of those who are listed as hard. */
static void list_hard(cwi_cuda_lister *e, listing *l, int32_t n)
{
    gpu *g = &e->g;
    int64_t fitting = MOST_SCORES / l->n_items + 1;
    int32_t many = fitting < HARD_AT_ONCE ? (int32_t)fitting : HARD_AT_ONCE;
    if (many > n) many = n;
    l->score = need<float>(e, ROOM_SCORE, (int64_t)many * l->n_items);
    l->key = need<uint32_t>(e, ROOM_KEY, (int64_t)many * l->n_items);
    for (int32_t first = 0; first < n; first += many) {
        listing x = *l;
        x.first = first;
        x.many = n - first < many ? n - first : many;
        dim3 tiles((unsigned)((x.n_items + ALL_ITEMS - 1) / ALL_ITEMS),
                   (unsigned)((x.many + ALL_SIDE - 1) / ALL_SIDE));
        LAUNCH(score_all, tiles, dim3(BLOCK), g, x);
        LAUNCH(list_best, dim3(blocks_of(e)), dim3(BLOCK), g, x);
    }
}

/* Lists of n rows, but for the hard ones. */
static listing begin_round(cwi_cuda_lister *e, const cwi_cuda_wish *wish, int32_t first, int32_t n,
                           bool is_there)
{
    listing l = plan_round(e, wish, first, n, is_there);
    gpu_zero(&e->g, e->out, sizeof *e->out);
    if (l.depth <= e->deepest)
        screen_round(e, &l);
    else
        LAUNCH(take_all, dim3(blocks_of(e)), dim3(BLOCK), &e->g, l);
    return l;
}

static void list_round(cwi_cuda_lister *e, const cwi_cuda_wish *wish, int32_t first, int32_t n)
{
    gpu *g = &e->g;
    outcome out = {0, 0};
    listing l = begin_round(e, wish, first, n, false);
    gpu_get(g, &out, e->out, sizeof out);
    int32_t n_hard = l.depth <= e->deepest ? (int32_t)out.n_hard : n;
    if (n_hard > 0) list_hard(e, &l, n_hard);
    gpu_get(g, wish->item + (int64_t)first * l.k, l.item, (size_t)n * (size_t)l.k * sizeof *l.item);
    gpu_get(g, wish->count + first, l.count, (size_t)n * sizeof *l.count);
}

cw_status lister_list(cwi_cuda_lister *e, const cwi_cuda_wish *wish, char *why)
{
    int32_t most = lister_most_rows(e, wish->k);
    gpu_enter(&e->g);
    e->key = NULL;
    for (int32_t r = 0; r < wish->n; r += most)
        list_round(e, wish, r, wish->n - r < most ? wish->n - r : most);
    return end_call(e, why);
}

/* ---- measures -------------------------------------------------------------------------------- */

typedef struct measuring {
    const int64_t *start; /* by number of the user */
    const int32_t *value;
    const int64_t *degree;
    const double *discount, *ideal;
    double *result; /* [CWI_PLACE_VALUES][rows] */
    outcome *out;
} measuring;

__device__ inline bool has_item(const int32_t *ascending, int64_t n, int32_t item)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (ascending[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ascending[low] == item;
}

/* A row a thread. */
__global__ void measure_lists(listing l, measuring m)
{
    for (int32_t r = (int)(blockIdx.x * blockDim.x + threadIdx.x); r < l.rows;
         r += (int)(gridDim.x * blockDim.x)) {
        cwi_hits places = {0, 0, 0, 0, 0};
        int64_t begin = m.start[l.who[r]], n = m.start[l.who[r] + 1] - begin;
        int32_t count = l.count[r];
        double out[CWI_PLACE_VALUES], reachable = fmin((double)l.k, (double)n);
        if (count < 0) atomicAdd(&m.out->n_bad, 1u);
        for (int32_t p = 0; p < count; p++) {
            int32_t item = l.item[(int64_t)r * l.k + p];
            cwi_hits_add(&places, p, (double)m.degree[item], has_item(m.value + begin, n, item),
                           m.discount[p]);
        }
        cwi_hits_values(&places, (double)n, reachable, m.ideal[(int32_t)reachable], l.k, count, out);
        for (int v = 0; v < CWI_PLACE_VALUES; v++) m.result[(int64_t)v * l.rows + r] = out[v];
    }
}

/* What was held out; it is there already where its number is that of the last time. */
static measuring put_held(cwi_cuda_lister *e, const cwi_cuda_held *held, int32_t k, bool is_there)
{
    gpu *g = &e->g;
    size_t users = (size_t)held->n_users + 1, values = (size_t)held->start[held->n_users];
    size_t items = (size_t)e->tables.n_items, places = (size_t)k + 1;
    int64_t *start = need<int64_t>(e, ROOM_HELD_START, (int64_t)users);
    int32_t *value = need<int32_t>(e, ROOM_HELD_VALUE, (int64_t)values);
    int64_t *degree = need<int64_t>(e, ROOM_DEGREE, (int64_t)items);
    double *discount = need<double>(e, ROOM_DISCOUNT, (int64_t)places);
    double *ideal = need<double>(e, ROOM_IDEAL, (int64_t)places);
    if (!is_there) {
        gpu_put(g, start, held->start, users * sizeof *start);
        gpu_put(g, value, held->value, values * sizeof *value);
        gpu_put(g, degree, held->degree, items * sizeof *degree);
    }
    gpu_put(g, discount, held->discount, places * sizeof *discount);
    gpu_put(g, ideal, held->ideal, places * sizeof *ideal);
    return (measuring){start, value, degree, discount, ideal, NULL, e->out};
}

static void measure_round(cwi_cuda_lister *e, const listing *l, const measuring *m, double *here)
{
    size_t bytes = (size_t)l->rows * CWI_PLACE_VALUES * sizeof *here;
    listing x = *l;
    measuring y = *m;
    LAUNCH(measure_lists, dim3((unsigned)((x.rows + BLOCK - 1) / BLOCK)), dim3(BLOCK), &e->g, x, y);
    gpu_get_soon(&e->g, here, y.result, bytes);
}

/* User by user, as the host adds them up. */
static void add_values(const double *here, int32_t n, cwi_cuda_held *held)
{
    for (int32_t r = 0; r < n; r++)
        for (int v = 0; v < CWI_PLACE_VALUES; v++) {
            double x = here[(int64_t)v * n + r];
            if (!(x == x)) continue;
            held->over[v] += x;
            held->under[v]++;
        }
}

cw_status lister_measure(cwi_cuda_lister *e, const cwi_cuda_wish *wish, cwi_cuda_held *held, char *why)
{
    gpu *g = &e->g;
    int32_t most = lister_most_rows(e, wish->k);
    gpu_enter(g);
    bool is_there = held->key && held->key == e->key, is_one = wish->n <= most;
    measuring m = put_held(e, held, wish->k, is_there);
    outcome *out = (outcome *)gpu_grow_here(
        g, &e->values_here,
        (int64_t)(sizeof *out + (size_t)(is_one ? wish->n : most) * CWI_PLACE_VALUES * sizeof(double)));
    double *here = (double *)(out + 1);
    e->key = NULL;
    for (int32_t first = 0; first < wish->n && g->status == CW_OK; first += most) {
        int32_t n = wish->n - first < most ? wish->n - first : most;
        listing l = begin_round(e, wish, first, n, is_there);
        m.result = need<double>(e, ROOM_RESULT, (int64_t)n * CWI_PLACE_VALUES);
        measure_round(e, &l, &m, here);
        gpu_get(g, out, e->out, sizeof *out);
        int32_t n_hard = l.depth <= e->deepest ? (int32_t)out->n_hard : n;
        if (n_hard > 0 && g->status == CW_OK) {
            gpu_zero(g, e->out, sizeof *e->out);
            list_hard(e, &l, n_hard);
            measure_round(e, &l, &m, here);
            gpu_get(g, out, e->out, sizeof *out);
        }
        if (g->status == CW_OK && out->n_bad > 0) return CW_BAD_DATA;
        if (g->status == CW_OK) add_values(here, n, held);
    }
    e->key = is_one ? held->key : NULL;
    return end_call(e, why);
}
