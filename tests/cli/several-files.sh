# several files are read as one; standard input is one of them, also compressed
make_log >log.csv
{ head -n 101 log.csv; } >first.csv
{ head -n 1 log.csv; tail -n +102 log.csv; } >second.csv
crosswise prepare log.csv --quiet --out set
crosswise prepare first.csv second.csv --quiet --out two
crosswise prepare first.csv - --quiet --out piped <second.csv
gzip -c log.csv | crosswise prepare - --quiet --out packed
for other in two piped packed; do diff -rq set $other -x dataset.json; done
crosswise prepare - --quiet --out nothing </dev/null || echo "exit code $?"
