#!/bin/bash
# lists.sh - evaluations and lists of many processes are those of one, byte for byte.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/common.sh"

"$CROSSWISE" train set --dim 12 --epochs 1 --epoch-steps 25 --quiet --threads 1 --out model

# same N WORD...: a command with so many processes
same() {
    local n=$1 code=0 codes=0
    shift
    "$CROSSWISE" "$@" --threads 1 >one 2>one.err || code=$?
    mpirun -n "$n" "$CROSSWISE" "$@" --threads 1 --device mpi >many 2>many.err || codes=$?
    [ $code = $codes ] || fail "$n processes end with $codes in place of $code: $*"
    cmp one many || fail "$n processes, another result: $*"
    if [ $code = 0 ]; then
        cmp one.err many.err || fail "$n processes, other words: $*"
    else
        grep "^crosswise" many.err | sed 's/rank 0: //' | diff - <(grep "^crosswise" one.err) || fail "other words: $*"
    fi
    echo "the same with $n: $*"
}

case $1 in
measured)
    for n in 1 2 3 4 7; do same $n evaluate set model; done
    # Vectors at length 1, several of a user, and of a graph.
    for words in "cross-softmax --scorer cosine" dice "bpr --backbone lightgcn --layers 2"; do
        # shellcheck disable=SC2086 # words
        "$CROSSWISE" train set --method $words --dim 12 --epochs 1 --epoch-steps 25 --quiet --threads 1 --out other --force
        same 3 evaluate set other --json --popularity-sweep auto
        same 2 recommend other --all --k 7 --popularity 0.1
    done
    same 3 evaluate set model --json --k 10,20 --bootstrap 50 --popularity-sweep auto --mask-valid
    same 2 evaluate set model --json --split valid --popularity 0.1 --popularity-sweep=-1,0,1 --recall capped
    same 4 evaluate set model --propensity-power 0.5 --truth off --groups 2
    # More windows than one, the last of which not all processes have a part of.
    (echo user,item && awk 'BEGIN { for (u = 0; u < 4500; u++) for (k = 0; k < 6; k++) print u "," (u * 7 + k * 13) % 101 }') >log
    "$CROSSWISE" prepare log --split random --quiet --out wide
    "$CROSSWISE" train wide --method pop --quiet --out popular
    same 2 evaluate wide popular --json --popularity-sweep=-1,0
    same 3 evaluate wide popular --json
    # What is refused.
    same 2 evaluate set nowhere
    same 3 evaluate set model --k 0
    same 2 evaluate set popular
    if "$CROSSWISE" evaluate set model --device tpu 2>message; then fail "there is no such device"; fi
    grep -q "^crosswise: --device is 'tpu'; it must be auto, cpu, mpi, cuda or cuda:N" message || fail "$(cat message)"
    ;;
listed)
    for n in 1 2 7; do same $n recommend model --all; done
    sed '1d; s/\t.*//' one | uniq | head -40 >known
    sed '1d; s/^[^\t]*\t//; s/\t.*//' one | sort -u | head -9 >items
    same 3 recommend model --all --json --k 3 --explain 2
    same 2 recommend model --all --k 5 --popularity 0.1 --diversity 0.3
    same 2 recommend model --all --k 400 --exclude none
    (cat known && echo nobody) >users
    same 4 recommend model --users users --fallback
    same 4 recommend model --users users --skip-unknown
    same 3 recommend model --users users
    same 2 recommend model --user "$(head -1 known)" --user "$(tail -1 known)"
    same 3 recommend model --all --exclude items --json
    same 2 recommend model --all --only items
    sed 's/$/\t0.5/' items >boosts
    same 2 recommend model --all --boost boosts
    paste known <(cat items items items items items) | head -30 >pairs
    same 3 recommend model --all --exclude-pairs pairs
    awk '{ print "new" NR "\t" $1 }' items >histories
    same 4 recommend model --histories histories --explain 1
    same 2 recommend model --history items
    same 3 recommend model --similar-items "$(head -1 items)" --similar-items "$(tail -1 items)"
    same 2 recommend model --similar-users "$(head -1 known)"
    # Standard input is that of one of them.
    "$CROSSWISE" recommend model --users known >one
    mpirun -n 3 "$CROSSWISE" recommend model --users - --device mpi <known >many
    cmp one many || fail "other lists for users of standard input"
    # Files and tables.
    for place in lists.csv lists.jsonl; do
        same 3 recommend model --all --to $place --force
        mv $place of-many
        "$CROSSWISE" recommend model --all --to $place --quiet
        cmp $place of-many || fail "another file $place"
        same 2 recommend model --all --to $place
    done
    ;;
killed)
    # One of them is lost while a file is written: nothing of the file is left.
    mkdir place
    "$CROSSWISE" simulate --users 20000 --items 3000 --quiet --out large
    "$CROSSWISE" train large --dim 16 --epochs 1 --epoch-steps 5 --eval-every 0 --quiet --out slow
    mpirun -n 2 "$CROSSWISE" recommend slow --all --k 100 --diversity 0.5 --threads 1 --device mpi --to place/lists.csv \
        2>message &
    job=$!
    for _ in $(seq 600); do
        [ -z "$(ls -A place)" ] || break
        sleep 0.1
    done
    [ -n "$(ls -A place)" ] || fail "no file is written"
    kill -9 "$(last_process)"
    if wait $job; then fail "the job has not ended"; fi
    grep -q "signal 9" message || fail "nobody says why: $(cat message)"
    [ "$(grep -c "^crosswise" message)" -le 1 ] || fail "more than a line: $(cat message)"
    [ -z "$(ls -A place)" ] || fail "left behind: $(ls -A place)"
    ;;
*) fail "there are no tests of $1" ;;
esac
