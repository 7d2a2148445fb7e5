# a split folder keeps its parts and its raw ids
make_log >log.csv
crosswise prepare log.csv --quiet --out set
crosswise prepare set --quiet --out again
diff -rq set again -x dataset.json
mkdir other
cp set/id2idx_*.csv other
gzip -c set/train.csv >other/train.csv.gz
cp set/test.csv other
crosswise prepare other --quiet --out parts
for file in train test; do cmp set/$file.csv parts/$file.csv; done
