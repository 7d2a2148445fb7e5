/*
 * lists.cuh - the best items of many users by inner products, the same as on the CPU to the last tie:
 * a score is one chain of fused steps in the order of columns.
 *
 * Few scores are made.  Vectors are rounded to halves, whose products the matrix units make
 * (tensor.cuh).  They are kept, as halves themselves, and the largest of every few items of a user, which
 * give a bound that K items reach.  What may reach it, too, gets its score.
 *
 * With u = u' + du and a = a' + da, where u' and a' are the halves, and all lengths scaled alike,
 *   u.a - u'.a' = du.a + u'.da, at most |du| |a| + |u'| |da|  (Cauchy-Schwarz).
 * Products of halves are exact in floats.  The units add 16 of them at a time, cut off after 23 bits
 * of the largest, so that a sum of d is within 17/16 d 2^-23 |u'| |a'|; twice that is allowed for.  A
 * score, a chain of d fused steps, is within d 2^-24 |u| |a|, the rest of it within a few steps more.
 * Together (3 d + 64) 2^-23 times the longest lengths is enough for all of it.  Chains of very small
 * numbers lose up to 2^-150 a step beside it.  A product that is kept loses 2^-11 of itself more.
 *
 * Who is not helped by bounds (too many items are left, lengths out of range) has all scores made.
 */
#ifndef CWI_ENGINE_CUDA_LISTS_CUH
#define CWI_ENGINE_CUDA_LISTS_CUH

#include "engine/cuda/tensor.cuh"

enum {
    MOST_LISTED = CWI_CUDA_MOST_LISTED,
    MOST_EQUAL = 1024,
    GROUPS_A_TILE = 16, /* of 8 items */
    MOST_GROUPS = 1024, /* that a warp holds */
    LARGEST_EXPONENT = 58,
    USER_EXPONENT = 11, /* lengths are below 2 to this, so that products are below 2^15 */
    ITEM_EXPONENT = 4
};
static const float no_product = -65536; /* of what is no candidate; as a half, one of no number */
enum { NO_PRODUCT = 0xfc00 };

/* Of all items: as bits of floats, whose order is that of numbers here. */
typedef struct statistics {
    uint32_t longest;      /* as they are */
    uint32_t length, rest; /* in their unit */
    uint32_t are_bad;
} statistics;

/* What is ranked: rows, one a list. */
typedef struct listing {
    int32_t rows, n_items, width, k;
    const int32_t *who;   /* [rows] row of `users`; NULL: that of the list */
    const float *users;   /* [..][width] */
    const float *items;   /* [n_items][width] */
    const float *term;    /* [n_items] added to scores, or NULL */
    const double *tilt;   /* [n_items] then this, or NULL */
    const int64_t *start; /* of what each had in `value`, by row or by number of the user */
    const int32_t *value;
    bool is_by_row;
    int64_t first_value; /* that `value` begins with */

    /* with bounds */
    int32_t depth, tiles; /* of halves */
    uint16_t *half_users, *half_items;
    float *length, *rest; /* [rows] of halves, and of what they lack */
    double *unit;         /* [rows] what the vector was multiplied by; 0: bounds are no help */
    statistics *of_items;
    uint32_t *masked;     /* [rows][4 tiles] bits of items that are no candidates */
    uint4 *product;       /* [rows][16 tiles] those of a group, as halves */
    float *best;          /* [rows][16 tiles] largest of them */
    int32_t most;         /* items of a row that are left */
    int32_t *n_found;     /* [rows] more than `most`: too many, or bounds are no help */
    int32_t *found;       /* [rows][most] */
    unsigned long long *order; /* [rows][most] */

    /* without */
    unsigned *n_hard;
    int32_t *hard;   /* [rows] whom bounds do not help */
    int32_t first, many; /* of them, at a time */
    float *score;    /* [many][n_items] */
    uint32_t *key;   /* [many][n_items] the same as whole numbers; 0 is no candidate */

    int32_t *item;  /* [rows][k] */
    int32_t *count; /* [rows]; -1: a score is no number */
} listing;

