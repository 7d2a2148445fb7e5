# zstd files are read like plain ones
command -v zstd >/dev/null || { echo "there is no zstd command"; exit 77; }
make_log >log.csv
zstd -q log.csv
crosswise prepare log.csv --quiet --out set
crosswise prepare log.csv.zst --quiet --out packed
diff -rq set packed -x dataset.json
