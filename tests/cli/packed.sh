# files packed with bzip2 and xz, and UTF-16, are read like plain ones
command -v bzip2 >/dev/null && command -v xz >/dev/null || { echo "there is no bzip2 or xz command"; exit 77; }
make_log >log.csv
crosswise prepare log.csv --quiet --out set
same() { crosswise prepare "$1" --quiet --force --out packed && diff -rq set packed -x dataset.json; }
bzip2 -k log.csv
same log.csv.bz2
xz -k log.csv
same log.csv.xz
head -c 3000 log.csv | bzip2 >two.bz2 # two streams in a file
tail -c +3001 log.csv | bzip2 >>two.bz2
same two.bz2
head -c 3000 log.csv | xz >two.xz
tail -c +3001 log.csv | xz >>two.xz
same two.xz
{ printf '\377\376'; iconv -t UTF-16LE log.csv; } | xz >wide.csv
same wide.csv
# damaged and cut ones are refused
for file in log.csv.bz2 log.csv.xz; do
    head -c 500 $file >cut.log
    refused cut.log
    { head -c 400 $file; printf 'damaged'; tail -c +408 $file; } >bad
    refused bad
done
