# shellcheck shell=sh
# common.sh - what the comparisons share; sourced with the root of the project as working folder.

program=build/release/crosswise
data=${PEERS_DATA:-build/bench/ml10m} # a dataset folder
kept=$(mktemp -d) # one file of seconds for every side
trap 'rm -r "$kept"' EXIT

# The set that all sides train on: the shape of MovieLens-10M, as in bench/bench.c.
make_data() {
    [ -x $program ] || { echo "$program is missing; run make first" >&2 && exit 1; }
    [ -e "$data/train.csv" ] && return
    mkdir -p build/bench
    $program simulate --users 62230 --items 7000 --interactions 1533956 --core 1 \
        --holdout 0.257 --out "$data" --force >/dev/null
}

# crosswise_seconds FIELD OPTION...: the best train_s or eval_s of the epochs of one training
crosswise_seconds() {
    field=$1
    shift
    $program train "$data" "$@" --json | sed -n '/"event":"epoch"/{/"epoch":0,/!p;}' |
        sed "s/.*\"$field\":\([0-9.e+-]*\).*/\1/" | smallest
}

# The smallest of the numbers on standard input, one a line.
smallest() {
    awk 'NR == 1 || $1 + 0 < best { best = $1 + 0 } END { print best }'
}

# keep NAME SECONDS: remember one measurement of a side
keep() {
    echo "$2" >>"$kept/$1"
    printf '  %-28s %8.3f s\n' "$1" "$2"
}

# compare NAME OTHER: best of each, and how many times faster the first is
compare() {
    a=$(smallest <"$kept/$1") b=$(smallest <"$kept/$2")
    awk -v a="$a" -v b="$b" -v x="$1" -v y="$2" \
        'BEGIN { printf "%-28s %8.3f s   %-22s %8.3f s   ratio %6.2f\n", x, a, y, b, b / a }'
}
