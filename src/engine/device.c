/* device.c - --device: who trains, and what is not trained on a GPU yet. */
#include "engine/device.h"

#include <stdio.h>
#include <string.h>

#include "comm/world.h"
#include "core/json.h"
#include "core/text.h"
#include "engine/cuda/library.h"
#include "engine/cuda/lists.h"
#include "engine/ranking.h"

/* A table of less is trained before a GPU is ready. */
enum { LEAST_NUMBERS = 1000000 };

/* Fewer products of numbers are added up before a GPU is ready. */
static const double least_products = 1e12;

/* ---- what is not trained there ---- */

bool cwi_cuda_trains(const cwi_task *t, char why[CWI_DEVICE_TEXT])
{
    if (!t->method->sampler && t->backbone != &cwi_backbone_vae)
        snprintf(why, CWI_DEVICE_TEXT,
                 "--device is '%s', which does not train method %s: its parameters are found in "
                 "closed form, by the CPU",
                 cwi_options_text(t->options, "device"), t->method->name);
    else if (t->method->sampler && t->backbone != &cwi_backbone_mf &&
             t->backbone != &cwi_backbone_lightgcn && t->backbone != &cwi_backbone_ngcf &&
             t->backbone != &cwi_backbone_neumf)
        snprintf(why, CWI_DEVICE_TEXT, "--device cuda does not train backbone %s yet",
                 t->backbone->name);
    else if (cwi_options_is(t->options, "engine", "ref"))
        snprintf(why, CWI_DEVICE_TEXT,
                 "--engine is 'ref', which is of the CPU: it takes no "
                 "--device cuda");
    else
        return true;
    return false;
}

/* An option that keeps a task from many processes; NULL: none does. */
static const char *find_local_option(const cwi_task *t)
{
    const cw_options *o = t->options;
    bool is_grid = t->method->loss && t->method->loss->grid;
    if (cwi_options_choice(o, "reg-kind") == 1 && cwi_options_real(o, "reg") > 0) return "reg-kind";
    if (cwi_options_real(o, "spectral") > 0) return "spectral";
    if (cwi_options_is(o, "engine", "ref")) return "engine";
    if (cwi_options_text(o, "bucket")[0]) return "bucket";
    if (!is_grid && cwi_options_is(o, "scorer", "cosine")) return "scorer";
    if (!is_grid && cwi_options_real(o, "temperature") != 1) return "temperature";
    if (t->backbone->is_table) return NULL;
    if (cwi_options_is(o, "reg-target", "final") && cwi_options_real(o, "reg") > 0)
        return "reg-target";
    return cwi_options_is(o, "optimizer", "adam-deferred") ? "optimizer" : NULL;
}

bool cwi_mpi_trains(const cwi_task *t, char why[CWI_DEVICE_TEXT])
{
    const char *option;
    if (!t->method->sampler || t->method->penalty)
        snprintf(why, CWI_DEVICE_TEXT, "--device mpi does not train method %s yet",
                 t->method->name);
    else if (t->backbone != &cwi_backbone_mf && t->backbone != &cwi_backbone_lightgcn)
        snprintf(why, CWI_DEVICE_TEXT, "--device mpi does not train backbone %s yet",
                 t->backbone->name);
    else if ((option = find_local_option(t)) != NULL)
        snprintf(why, CWI_DEVICE_TEXT, "--device mpi does not train with --%s '%s' yet", option,
                 cwi_options_text(t->options, option));
    else
        return true;
    return false;
}

/* ---- which one
 * ------------------------------------------------------------------------------------ */

/* The number of a GPU in "cuda" or "cuda:2"; false for other words. */
static bool parse_cuda(const char *text, int *out)
{
    size_t digits = strncmp(text, "cuda:", 5) == 0 ? strspn(text + 5, "0123456789") : 0;
    *out = 0;
    if (strcmp(text, "cuda") == 0) return true;
    return digits > 0 && digits < 4 && text[5 + digits] == '\0' && sscanf(text + 5, "%d", out) == 1;
}

