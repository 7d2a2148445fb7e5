# kill -9 in the middle leaves nothing in the place of the dataset
mkfifo pipe
make_log >log.csv
"$CROSSWISE" prepare pipe --out set --quiet &
process=$!
disown $process
exec 3>pipe
cat log.csv >&3
kill -KILL $process
while kill -0 $process 2>/dev/null; do sleep 0.01; done
exec 3>&-
[ ! -e set ]
crosswise prepare log.csv --out set --quiet
find . -mindepth 1 -maxdepth 1 | sort
