#!/bin/sh
# run - what training takes on the GPU of this machine, in one run and in at most ten minutes.
#   bench/gpu/run.sh [--try] [PART...]
# Parts, all but the last two unless some are named:
#   epochs    seconds of an epoch and of an evaluation: methods and backbones, on the shapes ml10m, gowalla, ml1m
#   same      two runs, and one that is killed and goes on, end in the same bytes
#   cross     what begins on the GPU goes on on the CPU, and the other way round
#   lists     evaluation of everybody, evaluate and recommend by GPU and CPU (whose bytes must be the same), and
#             PyTorch's lists of everybody, where python3 has it
#   peers     PyTorch on the same data, where python3 has it
#   large     ten times the users and interactions of ml10m, batch 8192
#   recipe    LightGCN on Gowalla as published, 1,000 epochs: the folder GOWALLA, a quarter of an hour
# CROSSWISE is the command (build/release/crosswise), FOLDER where simulated sets are kept (build/gpu-shapes).
# --try goes through all of it with sets of a few hundred rows: to see that the script works, not to measure.
# Rows go to the screen and to build/gpu.csv: device, shape, method, backbone, what, seconds.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
crosswise=${CROSSWISE:-$here/../../build/release/crosswise} folder=${FOLDER:-$here/../../build/gpu-shapes}
table=${TABLE:-$here/../../build/gpu.csv}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
epochs=6 rounds=12 dim=128 batch=2048 large=8192 evaluates=0 tries=
if [ "${1:-}" = --try ]; then
    shift
    epochs=2 rounds=4 dim=8 batch=64 large=128 tries="--relevant 0.5 --popularity 0.5" folder=$scratch/shapes
fi
parts=${*:-epochs same cross lists peers large}
mkdir -p "$folder"
"$crosswise" info --devices
device=$("$crosswise" info --devices --json | tr -d '\n' | sed -n 's/.*"device": "cuda:0"[^}]*"name": "\([^"]*\)".*/\1/p')
: >"$table"

# shape NAME: its folder, simulated when it is not there.
shape() {
    case $1 in
        ml10m) users=61770 items=6958 rows=1533956 ;;
        gowalla) users=29858 items=40981 rows=1027370 ;;
        ml1m) users=5950 items=3125 rows=205000 ;;
        small) users=1200 items=800 rows=20000 ;;
        large) users=617700 items=69580 rows=15339560 ;;
    esac
    [ -z "$tries" ] || users=300 items=150 rows=3000
    # shellcheck disable=SC2086 # words
    [ -d "$folder/$1" ] || "$crosswise" simulate --users $users --items $items --interactions $rows \
        $tries --quiet --out "$folder/$1"
    echo "$folder/$1"
}

row() {
    printf '%-8s %-14s %-9s %-8s %s s\n' "$1" "$2" "$3" "$4" "$5"
    echo "$device,$1,$2,$3,$4,$5" >>"$table"
}

# The median of a number of the record over all epochs but the first.
median() {
    tr -d ' \n' <"$scratch/model.run.json" | grep -o "\"$1\":[0-9.e-]*" | cut -d: -f2 | sed 1d | sort -g |
        awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}

# train SHAPE METHOD BACKBONE [OPTION...]
train() {
    at=$(shape "$1") method=$2 backbone=$3
    shift 3
    [ "$backbone" = vae ] || set -- --backbone "$backbone" "$@"
    "$crosswise" train "$at" --method "$method" --preset paper --dim $dim --batch $batch \
        --epochs $epochs --eval-every $evaluates --device cuda --quiet --out "$scratch/model" --force "$@" >/dev/null
}

# epoch SHAPE METHOD BACKBONE [OPTION...]
epoch() {
    train "$@"
    row "$1" "$2" "$3" epoch "$(median train_s)"
}

evaluation() {
    evaluates=1
    train "$@"
    evaluates=0
    row "$1" "$2" "$3" evaluate "$(median eval_s)"
}

