# the other splits run and differ
make_log >log.csv
for split in debiased compat random; do
    crosswise prepare log.csv --split $split --cap 1 --quiet --out $split
    wc -l $split/train.csv $split/valid.csv $split/test.csv | head -n 3
done
cmp -s debiased/test.csv random/test.csv || echo "debiased and random differ"
cmp -s debiased/test.csv compat/test.csv || echo "debiased and compat differ"
