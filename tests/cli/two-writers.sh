# of two runs that make the same folder one wins, the other says why
make_log >log.csv
mkfifo pipe
crosswise prepare pipe --out set --quiet 2>late &
process=$!
exec 3>pipe
crosswise prepare log.csv --out set --quiet
listing set >before
cat log.csv >&3
exec 3>&-
wait $process || echo "exit code $?"
cat late
listing set | cmp - before
find . -mindepth 1 -maxdepth 1 | sort
