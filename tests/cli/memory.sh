# the same folder whatever the memory, and nothing left beside it; sizes that are none
awk 'BEGIN {
    print "user,item,rating,timestamp"
    for (k = 0; k < 40000; k++) {
        u = k * 7919 % 700; i = k * k * 31 % 397
        printf "u%d,i%d,%d,%d\n", u, i, 1 + k % 5, 1000 + k * 6007 % 9973
    }
}' >log.csv
gzip -k log.csv
zstd -q -k log.csv
mkdir parts
head -25000 log.csv >parts/train.csv
{ head -1 log.csv; sed -n 24000,33000p log.csv; } >parts/valid.csv
{ head -1 log.csv; sed -n 32000,40001p log.csv; } >parts/test.csv

compare() {
    local size
    crosswise "$@" --quiet --out whole 2>whole.err
    for size in 0 1M 1.5m 64M 2G; do
        crosswise "$@" --quiet --out set --memory $size 2>set.err
        diff whole.err set.err
        diff -r whole set && rm -r set
    done
    rm -r whole ./*.err
}
compare prepare log.csv
compare prepare log.csv.gz --min-rating 3 --split random --core 10
compare prepare log.csv.zst --split by-time --keep-duplicates
compare prepare log.csv log.csv.gz --split leave-last --max-users 400
compare prepare parts --moveback off --core 5
compare simulate --users 500 --items 200 --interactions 2000 --uniform-test 5
crosswise prepare log.csv --quiet --out set --memory 0 --temp parts
crosswise prepare log.csv --split compat --quiet --out compat --memory 0 || echo "exit code $?"
for size in "" 1 5X 1K 2000T -1 1.G .5G 1e3M; do
    crosswise prepare log.csv --out out --memory "$size" || echo "exit code $?"
done
crosswise simulate --out out --memory 1M || echo "exit code $?"
crosswise prepare log.csv --out out --temp nowhere || echo "exit code $?"
crosswise prepare log.csv --core 1 --out small --memory 0 | grep accepts
crosswise prepare log.csv --core 1 --out large --quiet
diff -r small large
# a limit of the address space: the bound follows it (sanitizers reserve more)
if ! grep -qE '__(asan|tsan)_init' "$CROSSWISE"; then
    bash -c 'ulimit -v 300000; exec "$CROSSWISE" prepare log.csv --threads 1 --quiet --out limited' 2>limit.err
    grep -v "2830 repeated" limit.err || true
    diff -r set limited
    rm -r limited limit.err
fi
find . -maxdepth 1 | sort
