# a file that cannot grow any more: the message names the final place, nothing stays
make_log >log.csv
limited() {
    bash -c 'ulimit -f 0 && exec "$CROSSWISE" "$@"' limited "$@" 2>&1 | cat
    echo "exit code ${PIPESTATUS[0]}"
}
limited prepare log.csv --quiet --out set
limited prepare log.csv --quiet --out ./set
limited simulate --users 60 --items 40 --core 1 --quiet --out set
crosswise prepare log.csv --quiet --out set
limited skew set
find . | sort
