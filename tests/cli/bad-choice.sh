# a wrong word lists the right ones
make_log >log.csv
for flag in split=rand format=json delimiter=slash header=maybe moveback=1 keep-duplicates=maybe; do
    refused log.csv --$flag
done
