#!/bin/bash
# resume.sh - a killed process ends the job with a word; any number of processes goes on from there.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

words="set --method cpr --dim 12 --epoch-steps 12 --quiet --optimizer adam-deferred --eval-every 2"

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
kill -9 "$(last_process)"
if wait $job; then fail "the job has not ended"; fi
grep -q "signal 9" message || fail "nobody says why: $(cat message)"
[ ! -e model ] || fail "there is a model"

# What is left is enough to go on, for one process and for many.
mkdir one many look
for folder in one many look; do cp state* "$folder"; done
# shellcheck disable=SC2086
(cd look && ln -s ../set set && "$CROSSWISE" train ${words/--quiet/} --epochs 1 --checkpoint state --resume --out model) \
    >/dev/null 2>message
epoch=$(sed -n 's/.*going on from state: epoch \([0-9]*\),.*/\1/p' message)
[ "$epoch" -ge 1 ] || fail "nothing was gone on from: $(cat message)"
# shellcheck disable=SC2086
{
    (cd one && ln -s ../set set &&
        "$CROSSWISE" train $words --epochs $((epoch + 2)) --checkpoint state --resume --out model)
    (cd many && ln -s ../set set && many 4 $words --epochs $((epoch + 2)) --checkpoint state --resume --out model)
}
cmp one/model many/model || fail "another model after a kill"
for folder in one many; do [ -z "$(find $folder -name 'state*')" ] || fail "left behind: $(ls $folder)"; done
rm -f state*

# A few steps, and a stop; what two processes left is gone on from by other numbers of them.
# shellcheck disable=SC2086
many 2 $words --epochs 3 --checkpoint state --checkpoint-end --out model --force
mkdir kept
cp state* kept
for n in 1 4 2; do
    cp kept/* .
    many $n $words --epochs 6 --checkpoint state --resume --out model --force
    cmp whole model || fail "another model after going on with $n processes"
    [ -z "$(find . -maxdepth 1 -name 'state*')" ] || fail "left behind: $(ls)"
done
cp kept/* .
"$CROSSWISE" train $words --epochs 6 --threads 1 --checkpoint state --resume --out model --force
cmp whole model || fail "another model after one process went on"

# A part that is missing, and one that has the name of another.
# shellcheck disable=SC2086
{
    cp kept/* .
    rm state.*.2-of-2
    if many 2 $words --epochs 6 --checkpoint state --resume --out model --force 2>message; then fail "no part was missed"; fi
    grep -q "^crosswise: rank [01]: cannot read state.3-0.2-of-2: No such file" message || fail "$(cat message)"
    cp kept/state.3-0.1-of-2 state.3-0.2-of-2
    if many 3 $words --epochs 6 --checkpoint state --resume --out model --force 2>message; then fail "a foreign part was taken"; fi
    grep -q "^crosswise: rank [012]: state.3-0.2-of-2 is not the part that goes with state" message || fail "$(cat message)"
    rm state*
}

# A refit, and from one process to many.
# shellcheck disable=SC2086
{
    "$CROSSWISE" train $words --epochs 4 --refit --threads 1 --out refitted
    many 3 $words --epochs 4 --refit --out model --force
    cmp refitted model || fail "another model after a refit"
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
kill -TERM "$(last_process)"
code=0
wait $job || code=$?
[ $code = 143 ] || fail "exit code $code"
grep -q "the state is in state" message || fail "no word of the state: $(cat message)"

# What is refused.
say() { many 2 "$@" --quiet --out other 2>&1 | grep "^crosswise" || true; }
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
