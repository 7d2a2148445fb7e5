/* recommend.c - lists for users of the model, block by block in constant memory. */
#include "recommend/recommend.h"

#include <string.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/text.h"

enum { MAX_CHUNK_USERS = CWI_SCORE_USERS, CHUNK_SCORES = 1 << 22 };

/* One block of users on its way from ids to lists. */
typedef struct block {
    const cwi_request *request;
    int32_t chunk_users; /* scored together by one thread */
    int32_t room, used;  /* users */
    int32_t *user;       /* [room] */
    int32_t *count;      /* [room] length of the list */
    cwi_ranked *list;    /* [room][k] */
    float *score;        /* [room][n_items] */
    int32_t *scratch;    /* [chunks][n_items] when something is excluded for everybody */
} block;

static void block_clear(block *b)
{
    cwi_free(b->user);
    cwi_free(b->count);
    cwi_free(b->list);
    cwi_free(b->score);
    cwi_free(b->scratch);
}

/* Room for two chunks a thread, but for no more users than there are. */
static cw_status block_init(cw_context *ctx, const cwi_request *request, size_t n_users, block *b)
{
    size_t n_items = (size_t)request->model->n_items, k = (size_t)request->k;
    size_t chunk = CHUNK_SCORES / n_items;
    if (chunk < 1) chunk = 1;
    if (chunk > MAX_CHUNK_USERS) chunk = MAX_CHUNK_USERS;
    size_t room = 2 * chunk * (size_t)cw_context_threads(ctx);
    if (room > n_users) room = n_users;
    *b = (block){.request = request, .chunk_users = (int32_t)chunk, .room = (int32_t)room};
    b->user = cwi_alloc(ctx, room, sizeof *b->user);
    b->count = cwi_alloc(ctx, room, sizeof *b->count);
    b->list = cwi_alloc(ctx, room, k * sizeof *b->list);
    b->score = cwi_alloc(ctx, room, n_items * sizeof *b->score);
    if (!b->user || !b->count || !b->list || !b->score) return CW_NO_MEMORY;
    if (request->n_excluded == 0) return CW_OK;
    size_t chunks = (size_t)cwi_pool_chunks(b->room, b->chunk_users);
    b->scratch = cwi_alloc(ctx, chunks, n_items * sizeof *b->scratch);
    return b->scratch ? CW_OK : CW_NO_MEMORY;
}

static cw_status rank_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const block *b = arg;
    const cwi_request *request = b->request;
    const cwi_csr *seen = &request->model->seen;
    int64_t n_items = request->model->n_items;
    int32_t *scratch = b->scratch ? b->scratch + chunk * n_items : NULL;

    request->ranker.score(&request->ranker, b->user + begin, (int32_t)(end - begin),
                          b->score + begin * n_items);
    for (int64_t row = begin; row < end; row++) {
        int64_t first = seen->start[b->user[row]];
        b->count[row] = cwi_request_pick(request, b->score + row * n_items, seen->value + first,
                                         seen->start[b->user[row] + 1] - first, scratch,
                                         b->list + row * request->k);
        if (b->count[row] < 0) return CW_BAD_DATA;
    }
    return CW_OK;
}

static cw_status finish_block(cw_context *ctx, block *b, cwi_request *request)
{
    cw_status status = cwi_pool_for(ctx, b->used, b->chunk_users, rank_chunk, b);
    if (status == CW_BAD_DATA) return cwi_request_fail_nan(ctx);
    for (int32_t row = 0; row < b->used && status == CW_OK; row++)
        status =
            cwi_request_give(ctx, request, cwi_idmap_text(&request->model->users, b->user[row]),
                             b->list + (int64_t)row * request->k, b->count[row]);
    b->used = 0;
    return status;
}

static int32_t find_user(const cw_model *model, const char *const *users, size_t k)
{
    return users ? cwi_idmap_find(&model->users, users[k], strlen(users[k])) : (int32_t)k;
}

/* Nothing is given before all ids are known to be good. */
static cw_status check_users(cw_context *ctx, const cwi_request *request, const char *const *users,
                             size_t n_users)
{
    size_t n_unknown = 0;
    char excerpt[48];
    for (size_t k = 0; users && k < n_users; k++) {
        if (find_user(request->model, users, k) >= 0) continue;
        if (!request->skips_unknown)
            return cwi_fail(ctx, CW_BAD_ARG, "there is no user '%s' in the model",
                            cwi_excerpt(users[k], strlen(users[k]), excerpt));
        n_unknown++;
    }
    if (n_unknown > 0)
        cwi_log(ctx, CW_LOG_WARNING, "%zu of %zu users are not in the model and were left out",
                n_unknown, n_users);
    return CW_OK;
}

cw_status cw_recommend(cw_context *ctx, const cw_model *model, const char *const *users,
                       size_t n_users, const cw_options *options, cw_recommendation_fn give,
                       void *user)
{
    cw_status status;
    cwi_request request;
    block b = {0};

    cwi_begin(ctx);
    if (!users) n_users = (size_t)model->n_users;
    CW_TRY(cwi_request_open(ctx, model, options, give, user, &request));
    CW_TRY(check_users(ctx, &request, users, n_users));
    CW_TRY(block_init(ctx, &request, n_users, &b));
    for (size_t k = 0; k < n_users; k++) {
        int32_t found = find_user(model, users, k);
        if (found >= 0) b.user[b.used++] = found;
        if (b.used < b.room && k + 1 < n_users) continue;
        CW_TRY(finish_block(ctx, &b, &request));
        CW_TRY(cwi_progress(ctx, "recommending", (int64_t)k + 1, (int64_t)n_users));
    }
done:
    block_clear(&b);
    cwi_request_close(&request);
    return status;
}