static cw_status ask_for(cw_context *ctx, int device)
{
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT];
    int count;
    cw_status status = cwi_cuda_load(&calls, why);
    if (status == CW_OK) status = calls->count(&count, why);
    if (status != CW_OK) return cwi_fail(ctx, status, "--device is 'cuda': %s", why);
    if (device < count) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG, "--device is 'cuda:%d'; there %s %d GPU%s, from cuda:0 on",
                    device, count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
}

/* Room for the table in all its forms, and for windows of steps: a rough guess, to the safe side.
 */
static bool has_room(const cwi_cuda_calls *calls, int64_t numbers)
{
    const int64_t forms = 8, windows = (int64_t)2 << 30;
    cwi_cuda_device about;
    char why[CWI_CUDA_TEXT];
    return calls->look(0, &about, why) == CW_OK &&
           about.free_bytes - windows > forms * numbers * (int64_t)sizeof(float);
}

/* Numbers of the table, or of what Mult-VAE has as much memory for: the weights of its widest
 * layer, and the scores of the users of a step. */
static int64_t count_numbers(const cwi_task *t)
{
    int64_t widest = 0, n_items = t->shape.n_items;
    if (t->method->sampler)
        return (t->shape.n_users + n_items) * cwi_options_integer(t->options, "dim");
    const char *sizes = cwi_options_text(t->options, "vae-sizes"), *last = strrchr(sizes, ',');
    last = last ? last + 1 : sizes;
    if (!cwi_parse_int(last, strlen(last), &widest)) return 0; /* the CPU has a word for it */
    return n_items * (widest + cwi_options_integer(t->options, "batch") / 8);
}

/* Whatever is in the way: the CPU can do it. */
static int choose_freely(const cwi_task *t)
{
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT];
    int count;
    if (!cwi_cuda_trains(t, why)) return 0;
    int64_t numbers = count_numbers(t);
    if (numbers < LEAST_NUMBERS) return 0;
    if (cwi_cuda_load(&calls, why) != CW_OK || calls->count(&count, why) != CW_OK) return 0;
    return count > 0 && has_room(calls, numbers);
}

/* Those that were started together. */
static cw_status choose_processes(cw_context *ctx, cwi_task *task)
{
    char why[CWI_DEVICE_TEXT];
    if (!cwi_mpi_trains(task, why)) return cwi_fail(ctx, CW_BAD_ARG, "%s", why);
    task->world = ctx->world;
    if (task->world) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--device is 'mpi': that is for train alone, started by mpirun or the like");
}

cw_status cwi_device_choose(cw_context *ctx, cwi_task *task)
{
    const char *text = cwi_options_text(task->options, "device");
    char why[CWI_DEVICE_TEXT];
    int device;
    task->gpu = 0;
    task->world = NULL;
    if (strcmp(text, "cpu") == 0) return CW_OK;
    if (strcmp(text, "mpi") == 0) return choose_processes(ctx, task);
    if (strcmp(text, "auto") == 0) {
        task->gpu = choose_freely(task);
        return CW_OK;
    }
    if (!parse_cuda(text, &device))
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--device is '%s'; it must be auto, cpu, mpi, cuda or cuda:N", text);
    if (!cwi_cuda_trains(task, why)) return cwi_fail(ctx, CW_BAD_ARG, "%s", why);
    CW_PASS(ask_for(ctx, device));
    task->gpu = device + 1;
    return CW_OK;
}

/* ---- who makes lists ---- */

static void close_lists(cwi_ranker *ranker)
{
    cwi_lists_close(ranker->lister);
}

