# an import that gets more rows than it may stops, however much is still to come
make_log >log.csv
crosswise prepare log.csv --max-rows 281 --quiet --out set
refused log.csv --max-rows 280
refused log.csv --max-rows 100 --min-rating 5
yes u1,i1 | refused - --max-rows 1000
yes u1,i1 | head -n 100000 | gzip -c >bomb.csv.gz
refused bomb.csv.gz --max-rows 1000
printf '1 2 3 4\n2 3 4 5\n' >lists.txt
refused lists.txt --format adjacency --max-rows 5
crosswise prepare log.csv --max-rows -1 --out new || echo "exit code $?"
