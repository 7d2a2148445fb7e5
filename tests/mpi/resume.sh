#!/bin/bash
# resume.sh - a killed process ends the job with a word; any number of processes goes on from there.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

words="set --method cpr --dim 12 --quiet --optimizer adam-deferred --eval-every 2"

# shellcheck disable=SC2086 # words
"$CROSSWISE" train $words --epochs 6 --threads 1 --out whole

# Three processes, of which one is killed once there is a checkpoint.
# shellcheck disable=SC2086
many 3 $words --epochs 1000 --patience 1000 --checkpoint state --checkpoint-every 1 --out model 2>message &
job=$!
for _ in $(seq 600); do
    [ ! -e state ] || break
    sleep 0.1
done
[ -e state ] || fail "there is no checkpoint"
victim=$(ps -eo pid,ppid,args | awk -v c="$CROSSWISE" '$3 == c && /--device mpi/ { last = $1 } END { print last }')
kill -9 "$victim"
if wait $job; then fail "the job has not ended"; fi
grep -q "signal 9" message || fail "nobody says why: $(cat message)"
[ ! -e model ] || fail "there is a model"

# A few steps, and a stop, by numbers of processes that differ.
# shellcheck disable=SC2086
for n in 1 4 2; do
    rm -f state
    many 2 $words --epochs 3 --checkpoint state --checkpoint-end --out model --force
    many $n $words --epochs 6 --checkpoint state --resume --out model --force
    cmp whole model || fail "another model after going on with $n processes"
    [ ! -e state ] || fail "the checkpoint is still there"
done

# From many to one and the other way.
# shellcheck disable=SC2086
{
    many 3 $words --epochs 2 --checkpoint state --checkpoint-end --out model --force
    "$CROSSWISE" train $words --epochs 6 --threads 1 --checkpoint state --resume --out model --force
    cmp whole model || fail "another model after one process went on"
    rm -f state
    "$CROSSWISE" train $words --epochs 2 --threads 1 --checkpoint state --checkpoint-end --out model --force
    many 3 $words --epochs 6 --checkpoint state --resume --out model --force
    cmp whole model || fail "another model after many went on"
}

# A stop asked for is answered with what is needed to go on.
# shellcheck disable=SC2086
many 2 $words --epochs 100000 --patience 100000 --checkpoint state --checkpoint-every 1 --out model --force 2>message &
job=$!
for _ in $(seq 600); do
    [ ! -e state ] || break
    sleep 0.1
done
kill -TERM "$(ps -eo pid,args | awk -v c="$CROSSWISE" '$2 == c && /--device mpi/ { last = $1 } END { print last }')"
code=0
wait $job || code=$?
[ $code = 143 ] || fail "exit code $code"
grep -q "the state is in state" message || fail "no word of the state: $(cat message)"

# What is refused.
say() { many 2 "$@" --out other 2>&1 | grep "^crosswise" || true; }
{
    say set --method mult-vae
    say set --backbone ngcf
    say set --spectral 0.5
    say nowhere
    say set --lr x
    "$CROSSWISE" train set --tune --device mpi --out other 2>&1 | grep "^crosswise" || true
} >said
diff - said <<'END' || fail "other words"
crosswise: rank 0: --device mpi does not train method mult-vae yet
crosswise: rank 0: --device mpi does not train backbone ngcf yet
crosswise: rank 0: --device mpi does not train with --spectral '0.5' yet
crosswise: rank 0: cannot open nowhere: No such file or directory
crosswise train: --lr is 'x'; it must be a number between 1e-12 and 1000
crosswise train: --tune does not go with --device mpi
END