/* Whole numbers in the order of floats; both zeros are one. */
__device__ inline uint32_t order_of(float x)
{
    uint32_t bits = bits_of(x + 0.0f);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

__device__ inline float of_order(uint32_t key)
{
    return float_of(key >> 31 ? key & 0x7fffffffu : ~key);
}

__device__ inline const float *vector_of(const listing &l, int64_t row)
{
    return l.users + (l.who ? l.who[row] : row) * l.width;
}

__device__ inline const int32_t *mask_of(const listing &l, int64_t row, int64_t *n)
{
    int64_t at = l.is_by_row ? row : l.who[row];
    *n = l.start[at + 1] - l.start[at];
    return l.value + (l.start[at] - l.first_value);
}

/* The score as the CPU makes it of the chain. */
__device__ inline float finish_score(const listing &l, float score, int32_t item)
{
    if (l.term) score += l.term[item];
    if (l.tilt) score = (float)((double)score + l.tilt[item]);
    return score;
}

/* ---- halves ----------------------------------------------------------------------------------- */

__device__ inline float offset_of(const listing &l, int32_t item)
{
    double sum = (l.term ? (double)l.term[item] : 0) + (l.tilt ? l.tilt[item] : 0);
    return (float)sum;
}

/* What making a float of that, and adding its parts to a score, may come to. */
__device__ inline double offset_error(const listing &l, int32_t item)
{
    double term = l.term ? (double)l.term[item] : 0, tilt = l.tilt ? l.tilt[item] : 0;
    return 0x1p-22 * (fabs(term) + fabs(tilt));
}

__device__ inline bool has_offset(const listing &l)
{
    return l.term || l.tilt;
}

__device__ inline double warp_sum_double(double x)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
    return x;
}

/* Bits of the length of a vector, which goes on with `more`; a warp.  Those of what is no number are
 * the largest of all. */
__device__ inline uint32_t length_of(const float *x, int32_t n, float more)
{
    double square = 0;
    for (int32_t k = (int)threadIdx.x % WARP; k < n; k += WARP) square += (double)x[k] * (double)x[k];
    float length = (float)sqrt(warp_sum_double(square) + (double)more * (double)more);
    return length < INFINITY ? bits_of(length) : 0x7fffffffu;
}

/* What brings a length to below 2 to `exponent`: a power of two; 0 where it is out of range. */
__device__ inline double unit_of(uint32_t length, int exponent)
{
    int now = (int)(length >> 23) - 126;
    if (now > LARGEST_EXPONENT || now < -LARGEST_EXPONENT) return 0;
    return (double)float_of((uint32_t)(127 + exponent - now) << 23);
}

/* Round a vector, which goes on with `more` and zeros: lengths of what it was at most, and of what
 * is lost.  A warp. */
__device__ inline void round_vector(const float *x, int32_t n, float more, int32_t depth,
                                    double unit, uint16_t *to, float *length, float *rest)
{
    double square = 0, rounded = 0, lost = 0;
    for (int32_t k = (int)threadIdx.x % WARP; k < depth; k += WARP) {
        double exact = unit * (double)(k < n ? x[k] : k == n ? more : 0);
        uint16_t half = half_of((float)exact);
        double now = (double)value_of_half(half);
        to[k] = half;
        square += exact * exact;
        rounded += now * now;
        lost += (exact - now) * (exact - now);
    }
    square = warp_sum_double(square);
    rounded = warp_sum_double(rounded);
    const double upwards = 1 + 0x1p-20;
    *length = (float)(upwards * sqrt(square > rounded ? square : rounded));
    *rest = (float)(upwards * sqrt(warp_sum_double(lost)));
}