measure_epochs() {
    epoch ml10m cpr mf --beta 3
    for method in cpr-rand bpr dice cause ubpr rel-mf bce mse wmf fs-pair fs-point; do epoch ml10m $method mf; done
    for method in cross-softmax cross-all sl psl bsl; do epoch ml10m $method mf; done
    for backbone in lightgcn ngcf neumf; do
        for method in cpr bpr; do epoch ml10m $method "$backbone"; done
    done
    epoch ml10m cross-softmax lightgcn
    epoch ml10m bpr ngcf --ngcf original
    epoch ml10m mult-vae vae
    for set in gowalla ml1m; do
        for backbone in mf lightgcn; do
            for method in cpr bpr; do epoch $set $method "$backbone"; done
        done
    done
    dim=$((dim / 2))
    for backbone in lightgcn ngcf; do epoch gowalla bpr $backbone --layers 3; done
    epoch gowalla cpr lightgcn --layers 3
    epoch gowalla bpr neumf
    dim=$((2 * dim))
    for set in ml10m gowalla ml1m; do evaluation $set cpr mf; done
}

# fix NAME OPTION...: the bytes of a model; messages go to $scratch/NAME.log
fix() { (start "$@"); }

start() {
    name=$1
    shift
    exec "$crosswise" train "$at" --preset paper --dim $dim --batch $batch --epochs $rounds --eval-every 0 --device cuda --seed 5 \
        --checkpoint-every 1 --out "$scratch/$name" --force "$@" >/dev/null 2>"$scratch/$name.log"
}

# The same, killed when it has written its first checkpoint.
fix_and_kill() {
    (start "$@") &
    while kill -0 $! 2>/dev/null && [ ! -f "$scratch/$1.checkpoint" ]; do sleep 0.002; done
    kill -KILL $! 2>/dev/null || true
    wait $! 2>/dev/null || true
}

# one, two runs and a killed one: OPTION...
compare_runs() {
    fix one "$@"
    fix two "$@"
    cmp "$scratch/one" "$scratch/two" || { echo "$*: two runs differ" >&2 && exit 1; }
    rm -f "$scratch"/two*
    fix_and_kill two "$@"
    fix two "$@" --resume
    grep -q "going on from" "$scratch/two.log" || { echo "$*: the run was over before it was killed" >&2 && exit 1; }
    cmp "$scratch/one" "$scratch/two" || { echo "$*: a killed run goes on otherwise" >&2 && exit 1; }
    echo "$*: the same bytes from two runs, and from one that was killed"
}

last_loss() {
    tr -d ' \n' <"$scratch/$1.run.json" | grep -o '"data_loss":[0-9.e-]*' | tail -1 | cut -d: -f2
}

# loss_apart NAME: the last loss, relative to that of the CPU alone
loss_apart() {
    awk -v a="$(last_loss whole)" -v b="$(last_loss "$1")" 'BEGIN { printf "%.1e", (a > b ? a - b : b - a) / a }'
}

# Begun on one device, gone on on the other: no other loss at the end than that of a run on the CPU, as far as a run on the
# GPU alone has that one.  What training forgot would show in the second or third digit.  Some thirty steps: over hundreds
# the smallest difference grows.
cross_over() {
    all_rounds=$rounds rounds=4
    fix whole --device cpu "$@"
    fix one "$@"
    for devices in "cuda cpu" "cpu cuda"; do
        rm -f "$scratch"/two*
        fix two --device "${devices% *}" --epochs $((rounds / 2)) --checkpoint-end "$@"
        fix two --device "${devices#* }" --resume "$@"
        grep -q "going on from" "$scratch/two.log" || { echo "$*: there is no checkpoint" >&2 && exit 1; }
        echo "$* on $devices: the last loss is $(loss_apart two) from that of the CPU alone, the GPU alone $(loss_apart one)"
        awk -v two="$(loss_apart two)" -v one="$(loss_apart one)" 'BEGIN { exit !(two < 1e-4 || two < 3 * one) }' ||
            { echo "$*: $devices goes on otherwise" >&2 && exit 1; }
    done
    rounds=$all_rounds
}

