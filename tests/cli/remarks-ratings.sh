# which ratings a log has is said, and what a threshold would keep or has kept
told() {
    crosswise prepare "$@" --core 1 --force --out set >/dev/null 2>told || echo "exit code $?"
    echo "# $*"
    grep -E 'rating|malformed' told || echo nothing
}
# a log with these ratings, so many rows each: 5=10 4=2
rated() {
    echo "$@" | tr ' =' '\n ' |
        awk 'BEGIN { print "user,item,rating" }
             { for (k = 0; k < $2; k++) { printf "u%d,i%d,%s\n", n % 7, n / 7, $1; n++ } }'
}
make_log >stars.csv
told stars.csv
told stars.csv --min-rating 4
told stars.csv --columns user=1,item=2
rated 0=1 1=1 2=2 3=2 4=10 5=20 6=30 7=40 8=50 9=60 10=70 >ten.csv
told ten.csv
rated 0.5=10 1=10 1.5=10 2=10 2.5=10 3=10 3.5=10 4=10 4.5=10 5=10 >halves.csv
told halves.csv
rated -1=300 1=700 >thumbs.csv
told thumbs.csv
rated 1=250 2=40 3=6 5=3 >few-high.csv # a threshold would leave hardly any row
told few-high.csv
rated 1=500 2=20 3=5 4=4 9=1 12=1 700=1 >clicks.csv
told clicks.csv
{ echo user,item,weight; seq 1 3000 | awk '{ printf "u%d,i%d,%d\n", $1 % 50, $1 / 50, 1 + $1 * $1 % 99991 }'; } >plays.csv
told plays.csv
{ echo user,item,score; seq 1 3000 | LC_ALL=C awk '{ printf "u%d,i%d,%.3f\n", $1 % 50, $1 / 50, $1 / 300 }'; } >score.csv
told score.csv
rated 3=40 >same.csv
told same.csv
cut -d , -f 1,2 stars.csv >none.csv
told none.csv
# what is no number makes a line malformed, as always
rated 1=4 five=2 4=6 5=5 >words.csv
told words.csv
told words.csv --skip-bad 2
told words.csv --skip-bad 2 --min-rating 5
# several files are one log; line ends and compression make no difference
sed 's/$/\r/' stars.csv >windows.csv
told windows.csv
gzip -c stars.csv >packed.csv.gz
told packed.csv.gz
told few-high.csv ten.csv --keep-duplicates
# the record has the same
record() { tr -d ' \n' <set/dataset.json | grep -o '"ratings".*"options":{"format"'; }
crosswise prepare words.csv --skip-bad 2 --core 1 --force --quiet --out set
record
crosswise prepare plays.csv --core 1 --force --quiet --out set
record
crosswise prepare none.csv --core 1 --force --quiet --out set
record
