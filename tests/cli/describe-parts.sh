# a folder with only some of the files
make_log >log.csv
crosswise prepare log.csv --quiet --out set
mkdir part
cp set/test.csv part
crosswise describe part
mv part/test.csv part/train.csv
gzip part/train.csv
crosswise describe part | head -n 6
rm part/train.csv.gz
for folder in part missing log.csv ''; do crosswise describe "$folder" || echo "exit code $?"; done
