# a threshold keeps the ratings from it on
make_log >log.csv
crosswise prepare log.csv --min-rating 3 --core 1 --quiet --out set
awk -F , 'NR > 1 && $3 >= 3' log.csv | wc -l | tr -d ' '
tail -q -n +2 set/train.csv set/valid.csv set/test.csv | wc -l | tr -d ' '
