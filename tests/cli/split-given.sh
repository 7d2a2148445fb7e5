# a split made elsewhere: parts by flag, overlaps are dropped from the later part
make_log >log.csv
head -n 201 log.csv >a.csv
{ head -n 1 log.csv; sed -n 200,240p log.csv; } >b.csv
{ head -n 1 log.csv; tail -n +241 log.csv; } >c.csv
crosswise prepare --train a.csv --valid b.csv --test c.csv --out set
crosswise prepare --train a.csv --test c.csv --split given --quiet --out two
find two -name '*.csv' | sort
wc -l two/valid.csv