__global__ void find_longest(listing l)
{
    uint32_t longest = 0;
    for (int32_t i = warp_of_grid(); i < l.n_items; i += warps_of_grid()) {
        uint32_t own = length_of(l.items + (int64_t)i * l.width, l.width, offset_of(l, i));
        longest = own > longest ? own : longest;
    }
    if (threadIdx.x % WARP == 0 && longest > 0) atomicMax(&l.of_items->longest, longest);
}

/* A warp an item, and those after the last up to whole tiles, which are zeros. */
__global__ void round_items(listing l)
{
    int lane = (int)threadIdx.x % WARP;
    double unit = unit_of(l.of_items->longest, ITEM_EXPONENT);
    uint32_t length = 0, rest = 0;
    for (int32_t i = warp_of_grid(); i < l.tiles * TILE_ITEMS; i += warps_of_grid()) {
        bool is_one = i < l.n_items;
        float lengths[2], offset = is_one ? offset_of(l, i) : 0;
        round_vector(l.items + (int64_t)(is_one ? i : 0) * l.width, is_one ? l.width : 0, offset,
                     l.depth, unit, l.half_items + (int64_t)i * l.depth, &lengths[0], &lengths[1]);
        if (is_one) lengths[1] += (float)(unit * offset_error(l, i));
        length = bits_of(lengths[0]) > length ? bits_of(lengths[0]) : length;
        rest = bits_of(lengths[1]) > rest ? bits_of(lengths[1]) : rest;
    }
    if (lane != 0) return;
    atomicMax(&l.of_items->length, length);
    atomicMax(&l.of_items->rest, rest);
    if (unit == 0) l.of_items->are_bad = 1;
}

__global__ void round_users(listing l)
{
    int lane = (int)threadIdx.x % WARP;
    int32_t rows = (l.rows + TILE_USERS - 1) / TILE_USERS * TILE_USERS;
    float more = has_offset(l) ? 1.0f : 0.0f;
    for (int32_t r = warp_of_grid(); r < rows; r += warps_of_grid()) {
        uint16_t *to = l.half_users + (int64_t)r * l.depth;
        if (r >= l.rows) {
            for (int32_t k = lane; k < l.depth; k += WARP) to[k] = 0;
            continue;
        }
        const float *x = vector_of(l, r);
        double unit = unit_of(length_of(x, l.width, more), USER_EXPONENT);
        float length, rest;
        if (unit > 0)
            round_vector(x, l.width, more, l.depth, unit, to, &length, &rest);
        else
            for (int32_t k = lane; k < l.depth; k += WARP) to[k] = 0;
        if (lane != 0) continue;
        l.unit[r] = unit;
        l.length[r] = unit > 0 ? length : 0;
        l.rest[r] = unit > 0 ? rest : 0;
    }
}

/* ---- candidates ------------------------------------------------------------------------------- */

/* None of the places beyond the last item is one. */
__global__ void start_masks(listing l)
{
    int32_t words = l.tiles * TILE_ITEMS / 32;
    int64_t n = (int64_t)l.rows * words;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n;
         k += (int64_t)gridDim.x * blockDim.x) {
        int32_t left = l.n_items - (int32_t)(k % words) * 32;
        l.masked[k] = left >= 32 ? 0 : left <= 0 ? 0xffffffffu : 0xffffffffu << left;
    }
}

__global__ void mask_rows(listing l)
{
    int lane = (int)threadIdx.x % WARP;
    int32_t words = l.tiles * TILE_ITEMS / 32;
    for (int32_t r = warp_of_grid(); r < l.rows; r += warps_of_grid()) {
        int64_t n;
        const int32_t *value = mask_of(l, r, &n);
        for (int64_t e = lane; e < n; e += WARP)
            atomicOr(&l.masked[(int64_t)r * words + value[e] / 32], 1u << value[e] % 32);
    }
}

