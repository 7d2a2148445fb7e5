#!/bin/bash
# faults.sh - a file call of one of two processes fails: a sentence says whose, and all that was there stays.
#   faults.sh FAILING.so [EACH]   every EACH-th call, 1 for all of them
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

object=$1 each=${2:-1}
words="set --method cpr --dim 4 --quiet --optimizer adam-deferred --eval-every 0 --epoch-steps 3 --checkpoint state --checkpoint-end"

# shellcheck disable=SC2086 # words
{
    many 2 $words --epochs 1 --out model
    mkdir before
    cp state* model* before
    many 2 $words --epochs 2 --resume --out model --force
    cp model whole
}
again() {
    rm -rf state* .state* model* .model*
    cp before/* .
}

tried=0 told=0
# Files of the checkpoint, written and read; then the model, which rank 0 writes alone.
for case in "0 state" "1 state" "0 model"; do
    read -r rank name <<<"$case"
    for ((at = 1 + tried % each; ; at += each)); do
        again
        rm -f mark
        code=0
        # shellcheck disable=SC2086
        FAIL_RANK=$rank FAIL_NAME=$name FAIL_AT=$at FAIL_MARK=$PWD/mark LD_PRELOAD=$object \
            mpirun -n 2 "$CROSSWISE" train $words --epochs 2 --resume --out model --force --device mpi --threads 1 2>message || code=$?
        [ -e mark ] || break
        tried=$((tried + 1))
        what="$(cat mark), call $at of rank $rank on $name"
        if [ $code != 0 ]; then
            told=$((told + 1))
            [ $code = 1 ] || fail "exit code $code after $what"
            [ "$(grep -c "^crosswise" message)" = 1 ] || fail "not one line after $what: $(cat message)"
            grep -q "^crosswise: rank $rank: .*$name" message || fail "other words after $what: $(cat message)"
            [ $name = state ] || cmp -s model before/model || cmp -s model whole || fail "half a model after $what"
            [ $name = model ] || cmp model before/model || fail "another model after $what"
            # shellcheck disable=SC2086
            many 2 $words --epochs 2 --resume --out model --force || fail "nothing went on after $what"
        fi
        cmp model whole || fail "another model after $what"
    done
    [ "$tried" -gt 0 ] || fail "no call failed: $case"
done
[ $told -gt 0 ] || fail "nobody told of a failure"
echo "$tried calls failed, of which $told ended the job"
