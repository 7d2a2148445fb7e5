# files edited by hand: what is harmless is read, what is not is named
make_log >log.csv
crosswise prepare log.csv --quiet --out set
try() { # what using set with file $1 made of standard input says
    cp -r set edited
    cat >edited/"$1"
    code=0
    crosswise skew edited --quiet 2>message || code=$?
    echo "$1: exit code $code $(cat message)"
    rm -r edited
}
sed 's/$/\r/' set/train.csv | try train.csv
{ printf '\357\273\277'; cat set/train.csv; echo; echo; } | try train.csv
sed 's/^/"/; s/,/",/; 1s/"//g; s/$/\r/' set/id2idx_u.csv | try id2idx_u.csv
{ cat set/train.csv; echo 40,1; } | try train.csv
{ cat set/train.csv; echo 1,-1; } | try train.csv
{ cat set/train.csv; echo '1;2'; } | try train.csv
{ cat set/train.csv; echo 1,2,3; } | try train.csv
{ cat set/train.csv; tail -n 1 set/train.csv; } | try train.csv
tail -n +2 set/train.csv | try train.csv
: | try train.csv
: | try id2idx_u.csv
tail -n +3 set/id2idx_u.csv | try id2idx_u.csv
sed 's/,1$/,0/' set/id2idx_u.csv | try id2idx_u.csv
sed '2s/^/"/' set/id2idx_u.csv | try id2idx_u.csv
for json in '' '[]' '{' '3' '{}' '{"files": 3}' '{"format": 2}' '{"files": {"..": {"xxh3_128": "0"}}}'; do
    echo "$json" | try dataset.json
done
