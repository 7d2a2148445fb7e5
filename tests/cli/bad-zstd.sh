# a zstd file that ends too early
command -v zstd >/dev/null || { echo "there is no zstd command"; exit 77; }
make_log | zstd -q >log.csv.zst
head -c 400 log.csv.zst >cut.csv.zst
refused cut.csv.zst
