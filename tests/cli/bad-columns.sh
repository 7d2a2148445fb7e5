# columns that are not there or make no sense
make_log >log.csv
for columns in user=9,item=1 user=nobody,item=item nonsense user=1 user=1,user=2 user=0,item=1; do
    refused log.csv --columns $columns
done
