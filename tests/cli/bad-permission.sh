# a file that may not be read
make_log >log.csv
chmod 0 log.csv
if [ -r log.csv ]; then
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$CROSSWISE" "$@"; }
    if ! other --version >/dev/null 2>&1; then
        echo "this user may read any file and cannot become another"
        exit 77
    fi
else
    other() { "$CROSSWISE" "$@"; }
fi
chmod 777 .
other prepare log.csv --quiet --out out || echo "exit code $?"
mkdir -m 555 mine
chmod 644 log.csv
other prepare log.csv --quiet --out mine/out || echo "exit code $?"
find . | sort
