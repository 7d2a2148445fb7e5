# two runs that replace the same folder at a time leave the folder of one of them, whole
make_log >log.csv
for seed in 1 2; do
    crosswise prepare log.csv --quiet --out set$seed --seed $seed
    listing set$seed >listing$seed
done
for _ in 1 2 3 4; do
    for seed in 1 2; do "$CROSSWISE" prepare log.csv --quiet --force --out set --seed $seed & done
    wait
    listing set >got
    cmp -s got listing1 || cmp got listing2
done
ls -A | sort
