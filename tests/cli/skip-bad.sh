# malformed lines are left out as far as that is allowed, and counted
{ make_log; echo broken; echo 'u1,i1,x,9'; } >log.csv
crosswise prepare log.csv --skip-bad 2 --quiet --out set
grep -c . set/train.csv
refused log.csv --skip-bad 1