/* Products of a thread with 8 items of a user as halves, and the largest of them. */
__device__ inline float pack_products(float sum[4][4][4], int u, uint32_t masked, uint4 *out)
{
    float x[OWN_ITEMS], most = no_product;
    uint32_t pair[OWN_ITEMS / 2];
UNROLL
    for (int i = 0; i < OWN_ITEMS; i++) x[i] = sum[u / 2][i / 2][u % 2 * 2 + i % 2];
UNROLL
    for (int i = 0; i < OWN_ITEMS / 2; i++) pair[i] = pair_of(x[2 * i], x[2 * i + 1]);
    if (masked)
UNROLL
        for (int i = 0; i < OWN_ITEMS; i++)
            if (masked >> (own_item() + item_step(i)) % 32 & 1) {
                x[i] = no_product;
                pair[i / 2] = i % 2 ? (pair[i / 2] & 0xffffu) | (uint32_t)NO_PRODUCT << 16
                                    : (pair[i / 2] & 0xffff0000u) | NO_PRODUCT;
            }
UNROLL
    for (int i = 0; i < OWN_ITEMS; i++) most = x[i] > most ? x[i] : most;
    *out = make_uint4(pair[0], pair[1], pair[2], pair[3]);
    return most;
}

/* Products of users with items, and the largest of every group of 8.  A tile of users a block, and
 * some of the tiles of items. */
__global__ void __launch_bounds__(TILE_THREADS, 2) find_best(listing l, int32_t tiles_each)
{
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int first = (int)blockIdx.y * tiles_each, last = first + tiles_each;
    int64_t row = (int64_t)blockIdx.x * TILE_USERS + own_user();
    const uint32_t *masked = l.masked + row * l.tiles * 4 + warp % 4;
    float *best = l.best + row * l.tiles * GROUPS_A_TILE + warp % 4 * 4 + lane % 4;
    uint4 *product = l.product + row * l.tiles * GROUPS_A_TILE + warp % 4 * 4 + lane % 4;
    halves x = {l.half_users, l.half_items, l.depth};
    multiply_tiles(x, (int)blockIdx.x, first, last < l.tiles ? last : l.tiles,
                   [&](int tile, float sum[4][4][4]) {
                       uint32_t word[OWN_USERS];
UNROLL
                       for (int u = 0; u < OWN_USERS; u++)
                           word[u] = masked[((int64_t)user_step(u) * l.tiles + tile) * 4];
UNROLL
                       for (int u = 0; u < OWN_USERS; u++) {
                           int64_t at = ((int64_t)user_step(u) * l.tiles + tile) * GROUPS_A_TILE;
                           uint4 packed;
                           best[at] = pack_products(sum, u, word[u], &packed);
                           product[at] = packed;
                       }
                   });
}

/* ---- what is left ----------------------------------------------------------------------------- */

enum { KEYS = MOST_GROUPS / WARP };

