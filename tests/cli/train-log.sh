# a raw log is imported and split on the way
make_log >log.csv
crosswise train log.csv --preset paper --core 1 --dim 4 --batch 16 --epochs 2 --eval-every 1 --out m.safetensors --quiet
ls
crosswise train log.csv --method pop --core 1 --quiet --out pop.safetensors
crosswise recommend pop.safetensors --all --k 1 | head -n 1
