# repeated interactions are dropped with a warning, or kept when asked
{ make_log; make_log | tail -n 3; } >log.csv
crosswise prepare log.csv --quiet --out set
crosswise prepare log.csv --keep-duplicates --quiet --out all
tail -q -n +2 set/*t*.csv set/valid.csv | wc -l | tr -d ' '
crosswise describe all --json | grep -o '"interactions": [0-9]*'
