# a core that leaves nothing
make_log >log.csv
refused log.csv --core 100
refused log.csv --min-rating 9
refused log.csv --max-users 1