measure_same() {
    at=$(shape ml1m)
    for backbone in mf lightgcn ngcf neumf; do compare_runs --method cpr --backbone $backbone; done
    compare_runs --method mult-vae
    compare_runs --method cpr --optimizer adam-deferred
    compare_runs --method dice --dis dcor
}

measure_cross() {
    at=$(shape small)
    for backbone in mf lightgcn ngcf neumf; do cross_over --method bpr --backbone $backbone; done
    cross_over --method mult-vae
    cross_over --method bpr --optimizer adam-deferred
}

# timed WHAT COMMAND...: milliseconds of a command whose output goes to $scratch/WHAT
timed() {
    what=$1 begin=$(date +%s%N)
    shift
    "$crosswise" "$@" >"$scratch/$what"
    awk -v b="$begin" -v e="$(date +%s%N)" 'BEGIN { print (e - b) / 1e9 }'
}

# Everybody has something held out: an item by number, which says nothing but takes as long.
measure_lists() {
    at=$(shape ml10m) everybody=$scratch/everybody
    mkdir "$everybody"
    cp "$at"/train.csv "$at"/test.csv "$at"/id2idx_*.csv "$everybody"
    awk -F, 'NR == FNR { n_items = FNR - 1; next } FNR == 1 { print "user,item"; next }
             { print FNR - 2 "," (FNR * 7919) % n_items }' "$at/id2idx_i.csv" "$at/id2idx_u.csv" >"$everybody/valid.csv"
    evaluates=1
    "$crosswise" train "$everybody" --method cpr --preset paper --dim $dim --batch $batch --epochs $epochs \
        --eval-every 1 --device cuda --quiet --out "$scratch/model" --force >/dev/null
    evaluates=0
    row everybody cpr mf evaluate "$(median eval_s)"
    for device in cpu cuda; do
        row ml10m "$device" mf evaluate "$(timed "evaluate.$device" evaluate "$at" "$scratch/model" --json --device $device)"
        row ml10m "$device" mf all "$(timed "all.$device" recommend "$scratch/model" --all --k 20 --device $device)"
    done
    for what in evaluate all; do
        cmp "$scratch/$what.cpu" "$scratch/$what.cuda" || { echo "$what: a GPU makes other lists" >&2 && exit 1; }
    done
    ! python3 -c 'import torch' 2>/dev/null || python3 "$here/lists.py" "$everybody" --dim $dim
}

measure_peers() {
    python3 -c 'import torch' 2>/dev/null || { echo "python3 has no torch: it was not measured" && return; }
    for set in ml10m gowalla ml1m; do
        at=$(shape $set)
        echo "$set, --dim $dim --batch $batch"
        python3 "$here/peer.py" "$at" --dim $dim --batch $batch --steps 100 mf-cpr mf-bpr lightgcn-bpr lightgcn-cpr ngcf-bpr neumf-bpr \
            mult-vae evaluate
    done
    echo "gowalla, --dim $((dim / 2)) --layers 3"
    python3 "$here/peer.py" "$(shape gowalla)" --dim $((dim / 2)) --layers 3 --steps 100 lightgcn-bpr lightgcn-cpr ngcf-bpr neumf-bpr
}

measure_large() {
    epochs=3 batch=$large
    epoch large cpr mf --beta 3
}

# As LightGCN was published: 64 numbers, 3 layers, Recall@20 0.1830 and NDCG@20 0.1554 in the end.
measure_recipe() {
    "$crosswise" train "${GOWALLA:?is the folder of the published split}" --method bpr --backbone lightgcn --dim 64 \
        --layers 3 --lr 1e-3 --reg 1e-4 --reg-kind batch --reg-target base --init normal --init-scale 0.1 --pos user \
        --adam-eps torch --batch 2048 --epochs 1000 --eval-every 50 --device cuda --out "$scratch/model" --force
    "$crosswise" evaluate "$GOWALLA" "$scratch/model" --split test --k 20
}

for part in $parts; do "measure_$part"; done
echo "the rows are in $table"
