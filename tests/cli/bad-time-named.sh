# a column that --columns calls the time must be one
for time in nan yesterday 2020-13-01 ''; do
    printf 'user,item,time\nu1,i1,5\nu2,i2,%s\nu2,i1,7\n' "$time" >log.csv
    refused log.csv --columns user=user,item=item,time=time
done
refused log.csv --columns user=1,item=2,time=3 --header yes
crosswise prepare log.csv --columns user=1,item=2,time=3 --skip-bad 1 --core 1 --quiet --out set >/dev/null
grep -E '"bad_(lines|times)"' set/dataset.json
