/* commands.c - the commands that are disturbed, and what each starts from. */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>

#include "tree.h"

/* Small enough to end in some milliseconds; --checkpoint-every 1 writes one after every epoch. */
#define QUIET " --threads 1 --quiet"
#define TRAIN                                                                                      \
    " --preset paper --dim 4 --batch 16 --epochs 3 --eval-every 1 --lr 0.01 --checkpoint-every "   \
    "1" QUIET
#define SIMULATE "simulate --users 40 --items 30 --relevant 0.5 --popularity 0.5 --uniform-test 3"
#define DEMO     "demo --users 80 --items 40 --popularity 0.1 --epochs 1 --out demo" QUIET

/* ---- the world ------------------------------------------------------------------------- */

const world_file world_files[] = {
    {"plan.json",
     "{\"title\": \"Small\", \"options\": {\"preset\": \"paper\", \"dim\": 4, \"batch\": 16, "
     "\"epochs\": 2, \"eval-every\": 1}, \"seeds\": 2,\n \"tables\": [{\"title\": \"Methods\", "
     "\"methods\": "
     "[\"pop\", {\"method\": \"bpr\", \"grid\": {\"lr\": [0.003, 0.03]}}]}]}\n"},
    {"more.json",
     "{\"title\": \"Small\", \"options\": {\"preset\": \"paper\", \"dim\": 4, \"batch\": 16, "
     "\"epochs\": 2, \"eval-every\": 1}, \"seeds\": 3,\n \"tables\": [{\"title\": \"Methods\", "
     "\"train_sets\": "
     "[0.5, \"train.csv\"], \"methods\": [\"pop\", \"bpr\"]}]}\n"},
    {"history.txt", "2\n27\n"},
    {"users.txt", "0\n"},
    {"note.txt", "a letter to somebody\n"},
    {"home/note.txt", "another letter\n"},
    {"page/demo.html", "somebody's own page\n"},
    {NULL, NULL},
};

const char *const world_commands[] = {
    SIMULATE " --out sim" QUIET,
    "prepare log.csv --core 1 --out set" QUIET,
    "train sim --method bpr --out bpr.safetensors" TRAIN,
    "train sim --method cpr --max-k 2 --out cpr.safetensors" TRAIN,
    "experiment plan.json sim --out lab" QUIET,
    NULL,
};

char *make_log(void)
{
    char *text = must(malloc(1 << 16)), *end = text;
    end += sprintf(end, "user,item,rating,timestamp\n");
    for (int u = 0; u < 30; u++)
        for (int i = 0; i < 12; i++)
            if ((u * 7 + i * 3) % (2 + i / 4) == 0)
                end += sprintf(end, "u%d,i%d,%d,%d\n", u, i, 1 + (u + i) % 5, 1000 + u * 31 + i);
    return text;
}

/* ---- what is disturbed --------------------------------------------------------------------- */

