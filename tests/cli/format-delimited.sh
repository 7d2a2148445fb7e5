# delimited text: every delimiter, with and without a header, columns by name and number
make_log >log.csv
crosswise prepare log.csv --quiet --out set
tr , '\t' <log.csv >log.tsv
tr , ';' <log.csv >semicolon.txt
sed 's/,/::/g' log.csv | tail -n +2 >colons.dat
tr , ' ' <log.csv | tail -n +2 >blank.txt
sed 's/$/\r/' log.csv >windows.csv
{ printf '\357\273\277'; cat log.csv; echo; echo; } >mark.csv
sed 's/\([^,]*\)/"\1"/g' log.csv >quoted.csv
awk -F , '{ print "x," $4 "," $2 "," $3 "," $1 }' log.csv | sed '1s/.*/a,b,c,d,e/' >columns.csv
for file in log.tsv semicolon.txt colons.dat blank.txt windows.csv mark.csv quoted.csv; do
    crosswise prepare $file --quiet --out other
    diff -rq set other -x dataset.json
    rm -r other
done
for columns in user=5,item=3,rating=4,time=2 user=e,item=c,rating=d,time=b user=e,item=c; do
    crosswise prepare columns.csv --columns $columns --quiet --out other
    diff -rq set other -x dataset.json
    rm -r other
done
# what was taken for what is said, unless that is not wanted
crosswise prepare columns.csv --columns user=e,item=c --out other >/dev/null
