# a folder of the Netflix prize: a file for each film
mkdir training_set
for film in 1 2 3 4; do
    { echo "$film:"; seq 100 $((108 + film)) | sed 's/$/,4,2005-09-06/'; } >training_set/mv_000000$film.txt
done
crosswise prepare training_set --out set
head -n 3 set/id2idx_u.csv set/id2idx_i.csv
