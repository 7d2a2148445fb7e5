# compressed files that end too early or are damaged
make_log | gzip -n >log.csv.gz
head -c 700 log.csv.gz >cut.csv.gz
head -c 5 log.csv.gz >start.csv.gz
{ head -c 300 log.csv.gz; echo damage; tail -c +308 log.csv.gz; } >damaged.csv.gz
for file in cut.csv.gz start.csv.gz damaged.csv.gz; do refused $file; done
