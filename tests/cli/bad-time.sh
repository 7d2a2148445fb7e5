# times that are neither numbers nor dates: what only looks like times is not used then
for time in nan yesterday 2020-13-01 ''; do
    printf 'user,item,time\nu1,i1,5\nu2,i2,%s\nu2,i1,7\n' "$time" >log.csv
    crosswise prepare log.csv --core 1 --quiet --force --out set >/dev/null
    grep '"bad_times"' set/dataset.json
done
rm -r set
refused log.csv --core 1 --split by-time
# lines that --skip-bad leaves out do no harm to the times of the others
make_log >log.csv
sed -i '5s/[0-9]*$/soon/; 9s/[0-9]*$/later/' log.csv
crosswise prepare log.csv --skip-bad 2 --split by-time --quiet --out timed >/dev/null
refused log.csv --skip-bad 1 --split by-time
crosswise prepare log.csv --skip-bad 1 --core 1 --quiet --out untimed >/dev/null
grep -E '"bad_(lines|times)"' timed/dataset.json untimed/dataset.json
# the same of lines that end as on Windows, compressed, and of other formats
sed 's/$/\r/' log.csv | gzip -c >log.csv.gz
crosswise prepare log.csv.gz --quiet --out packed >/dev/null
printf '1:\n7,3,2005-09-06\n8,4,2005-09-31\n' >mv_1.txt
crosswise prepare mv_1.txt --core 1 --quiet --out films >/dev/null
# a second file has no say once the times are given up
head -n 20 log.csv >second.csv
crosswise prepare log.csv second.csv --quiet --out both >/dev/null
