# an existing dataset is replaced only when asked, and then whole
make_log >log.csv
crosswise prepare log.csv --quiet --out set
listing set >before
: >set/note.txt
crosswise prepare log.csv --quiet --out set --seed 1 || echo "exit code $?"
rm set/note.txt
listing set | cmp - before
crosswise prepare log.csv --quiet --out set --seed 1 --force
listing set | cmp -s - before || echo "it was replaced"
find . -mindepth 1 -maxdepth 1 | sort