__device__ inline unsigned warp_sum_whole(unsigned x)
{
#if defined(__CUDA_ARCH__)
    return __reduce_add_sync(0xffffffffu, x);
#else
    for (int apart = WARP / 2; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
    return x;
#endif
}

/* The largest of each of so many groups that the lanes of a warp hold; more groups are joined. */
__device__ inline void load_keys(const float *best, int32_t n, uint32_t key[KEYS])
{
UNROLL
    for (int j = 0; j < KEYS; j++) {
        int32_t g = j * WARP + (int)threadIdx.x % WARP;
        key[j] = g < n ? order_of(best[g]) : 0;
    }
    if (n <= MOST_GROUPS) return;
UNROLL
    for (int j = 0; j < KEYS; j++)
        for (int32_t g = j * WARP + (int)threadIdx.x % WARP + MOST_GROUPS; g < n; g += MOST_GROUPS) {
            uint32_t own = order_of(best[g]);
            key[j] = own > key[j] ? own : key[j];
        }
}

/* Something that k groups reach, and few more; 0 where there are fewer. */
__device__ inline uint32_t find_reached(const uint32_t key[KEYS], int32_t k)
{
    uint32_t own = 0;
UNROLL
    for (int j = 0; j < KEYS; j++) own = key[j] > own ? key[j] : own;
    uint32_t least = own, most = own;
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        uint32_t a = __shfl_xor_sync(0xffffffffu, least, apart);
        uint32_t b = __shfl_xor_sync(0xffffffffu, most, apart);
        least = a < least ? a : least;
        most = b > most ? b : most;
    }
    /* The largest one of every lane reaches the least of those. */
    uint32_t low = k <= WARP ? least : 0, high = most + 1;
    while (high - low > 1) { /* k groups reach low, or it is 0 */
        uint32_t middle = low + (high - low) / 2;
        unsigned n = 0;
UNROLL
        for (int j = 0; j < KEYS; j++) n += key[j] >= middle;
        n = warp_sum_whole(n);
        if (n < (unsigned)k)
            high = middle;
        else
            low = middle;
        if (n >= (unsigned)k && n <= (unsigned)(k + k / 8)) break;
    }
    return low;
}

/* How far a product can be from the score, both in units of the row. */
__device__ inline double error_of(const listing &l, int64_t row)
{
    const statistics *s = l.of_items;
    double length = (double)float_of(s->length), rest = (double)float_of(s->rest);
    double own = (double)l.length[row], share = (3.0 * l.depth + 64) * 0x1p-23;
    double tiny = l.unit[row] * unit_of(s->longest, ITEM_EXPONENT) * (l.depth + 16) * 0x1p-149;
    return (1 + 0x1p-20) * ((double)l.rest[row] * length + own * rest + share * own * length + tiny);
}

/* Items of a group that reach the limit go to the list of what is left. */
__device__ inline void keep_group(const listing &l, int64_t row, int32_t group, float limit, int *n)
{
    uint4 packed = l.product[row * l.tiles * GROUPS_A_TILE + group];
    uint32_t pair[OWN_ITEMS / 2] = {packed.x, packed.y, packed.z, packed.w};
    int32_t first = group / 4 * 32 + group % 4 * 2;
UNROLL
    for (int i = 0; i < OWN_ITEMS; i++) {
        uint16_t half = (uint16_t)(pair[i / 2] >> 16 * (i % 2));
        if (half == NO_PRODUCT || value_of_half(half) < limit) continue;
        int at = atomicAdd(n, 1);
        if (at < l.most) l.found[row * l.most + at] = first + item_step(i);
    }
}

/* What is left of a row; a warp. */
__device__ inline void find_row(const listing &l, int64_t row, int *n)
{
    int32_t groups = l.tiles * GROUPS_A_TILE;
    const float *best = l.best + row * groups;
    uint32_t key[KEYS], reaching = 0;
    load_keys(best, groups, key);
    uint32_t reached = find_reached(key, l.k);
    float of_group = -INFINITY, of_item = -INFINITY;
    if (reached > order_of(no_product)) {
        double lower = (double)of_order(reached) - 2 * error_of(l, row);
        double kept = lower - 0x1.04p-11 * fabs(lower) - 0x1p-24;
        of_group = (float)(lower - 0x1p-22 * fabs(lower));
        of_item = (float)(kept - 0x1p-22 * fabs(kept));
    }
    uint32_t least = order_of(of_group);
UNROLL
    for (int j = 0; j < KEYS; j++) reaching |= (uint32_t)(key[j] >= least) << j;
    for (; reaching; reaching &= reaching - 1)
        for (int32_t g = cwi_lowest_bit(reaching) * WARP + (int)threadIdx.x % WARP; g < groups;
             g += MOST_GROUPS)
            if (best[g] >= of_group) keep_group(l, row, g, of_item, n);
}

