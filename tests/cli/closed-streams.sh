# closed standard streams do not get in the way of the files
make_log >log.csv
crosswise prepare log.csv --quiet --out set
crosswise prepare log.csv --out no-input <&- >/dev/null
crosswise prepare log.csv --out no-output >&- || echo "exit code $?"
crosswise prepare log.csv --out no-errors 2>&- >/dev/null
crosswise prepare log.csv --out nothing <&- >&- 2>&- || echo "exit code $?"
for other in no-input no-output no-errors nothing; do diff -r set $other; done
crosswise prepare - --out never <&- || echo "exit code $?"
