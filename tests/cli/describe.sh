# describing a dataset for people and for programs
make_log >log.csv
crosswise prepare log.csv --out set >shown
crosswise describe set | cmp - shown
cat shown
crosswise describe set --json
crosswise prepare log.csv --json --quiet --out other >other.json
crosswise describe set --json | cmp - other.json