/* A row a warp. */
__global__ void find_left(listing l)
{
    __shared__ int counts[WARPS];
    int *n = &counts[threadIdx.x / WARP];
    for (int64_t r = warp_of_grid(); r < l.rows; r += warps_of_grid()) {
        bool is_hard = l.of_items->are_bad || l.unit[r] == 0;
        if (threadIdx.x % WARP == 0) *n = 0;
        __syncwarp();
        if (!is_hard) find_row(l, r, n);
        __syncwarp();
        if (threadIdx.x % WARP == 0) l.n_found[r] = is_hard ? l.most + 1 : *n;
        __syncwarp();
    }
}

/* ---- lists of what is left -------------------------------------------------------------------- */

enum { SIDE_BY_SIDE = WARP + 4 /* whole quads, which do not meet in the banks */ };

/* Columns c .. c + 31 of some items, side by side: those of n lanes. */
__device__ inline void fetch_columns(const listing &l, int32_t item, int n, int32_t c, float *room)
{
    int lane = (int)threadIdx.x % WARP;
    if (l.width % 4 == 0 && c + WARP <= l.width) {
        for (int r = lane / 8; r < (n + 3) / 4 * 4; r += 4) {
            int32_t other = __shfl_sync(0xffffffffu, item, r);
            const float *from = l.items + (int64_t)other * l.width + c;
            *(float4 *)(room + r * SIDE_BY_SIDE + lane % 8 * 4) = *(const float4 *)(from + lane % 8 * 4);
        }
        return;
    }
    for (int r = 0; r < n; r++) {
        int32_t other = __shfl_sync(0xffffffffu, item, r);
        bool is_in = c + lane < l.width;
        room[r * SIDE_BY_SIDE + lane] = is_in ? l.items[(int64_t)other * l.width + c + lane] : 0;
    }
}

/* The same chain goes on with as many columns. */
__device__ inline float add_columns(const float *own, const float *vector, float sum)
{
UNROLL
    for (int k = 0; k < WARP; k += 4) {
        float4 x = *(const float4 *)(own + k), y = *(const float4 *)(vector + k);
        sum = fmaf(x.x, y.x, sum);
        sum = fmaf(x.y, y.y, sum);
        sum = fmaf(x.z, y.z, sum);
        sum = fmaf(x.w, y.w, sum);
    }
    return sum;
}

/* Scores of as many items as a warp has lanes, each its own.  `room` has their columns side by side,
 * `vector` those of the user. */
__device__ inline float score_found(const listing &l, const float *user, int32_t item, int n,
                                    float *room, float *vector)
{
    int lane = (int)threadIdx.x % WARP;
    const float *own = room + lane * SIDE_BY_SIDE;
    float sum = 0;
    for (int32_t c = 0; c < l.width; c += WARP) {
        int32_t many = l.width - c < WARP ? l.width - c : WARP;
        vector[lane] = lane < many ? user[c + lane] : 0;
        fetch_columns(l, item, n, c, room);
        __syncwarp();
        if (lane < n && many == WARP)
            sum = add_columns(own, vector, sum);
        else if (lane < n)
            for (int k = 0; k < many; k++) sum = fmaf(own[k], vector[k], sum);
        __syncwarp();
    }
    return finish_score(l, sum, item);
}

/* Best first, of equal ones the one of lower number. */
__device__ inline unsigned long long rank_of(float score, int32_t item)
{
    return (unsigned long long)order_of(score) << 32 | (uint32_t)~item;
}

__device__ inline void place_item(const listing &l, int64_t row, unsigned long long own, int rank)
{
    if (rank < l.k) l.item[row * l.k + rank] = (int32_t)~(uint32_t)own;
}