static cw_status open_lists(cw_context *ctx, int device, cwi_ranker *ranker)
{
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT];
    cwi_lists *lists;
    cw_status status = cwi_cuda_load(&calls, why);
    if (status != CW_OK) return cwi_fail(ctx, status, "--device is 'cuda': %s", why);
    CW_PASS(cwi_lists_open(ctx, calls, device, ranker, &lists));
    cwi_lists_serve(lists, ranker);
    ranker->close_lister = close_lists;
    return CW_OK;
}

/* Whatever is in the way: the CPU can do it. */
static cw_status serve_freely(cw_context *ctx, cwi_ranker *ranker)
{
    const float *term;
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT];
    int count = 0;
    double products = (double)ranker->n_users * (double)ranker->n_items * (double)ranker->width;
    if (!cwi_ranker_is_sum(ranker, &term) || products < least_products) return CW_OK;
    if (cwi_cuda_load(&calls, why) != CW_OK || calls->count(&count, why) != CW_OK || count == 0)
        return CW_OK;
    if (!has_room(calls, (int64_t)ranker->n_items * ranker->width)) return CW_OK;
    CW_PASS(open_lists(ctx, 0, ranker));
    cwi_log(ctx, CW_LOG_INFO, "lists are made on a GPU; --device cpu does without");
    return CW_OK;
}

cw_status cwi_device_serve(cw_context *ctx, const char *text, const char *backbone,
                           cwi_ranker *ranker)
{
    const float *term;
    int device;
    if (strcmp(text, "cpu") == 0) return CW_OK;
    if (strcmp(text, "auto") == 0) return serve_freely(ctx, ranker);
    if (!parse_cuda(text, &device))
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--device is '%s'; it must be auto, cpu, mpi, cuda or cuda:N", text);
    if (!cwi_ranker_is_sum(ranker, &term))
        return cwi_fail(
            ctx, CW_BAD_ARG,
            "--device is '%s', where lists are made by inner products; those of backbone "
            "%s are made by --device cpu",
            text, backbone);
    CW_PASS(ask_for(ctx, device));
    return open_lists(ctx, device, ranker);
}

cw_status cwi_device_lists(cw_context *ctx, const char *text, int32_t k)
{
    if (strncmp(text, "cuda", 4) != 0 || k <= CWI_CUDA_MOST_LISTED) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--device is '%s', where lists have at most %d items; --k is %d", text,
                    CWI_CUDA_MOST_LISTED, (int)k);
}

/* ---- all of them
 * ------------------------------------------------------------------------------------ */

static json_t *describe(const cwi_cuda_calls *calls, int device)
{
    cwi_cuda_device about;
    char why[CWI_CUDA_TEXT], name[24];
    snprintf(name, sizeof name, "cuda:%d", device);
    if (calls->look(device, &about, why) != CW_OK)
        return json_pack("{s:s, s:s}", "device", name, "problem", why);
    return json_pack("{s:s, s:s, s:s#, s:I, s:I}", "device", name, "name", about.name, "capability",
                     (char[]){(char)('0' + about.major), '.', (char)('0' + about.minor)}, 3,
                     "memory", (json_int_t)about.bytes, "free", (json_int_t)about.free_bytes);
}

cw_status cw_devices(cw_context *ctx, char **json)
{
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT] = "";
    int count = 0;
    *json = NULL;
    cwi_begin(ctx);
    if (cwi_cuda_load(&calls, why) == CW_OK) (void)calls->count(&count, why);
    json_t *root = json_pack("{s:[{s:s}]}", "devices", "device", "cpu");
    json_t *list = json_object_get(root, "devices");
    for (int k = 0; k < count && list; k++)
        if (json_array_append_new(list, describe(calls, k)) != 0) list = NULL;
    if (why[0] && list && json_object_set_new(root, "no_cuda", json_string(why)) != 0) list = NULL;
    if (list) *json = cwi_json_print(ctx, root, JSON_INDENT(2));
    json_decref(root);
    return *json ? CW_OK : cwi_no_memory(ctx);
}
