#!/bin/sh
# run - run benchmarks and leave their rows in build/bench.json.
#   bench/run.sh [--full] [--record] [--threads N] [NAME...]
# NAME is a program without bench_, such as ops or epoch; all of them by default.
#   --full      whole epochs and all users, where otherwise a part stands for them: takes long
#   --record    add the rows to bench/results.csv, the history
# Real datasets are used where CROSSWISE_DATA names a folder that has them.
set -eu
cd "$(dirname "$0")/.."

full='' record='' threads=$(nproc 2>/dev/null || echo 1)
while [ $# -gt 0 ]; do
    case $1 in
    --full) full=--full ;;
    --record) record=yes ;;
    --threads) threads=$2 && shift ;;
    -*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
if [ $# = 0 ]; then
    for source in bench/bench_*.c; do
        name=${source#bench/bench_}
        set -- "$@" "${name%.c}"
    done
fi

# What every row is prefixed with.
today=$(date -u +%Y-%m-%d)
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | tr ',"\\' '   ')
rows=build/bench.rows
rm -f $rows
for name in "$@"; do
    build/release/bench/bench_"$name" ${full:+"$full"} --threads "$threads" --rows $rows
done

awk -F , -v date="$today" -v commit="$commit" -v cpu="$cpu" -v threads="$threads" -v full="$full" '
    BEGIN {
        printf "{\"date\": \"%s\", \"commit\": \"%s\", \"cpu\": \"%s\", \"threads\": %d,", date, commit, cpu, threads
        printf " \"full\": %s, \"rows\": [", (full ? "true" : "false")
    }
    {
        printf "%s\n  {\"name\": \"%s\", \"seconds\": %s, \"value\": %s, \"unit\": \"%s\"", (NR > 1 ? "," : ""), $1, $2, $3, $4
        printf ", \"share\": %s, \"note\": \"%s\"}", $5, $6
    }
    END { print "\n]}" }' $rows >build/bench.json
echo "rows are in build/bench.json"
[ -n "$record" ] || exit 0
awk -F , -v start="$today,$commit,$cpu,$threads" -v OFS=, '{ print start, $1, $2, $3, $4, $5 }' \
    $rows >>bench/results.csv
echo "and in bench/results.csv, to be committed"
