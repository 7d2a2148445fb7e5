# the reason stays readable however long the path is
make_log >log.csv
crosswise prepare log.csv --quiet --out "$(printf 'x/%.0s' {1..3000})set" 2>message || echo "exit code $?"
tail -c 40 message
