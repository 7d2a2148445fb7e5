# a result that nobody can read is a failure, a quiet one where the reader has gone away
make_log >log.csv
crosswise prepare log.csv --quiet --out set
crosswise describe set >&- || echo "exit code $?"
crosswise describe set --json >/dev/full || echo "exit code $?"
mkfifo pipe
exec 3<>pipe # so that neither end waits for the other
exec 4>pipe 5<pipe
exec 3>&- 5<&-
crosswise describe set >&4 || echo "exit code $?"
crosswise help >&4 || echo "exit code $?"
crosswise skew set --json >&4 || echo "exit code $?"
