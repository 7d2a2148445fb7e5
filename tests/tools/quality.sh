#!/bin/sh
# quality.sh - the metrics of the smallest set are those of the table; the tool tells what differs
# from what is worse, and leaves sets that are not at hand as they were.
#   quality.sh TOOL TABLE
set -eu
tool=$1 table=$2
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT

# expect NAME EXIT-CODE PATTERN [ARGUMENT...]: how it ends on the table $cases/NAME
expect() {
    name=$1 wanted=$2 pattern=$3
    shift 3
    code=0
    "$tool" --table "$cases/$name" --data "$cases" --jobs 2 "$@" >"$cases/out" 2>&1 || code=$?
    if [ $code -ne "$wanted" ] || ! grep -q "$pattern" "$cases/out"; then
        echo "$name: exit code $code, not $wanted, or no line like '$pattern':"
        cat "$cases/out"
        exit 1
    fi
}

cp "$table" "$cases/committed"
expect committed 0 '^nothing differs' tiny

# Every pair of the registry has lines for every simulated set.
for set in tiny mild strong; do
    awk -F, -v set=$set '$1 == set { print $2, $3 }' "$table" | sort -u >"$cases/pairs-$set"
    cmp "$cases/pairs-tiny" "$cases/pairs-$set"
done

# A recorded recall that was half as good again: lost.  A little better, or no line: changed.
worsen() { awk -F, -v OFS=, -v by="$1" '/^tiny,bpr,mf,/ { $7 *= by } { print }' "$table"; }
worsen 1.5 >"$cases/better"
expect better 1 '^LOST  *tiny  *bpr  *mf  *recall@20 .* -33.33 %' tiny
worsen 1.001 >"$cases/alike"
expect alike 3 '^changed  *tiny  *bpr  *mf  *recall@20 .* -0.10 %' tiny
worsen 0.5 >"$cases/worse"
expect worse 3 '^changed  *tiny  *bpr  *mf  *recall@20 .* +100.00 %' tiny
grep -v '^tiny,pop,' "$table" >"$cases/short"
expect short 3 '^new  *tiny  *1 lines, the first of pop on pop with seed 0' tiny
awk -F, -v OFS=, '/^tiny,/ && $2 != "pop" { $7 *= 1.015 } { print }' "$table" >"$cases/all"
expect all 1 '^LOST  *tiny  *all  *median  *recall@20 .* -1.4' tiny # each by less than 2 %
echo 'tiny,bpr' >>"$cases/short"
expect short 2 'not a line of this table' tiny

# Written anew it is the committed one, and real data that are not here are skipped, not dropped.
expect worse 0 '^skipped  *ml100k  *ml100k/u.data.gz is not in' --update tiny ml100k
cmp "$cases/worse" "$table"
