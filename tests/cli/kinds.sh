# a file of another kind is named together with the command that makes text of it
command -v tar >/dev/null || { echo "there is no tar command"; exit 77; }
make_log >log.csv
cp log.csv 'a "log".csv'
tar -cf log.tar log.csv
refused log.tar
tar -xOf log.tar >out.csv # as it said
cmp log.csv out.csv
rm out.csv
tar -cf 'b "log"' log.csv # such a name has no place in a command
refused 'b "log"'
iconv -t UTF-16BE log.csv >wide.csv
refused wide.csv
awk -F, 'NR > 1 { printf "%s{\"user\": \"%s\"}\n", NR == 2 ? "[" : ",", $1 }' log.csv >log.json
refused log.json
# dates that could be two
printf 'user;item;date\n1;2;03/04/2024\n2;2;04/05/2024\n' >dates.csv
crosswise prepare dates.csv --core 1 --out set >/dev/null
refused dates.csv --columns user=1,item=2,time=3
