# unknown flags get a suggestion, missing values are named
make_log >log.csv
refused log.csv --spilt random
refused log.csv --zzzzzzzz 3
refused log.csv -o here
refused log.csv --quiet=yes
for flag in --out --holdout --columns --threads --isa; do
    crosswise prepare log.csv $flag || echo "exit code $?"
done
