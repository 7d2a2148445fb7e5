# splits by time: the last rows of each user, or the last rows of all
make_log >log.csv
crosswise prepare log.csv --split leave-last --quiet --out last
crosswise prepare log.csv --split by-time --quiet --out time
raw() { # rows of part $2 of dataset $1 with their raw ids
    awk -F , 'FILENAME ~ /idx_u/ { u[$2] = $1; next } FILENAME ~ /idx_i/ { i[$2] = $1; next }
        FNR > 1 { print u[$1] "," i[$2] }' "$1/id2idx_u.csv" "$1/id2idx_i.csv" "$1/$2.csv" | sort
}
sort -t , -k 4n log.csv | awk -F , '/^u[0-9]/ { last[$1] = $1 "," $2 } END { for (u in last) print last[u] }' |
    sort >expected
raw last test >got
comm -13 expected got | wc -l | tr -d ' '
sort -t , -k 4n log.csv | tail -n 56 | cut -d , -f 1-2 | sort >expected
raw time test >got
comm -13 expected got | wc -l | tr -d ' '
wc -l time/train.csv time/valid.csv time/test.csv last/train.csv last/valid.csv last/test.csv | head -n 6
