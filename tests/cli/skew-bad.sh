# skewing what cannot be skewed
make_log >log.csv
crosswise prepare log.csv --quiet --out set
mkdir only-test
cp set/test.csv only-test
for words in "log.csv" "missing" "only-test" "set --theta x" "set --theta 11" "set --share 0" "set --draw all"; do
    # shellcheck disable=SC2086 # these are several words
    crosswise skew $words || echo "exit code $?"
done
find set | sort
