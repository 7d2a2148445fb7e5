# columns that are of no use are named
told() {
    crosswise prepare "$@" --core 1 --force --out set >/dev/null 2>told || echo "exit code $?"
    grep -E 'column|read' told
    tr -d ' \n' <set/dataset.json | grep -o '"columns_ignored":\[[^]]*\]'
}
printf 'title,user_id,movieId,stars,tags\na,1,2,3,x\nb,2,2,4,y\n' >named.csv
told named.csv
told named.csv --columns user=user_id,item=title
sed 's/$/\r/' named.csv >windows.csv
told windows.csv
gzip -c named.csv >packed.csv.gz
told packed.csv.gz
printf '1,2,5,2020-01-01,x,y\n2,2,4,2020-01-02,x,y\n' >bare.csv
told bare.csv
cut -d , -f 1-5 bare.csv >one.csv
told one.csv
told bare.csv --columns user=1,item=2
cut -d , -f 1-4 bare.csv >all.csv
told all.csv
{ echo ",user,item,$(seq -s , -f 'c%g' 1 20)"; echo "0,1,2,$(seq -s , 1 20)"; } >wide.csv
told wide.csv
{ seq -s , 1 300; seq -s , 1 300; } >wider.csv # more than are told apart
told wider.csv | sed 's/"8".*"253"/.../'
told named.csv bare.csv # each file has its own
# a column of that name whose values cannot be read
printf 'user,item,date\n1,2,31 Dec 2020\n2,2,\n3,3,30 Dec 2020\n' >date.csv
told date.csv
printf 'user,item,date\n1,2,\n2,2,\n' >blank.csv
told blank.csv