/* The list of a row from its items; a warp. */
__device__ inline void list_row(const listing &l, int64_t row, int32_t n, float *room, float *vector)
{
    int lane = (int)threadIdx.x % WARP;
    const float *user = vector_of(l, row);
    const int32_t *found = l.found + row * l.most;
    unsigned long long *order = l.order + row * l.most, own = 0;
    for (int32_t base = 0; base < n; base += WARP) {
        int many = n - base < WARP ? n - base : WARP;
        int32_t item = found[base + (lane < many ? lane : 0)];
        float score = score_found(l, user, item, many, room, vector);
        own = rank_of(score, item);
        if (n > WARP && lane < many) order[base + lane] = own;
    }
    __syncwarp();
    if (n <= WARP) {
        int rank = 0;
        for (int o = 0; o < n; o++) rank += __shfl_sync(0xffffffffu, own, o) > own;
        if (lane < n) place_item(l, row, own, rank);
        return;
    }
    for (int32_t e = lane; e < n; e += WARP) {
        int rank = 0;
        for (int32_t o = 0; o < n; o++) rank += order[o] > order[e];
        place_item(l, row, order[e], rank);
    }
}

__global__ void list_found(listing l)
{
    alignas(16) __shared__ float rooms[WARPS][WARP * SIDE_BY_SIDE], vectors[WARPS][WARP];
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    for (int64_t r = warp_of_grid(); r < l.rows; r += warps_of_grid()) {
        int32_t n = l.n_found[r];
        if (n <= l.most) {
            list_row(l, r, n, rooms[warp], vectors[warp]);
            if (lane == 0) l.count[r] = n < l.k ? n : l.k;
        } else if (lane == 0) {
            l.hard[atomicAdd(l.n_hard, 1u)] = (int32_t)r;
        }
    }
}

/* ---- lists of all scores ---------------------------------------------------------------------- */

enum { ALL_SIDE = BLOCK / WARP, ALL_ITEMS = WARP };

/* Everybody is hard. */
__global__ void take_all(listing l)
{
    for (int32_t r = (int)(blockIdx.x * blockDim.x + threadIdx.x); r < l.rows;
         r += (int)(gridDim.x * blockDim.x))
        l.hard[r] = r;
}

/* A row a warp and an item a lane: tiles of 32 columns of items lie in shared memory. */
__global__ void score_all(listing l)
{
    __shared__ float item[WARP][WARP + 1], user[ALL_SIDE][WARP];
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int64_t h = (int64_t)blockIdx.y * ALL_SIDE + warp, i = (int64_t)blockIdx.x * ALL_ITEMS + lane;
    bool is_row = h < l.many;
    const float *from = vector_of(l, is_row ? l.hard[l.first + h] : 0);
    float sum = 0;
    for (int32_t c = 0; c < l.width; c += WARP) {
        int32_t many = l.width - c < WARP ? l.width - c : WARP;
        user[warp][lane] = lane < many ? from[c + lane] : 0;
        for (int r = warp; r < ALL_ITEMS; r += ALL_SIDE) {
            int64_t at = (int64_t)blockIdx.x * ALL_ITEMS + r;
            item[r][lane] = at < l.n_items && lane < many ? l.items[at * l.width + c + lane] : 0;
        }
        __syncthreads();
        for (int k = 0; k < many; k++) sum = fmaf(item[lane][k], user[warp][k], sum);
        __syncthreads();
    }
    if (is_row && i < l.n_items) l.score[h * l.n_items + i] = finish_score(l, sum, (int32_t)i);
}

/* Keys of the candidates of a row; false where one is no number.  A block. */
__device__ inline bool make_keys(const listing &l, int64_t h, unsigned long long *room)
{
    uint32_t *key = l.key + h * l.n_items;
    const float *score = l.score + h * l.n_items;
    int64_t n;
    const int32_t *value = mask_of(l, l.hard[l.first + h], &n);
    for (int64_t i = threadIdx.x; i < l.n_items; i += BLOCK) key[i] = 1;
    __syncthreads();
    for (int64_t e = threadIdx.x; e < n; e += BLOCK) key[value[e]] = 0;
    __syncthreads();
    unsigned bad = 0;
    for (int64_t i = threadIdx.x; i < l.n_items; i += BLOCK) {
        if (key[i] == 0) continue;
        bad += !(score[i] == score[i]);
        key[i] = order_of(score[i]);
    }
    bool is_good = block_count(bad, room) == 0;
    __syncthreads();
    return is_good;
}

