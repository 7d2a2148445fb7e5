# splits that the input does not allow
make_log | cut -d , -f 1-2 >log.csv
refused log.csv --split leave-last
refused log.csv --split by-time
refused log.csv --split given
refused log.csv --min-rating 3
