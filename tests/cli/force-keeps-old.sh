# a failing run leaves the dataset that is there alone
make_log >log.csv
crosswise prepare log.csv --quiet --out set
listing set >before
crosswise prepare log.csv --quiet --out set --force --core 100 || echo "exit code $?"
bash -c 'ulimit -f 0 && exec "$CROSSWISE" prepare log.csv --quiet --out set --force' 2>&1 | cat
listing set | cmp - before
find . -mindepth 1 -maxdepth 1 | sort