const command commands[] = {
    {.name = "prepare",
     .uses = "log.csv",
     .words = "prepare log.csv --core 1 --out set" QUIET,
     .rival = "prepare log.csv --core 1 --out set --seed 5" QUIET,
     .whole = "set"},
    {.name = "prepare-force",
     .uses = "log.csv",
     .before = "prepare log.csv --core 1 --out set --seed 4" QUIET,
     .words = "prepare log.csv --core 1 --out set --force" QUIET,
     .rival = "prepare log.csv --core 1 --out set --seed 5 --force" QUIET,
     .whole = "set"},
    {.name = "prepare-files",
     .uses = "log.csv",
     .before = "prepare log.csv --core 1 --out set --seed 4" QUIET,
     .words = "prepare log.csv --core 1 --out set --force --memory 0" QUIET,
     .rival = "prepare log.csv --core 1 --out set --seed 5 --force --memory 0" QUIET,
     .whole = "set"},
    {.name = "simulate-files",
     .words = SIMULATE " --out sim --memory 0" QUIET,
     .rival = SIMULATE " --out sim --seed 5 --memory 0" QUIET,
     .whole = "sim"},
    {.name = "simulate",
     .words = SIMULATE " --out sim" QUIET,
     .rival = SIMULATE " --out sim --seed 5" QUIET,
     .whole = "sim"},
    {.name = "simulate-force",
     .before = SIMULATE " --out sim --seed 4" QUIET,
     .words = SIMULATE " --out sim --force" QUIET,
     .rival = SIMULATE " --out sim --seed 5 --force" QUIET,
     .whole = "sim"},
    {.name = "skew",
     .uses = "sim",
     .words = "skew sim --theta 0.5" QUIET,
     .rival = "skew sim --theta 0.5 --seed 5" QUIET},
    {.name = "skew-force",
     .uses = "sim",
     .before = "skew sim --theta 0.5 --seed 4" QUIET,
     .words = "skew sim --theta 0.5 --force" QUIET,
     .rival = "skew sim --theta 0.5 --seed 5 --force" QUIET},
    {.name = "describe", .uses = "sim", .words = "describe sim" QUIET, .most = 1000},
    {.name = "methods", .words = "methods --json"},
    {.name = "train",
     .uses = "set",
     .words = "train set --method bpr --resume --out m.safetensors" TRAIN,
     .rival = "train set --method bpr --seed 5 --out m.safetensors" TRAIN,
     .pair = "m"},
    {.name = "train-anew",
     .uses = "sim",
     .before = "train sim --method bpr --seed 4 --out m.safetensors" TRAIN,
     .words = "train sim --method bpr --out m.safetensors" TRAIN,
     .again = "train sim --method bpr --out m.safetensors --resume" TRAIN,
     .rival = "train sim --method bpr --seed 5 --out m.safetensors" TRAIN,
     .pair = "m"},
    {.name = "train-longer",
     .uses = "sim",
     .before =
         "train sim --method bpr --out m.safetensors --checkpoint state --optimizer adam-deferred "
         "--checkpoint-end" TRAIN,
     .words =
         "train sim --method bpr --out m.safetensors --checkpoint state --optimizer adam-deferred "
         "--resume --checkpoint-end" TRAIN " --epochs 5",
     .pair = "m"},
    {.name = "train-many",
     .uses = "sim",
     .words = "train sim --method bpr --device mpi --resume --out m.safetensors" TRAIN,
     .rival = "train sim --method bpr --device mpi --seed 5 --out m.safetensors" TRAIN,
     .pair = "m",
     .is_many = true},
    {.name = "train-many-longer",
     .uses = "sim",
     .before = "train sim --method bpr --device mpi --out m.safetensors --checkpoint state "
               "--optimizer adam-deferred --checkpoint-end" TRAIN,
     .words = "train sim --method bpr --device mpi --out m.safetensors --checkpoint state "
              "--optimizer adam-deferred --resume --checkpoint-end" TRAIN " --epochs 5",
     .pair = "m",
     .is_many = true},
    {.name = "train-log",
     .uses = "log.csv",
     .words =
         "train log.csv --core 1 --min-rating 2 --method bpr --resume --out m.safetensors" TRAIN,
     .pair = "m"},
    {.name = "update",
     .uses = "log.csv cpr.safetensors",
     .words = "update cpr.safetensors log.csv --min-rating 2 --resume --update-share 1 "
              "--checkpoint-every 1 --out "
              "m.safetensors" QUIET,
     .rival = "update cpr.safetensors log.csv --update-share 1 --seed 5 --out m.safetensors" QUIET,
     .pair = "m"},
    {.name = "tune",
     .uses = "sim",
     .words = "tune sim --out best --trials 4 --folds 2 --backbones mf --set "
              "preset=paper,dim=4,batch=16,epochs=2,eval-every=1" QUIET,
     .pair = "best",
     .most = 2000},
    {.name = "evaluate",
     .uses = "sim cpr.safetensors",
     .words = "evaluate sim cpr.safetensors --bootstrap 10 --json" QUIET},
    {.name = "evaluate-many",
     .uses = "sim cpr.safetensors",
     .words = "evaluate sim cpr.safetensors --device mpi --popularity-sweep auto --json" QUIET,
     .is_many = true},
    {.name = "compare",
     .uses = "sim bpr.safetensors bpr.run.json cpr.safetensors cpr.run.json",
     .words = "compare bpr.run.json cpr.run.json --data sim --bootstrap 10" QUIET},
    {.name = "experiment",
     .uses = "sim plan.json",
     .words = "experiment plan.json sim --out lab --jobs 1 --checkpoint-every 1" QUIET,
     .most = 2000},
    {.name = "experiment-more",
     .uses = "sim more.json plan.json lab",
     .words = "experiment more.json sim --out lab --jobs 1 --checkpoint-every 1" QUIET,
     .most = 2000},
    {.name = "report", .uses = "lab", .words = "report lab" QUIET, .whole = "lab/report"},
    {.name = "report-force",
     .uses = "lab sim more.json",
     .before = "report lab" QUIET,
     .words = "report lab --force" QUIET,
     .whole = "lab/report"},
    {.name = "report-png",
     .uses = "lab",
     .words = "report lab" QUIET,
     .whole = "lab/report",
     .has_plugins = true,
     .most = 50},
    {.name = "recommend",
     .uses = "cpr.safetensors users.txt",
     .words = "recommend cpr.safetensors --users users.txt" QUIET},
    {.name = "recommend-history",
     .uses = "cpr.safetensors history.txt",
     .words = "recommend cpr.safetensors --history history.txt --json" QUIET},
    {.name = "recommend-rules",
     .uses = "cpr.safetensors users.txt history.txt",
     .words = "recommend cpr.safetensors --users users.txt --only history.txt --diversity 0.5 "
              "--explain 2" QUIET},
    {.name = "recommend-to",
     .uses = "bpr.safetensors cpr.safetensors",
     .before = "recommend bpr.safetensors --all --k 3 --to lists.jsonl" QUIET,
     .words = "recommend cpr.safetensors --all --k 3 --to lists.jsonl --force" QUIET,
     .rival = "recommend bpr.safetensors --all --k 2 --to lists.jsonl --force" QUIET},
    {.name = "recommend-many",
     .uses = "cpr.safetensors",
     .words = "recommend cpr.safetensors --all --k 3 --device mpi --to lists.jsonl --force" QUIET,
     .is_many = true},
    {.name = "serve-openapi", .words = "serve --openapi" QUIET},
    {.name = "info", .uses = "cpr.safetensors", .words = "info cpr.safetensors" QUIET},
    {.name = "export",
     .uses = "cpr.safetensors",
     .words = "export cpr.safetensors --out vectors" QUIET,
     .whole = "vectors"},
    {.name = "export-force",
     .uses = "cpr.safetensors bpr.safetensors",
     .before = "export bpr.safetensors --out vectors" QUIET,
     .words = "export cpr.safetensors --out vectors --force" QUIET,
     .rival = "export bpr.safetensors --out vectors --force" QUIET,
     .whole = "vectors"},
    {.name = "demo", .words = DEMO, .again = DEMO " --force", .most = 250},
};