/* A key above which fewer than k candidates are and at which number k is, and how many of those at
 * it are on the list; 0 where all candidates are.  A block. */
__device__ inline uint32_t find_limit(const uint32_t *key, int64_t n, int32_t k, int32_t *at_limit)
{
    __shared__ unsigned in[256];
    __shared__ uint32_t prefix;
    __shared__ int64_t left;
    int t = (int)threadIdx.x;
    if (t == 0) prefix = 0, left = k;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int c = t; c < 256; c += BLOCK) in[c] = 0;
        __syncthreads();
        for (int64_t i = t; i < n; i += BLOCK)
            if (key[i] && (shift == 24 || key[i] >> (shift + 8) == prefix))
                atomicAdd(&in[key[i] >> shift & 255], 1u);
        __syncthreads();
        if (t == 0) {
            int c = 255;
            for (; c > 0 && left > (int64_t)in[c]; c--) left -= in[c];
            prefix = prefix << 8 | (uint32_t)c;
        }
        __syncthreads();
    }
    *at_limit = (int32_t)left;
    uint32_t limit = prefix;
    __syncthreads();
    return limit;
}

/* A row a block. */
__global__ void list_best(listing l)
{
    __shared__ unsigned long long room;
    __shared__ uint32_t best_key[MOST_LISTED];
    __shared__ int32_t best[MOST_LISTED], equal[MOST_EQUAL];
    __shared__ unsigned n_best, n_equal;
    int t = (int)threadIdx.x;
    for (int64_t h = blockIdx.x; h < l.many; h += gridDim.x) {
        const uint32_t *key = l.key + h * l.n_items;
        int64_t row = l.hard[l.first + h];
        int32_t *out = l.item + row * l.k, at_limit;
        bool is_good = make_keys(l, h, &room);
        if (t == 0) n_best = n_equal = 0;
        __syncthreads();
        uint32_t limit = find_limit(key, l.n_items, l.k, &at_limit);
        for (int64_t i = t; i < l.n_items; i += BLOCK) {
            if (key[i] > limit) {
                unsigned at = atomicAdd(&n_best, 1u);
                best_key[at] = key[i], best[at] = (int32_t)i;
            } else if (key[i] == limit && limit > 0) {
                unsigned at = atomicAdd(&n_equal, 1u);
                if (at < MOST_EQUAL) equal[at] = (int32_t)i;
            }
        }
        __syncthreads();
        unsigned above = n_best, alike = n_equal;
        if (alike <= MOST_EQUAL) {
            for (unsigned e = (unsigned)t; e < alike; e += BLOCK) {
                int32_t rank = 0;
                for (unsigned o = 0; o < alike; o++) rank += equal[o] < equal[e];
                if (rank < at_limit) best_key[above + rank] = limit, best[above + rank] = equal[e];
            }
        } else if (t == 0) {
            for (int64_t i = 0, rank = 0; rank < at_limit; i++)
                if (key[i] == limit)
                    best_key[above + rank] = limit, best[above + rank++] = (int32_t)i;
        }
        __syncthreads();
        unsigned listed = above + (alike < (unsigned)at_limit ? alike : (unsigned)at_limit);
        for (unsigned e = (unsigned)t; e < listed; e += BLOCK) {
            int32_t rank = 0;
            for (unsigned o = 0; o < listed; o++)
                rank += best_key[o] > best_key[e] || (best_key[o] == best_key[e] && best[o] < best[e]);
            out[rank] = best[e];
        }
        if (t == 0) l.count[row] = is_good ? (int32_t)listed : -1;
        __syncthreads();
    }
}

#endif
