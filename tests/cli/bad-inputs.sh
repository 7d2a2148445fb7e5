# the wrong number of inputs
make_log >log.csv
refused
refused log.csv --train log.csv
refused --test log.csv
for words in "prepare log.csv" "simulate" "simulate log.csv --out out" "describe" "describe a b" "skew"; do
    # shellcheck disable=SC2086 # these are several words
    crosswise $words || echo "exit code $?"
done
