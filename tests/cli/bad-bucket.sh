# buckets that say nothing, or are none
crosswise simulate --users 120 --items 60 --relevant 0.5 --popularity 0.5 --quiet --out set
try() {
    crosswise train set --dim 4 --batch 64 --epochs 1 --eval-every 0 --quiet --bucket "$@" || echo "exit code $?"
}
try missing.csv
: >empty.csv
try empty.csv
printf 'user,item,liked\n' >header.csv
try header.csv
printf 'user,item\n' >header.csv
try header.csv
printf 'user,rating\n1,2\n' >wrong.csv
try wrong.csv
printf 'user,item,liked\n0,1,1\n0,2,yes\n' >label.csv
try label.csv
printf 'user,item,liked\n0,1\n' >short.csv
try short.csv
printf 'user,item,liked\n"0,1\n' >quote.csv
try quote.csv
printf 'user,item,liked\nnobody,1,1\n0,nothing,1\n' >strangers.csv
try strangers.csv
raw() { # a part of the set by raw ids, all of it liked
    awk -F, 'BEGIN { print "user,item,liked" } FNR == 1 { file++; next }
        file == 1 { user[$2] = $1; next } file == 2 { item[$2] = $1; next }
        { print user[$1] "," item[$2] ",1" }' set/id2idx_u.csv set/id2idx_i.csv "set/$1.csv"
}
raw train >train.csv
try train.csv
# too little to tell: the model is as it was
printf 'user,item,liked\n0,1,1\n' >one.csv
try one.csv --out one.safetensors
raw test >liked.csv
try liked.csv --out liked.safetensors
crosswise train set --dim 4 --batch 64 --epochs 1 --eval-every 0 --quiet --out plain.safetensors
for model in one liked; do
    cmp <(crosswise recommend plain.safetensors --all) <(crosswise recommend $model.safetensors --all)
    crosswise info $model.safetensors | grep -E '^(dial|bucket.is_enough)'
done
# a pair may come again, and be liked once
{ cat one.csv; sed 1d one.csv; } >twice.csv
try twice.csv
# the model may not be written over it
try one.csv --out one.csv
try one.csv --out one --force >/dev/null && ls one.csv
