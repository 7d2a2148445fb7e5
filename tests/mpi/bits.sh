#!/bin/bash
# bits.sh - a model trained by any number of processes is the file that one process writes.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

# What is told of an epoch, but for the time it took.
epochs() { sed -n 's/"\(train_s\|eval_s\)":[^,}]*//g; /"event":"epoch"/p' "$1"; }

# same "N..." WORD...: the same files with so many processes.  Every exchange waits for all of them to
# get a core, so there are few steps, but more than the 32 that are drawn ahead where $steps says so.
steps=5
same() {
    local counts=$1 n words="set --dim 12 --epochs 2 --epoch-steps $steps --quiet --json --force"
    shift
    # shellcheck disable=SC2086 # words
    "$CROSSWISE" train $words --threads 1 --out one "$@" >one.json
    for n in $counts; do
        # shellcheck disable=SC2086
        many "$n" $words --out many "$@" >many.json ||
            fail "$n processes: $*"
        cmp one many || fail "$n processes, another model: $*"
        diff <(epochs one.json) <(epochs many.json) || fail "$n processes, other losses: $*"
        echo "the same with $n: $*"
    done
}

# Interactions are dealt out where that is possible, and everybody has all where it is not.
dealt() {
    many 3 set --epochs 1 --dim 4 --out many --force "$@" 2>&1 | grep -o "keeps .*" || fail "nobody says what is kept: $*"
}

case $1 in
rows)
    dealt --method bpr | grep "^keeps [0-9]* of [0-9]* train rows"
    dealt --method bpr --pos user | grep "^keeps all interactions: it draws in ways that need them"
    same "1 3 4 7" --method cpr --optimizer adam-deferred
    steps=36 same "2" --method cpr --optimizer adam-deferred
    same "2" --method cpr --optimizer adam
    same "3" --method bpr --optimizer adam-deferred
    same "4" --method bpr --optimizer adam-lazy --reg 0.1
    same "2" --method cpr-rand --optimizer sgd --lr 1
    same "3" --method bce --optimizer adam
    same "2" --method rel-mf --optimizer adam-deferred
    same "2" --method ubpr
    same "3" --method bce --negatives user
    same "2" --method bpr --pos user
    ;;
grids)
    same "1 3 4 7" --method cross-softmax --batch 256
    steps=36 same "2" --method cross-softmax --batch 256
    same "3" --method cross-all --batch 256 --group 32 --scorer cosine --temperature 0.3
    same "2" --method cross-softmax --batch 256 --optimizer adam-deferred
    same "4" --method cross
    same "2" --method sl
    same "3" --method fs-pair
    ;;
layers)
    same "1 3 4 7" --method cpr --backbone lightgcn --layers 2
    steps=36 same "2" --method cpr --backbone lightgcn --layers 2
    same "3" --method bpr --backbone lightgcn --layers 3
    same "4" --method bpr --backbone lightgcn --layers 0
    same "2" --method cpr-rand --backbone lightgcn --optimizer adam-lazy
    same "3" --method cross-softmax --backbone lightgcn --batch 256
    ;;
threads) # which draw ahead beside the exchange, and share chunks: for the thread sanitizer, too
    threads=2 steps=36
    same "2" --method cpr --optimizer adam-deferred
    same "2" --method cpr-rand --backbone lightgcn --layers 2 --checkpoint state --checkpoint-every 1
    same "2" --method cross-softmax --batch 256
    "$CROSSWISE" evaluate set one --json --threads 1 >one.json
    mpirun -n 2 "$CROSSWISE" evaluate set one --json --threads 2 --device mpi >many.json
    diff one.json many.json
    ;;
*) fail "there are no tests of $1" ;;
esac
