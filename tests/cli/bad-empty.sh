# an empty file, an empty compressed file, a header alone
: >empty.csv
gzip <empty.csv >empty.csv.gz
echo user,item >header.csv
printf '\n\n\n' >blank.csv
for file in empty.csv empty.csv.gz header.csv blank.csv /dev/null; do refused $file; done
