# a split that holds nothing out, or has no test rows, says so
printf 'user,item\n1,2\n3,4\n' >log.csv
crosswise prepare log.csv --core 1 --quiet --out set
make_log >log.csv
crosswise prepare log.csv --test-share 0.001 --quiet --out no-test
crosswise prepare log.csv --test-share 0 --quiet --out wanted