const size_t n_commands = sizeof commands / sizeof commands[0];

/* ---- what must be refused ------------------------------------------------------------------ */

#define REFUSED(title, line)                                                                       \
    {                                                                                              \
        .name = title, .words = line                                                               \
    }

const command refused[] = {
    REFUSED("model-is-checkpoint",
            "train sim --method bpr --out m.safetensors --checkpoint m.safetensors" TRAIN),
    REFUSED("model-is-record",
            "train sim --method bpr --out m.run.json --checkpoint m.run.json" TRAIN),
    REFUSED("model-is-log", "train log.csv --core 1 --out log.csv" TRAIN),
    REFUSED("checkpoint-is-log", "train log.csv --core 1 --out m --checkpoint log.csv" TRAIN),
    REFUSED("model-is-dataset-file", "train sim --method bpr --out sim/train.csv" TRAIN),
    REFUSED("checkpoint-is-dataset-file",
            "train sim --method bpr --out m --checkpoint sim/valid.csv" TRAIN),
    REFUSED("model-is-foreign", "train sim --method bpr --out note.txt" TRAIN),
    REFUSED("checkpoint-is-foreign", "train sim --method bpr --out m --checkpoint note.txt" TRAIN),
    REFUSED("model-is-pipe", "train sim --method bpr --out pipe" TRAIN),
    REFUSED("checkpoint-is-pipe", "train sim --method bpr --out m --checkpoint pipe" TRAIN),
    REFUSED("model-is-folder", "train sim --method bpr --out home" TRAIN),
    REFUSED("dataset-is-file", "prepare log.csv --core 1 --out note.txt --force" QUIET),
    REFUSED("dataset-is-pipe", "prepare log.csv --core 1 --out pipe --force" QUIET),
    REFUSED("dataset-is-foreign", "prepare log.csv --core 1 --out home --force" QUIET),
    REFUSED("dataset-is-input", "prepare sim/train.csv --core 1 --out sim --force" QUIET),
    REFUSED("dataset-is-model-folder", "prepare log.csv --core 1 --out vectors --force" QUIET),
    REFUSED("simulation-is-foreign", SIMULATE " --out home --force" QUIET),
    REFUSED("experiment-is-foreign", "experiment plan.json sim --out home" QUIET),
    REFUSED("experiment-is-dataset", "experiment plan.json sim --out sim" QUIET),
    REFUSED("report-is-foreign", "report lab --out home --force" QUIET),
    REFUSED("report-is-dataset", "report lab --out sim --force" QUIET),
    REFUSED("report-is-experiment", "report lab --out lab --force" QUIET),
    REFUSED("export-is-foreign", "export bpr.safetensors --out home --force" QUIET),
    REFUSED("export-is-model", "export bpr.safetensors --out bpr.safetensors --force" QUIET),
    REFUSED("export-is-here", "export bpr.safetensors --out . --force" QUIET),
    REFUSED("page-is-foreign",
            "demo --users 80 --items 40 --popularity 0.1 --epochs 1 --out page --force" QUIET),
};

const size_t n_refused = sizeof refused / sizeof refused[0];
