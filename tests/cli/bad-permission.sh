# a file that may not be read
make_log >log.csv
chmod 0 log.csv
if [ -r log.csv ]; then
    echo "this user may read any file"
    exit 77
fi
refused log.csv
