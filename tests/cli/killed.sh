# a killed run leaves no dataset, and the next run cleans up
make_log >log.csv
crosswise prepare log.csv --quiet --out set
sleep 0 &
gone=$!
wait $gone
mkdir ".new.partial-$gone-0" ".other.partial-$gone-0" ".new.partial-$$-0" ".new.partial-x"
: >".new.partial-$gone-0/train.csv"
: >"set/.train_1.csv.partial-$gone-0"
crosswise prepare log.csv --quiet --out new
crosswise skew set --theta 1 --quiet
find . -name '*.partial-*' | sed "s/$gone/GONE/; s/$$/ALIVE/" | sort
