# of a database only what is new is fetched: --since, --after-rowid, and what a dataset and a model remember
command -v sqlite3 >/dev/null || { echo "there is no sqlite3 command"; exit 77; }
make_log >log.csv
sqlite3 shop.db <<'SQL'
CREATE TABLE raw (user, item, rating, timestamp INTEGER);
CREATE TABLE log (user, item, rating REAL, timestamp INTEGER, at TEXT);
.mode csv
.import --skip 1 log.csv raw
SQL
sqlite3 shop.db "INSERT INTO log SELECT user, item, rating, timestamp, datetime(timestamp, 'unixepoch') FROM raw ORDER BY rowid LIMIT 200"
more() { sqlite3 shop.db "INSERT INTO log SELECT user, item, rating, timestamp, datetime(timestamp, 'unixepoch') FROM raw ORDER BY rowid LIMIT $2 OFFSET $1"; }
latest() { tr -d ' \n' <"$1" | grep -o '"latest":\[[^]]*\]' | sort -u; }
told() { grep -E 'remembered|rows? read|new rows|no rows|nothing new' "$@" || true; }
options='--epochs 2 --preset paper --dim 4 --quiet'
log='sqlite:shop.db?table=log&user=user&item=item'
# by a column, by the rowid, by a query; the dataset and the model remember
crosswise prepare "$log" --since timestamp=1500 --core 1 --quiet --out part
wc -l <part/train.csv
latest part/dataset.json
crosswise prepare "$log" --since at --core 1 --quiet --out all
latest all/dataset.json
crosswise prepare "$log" --after-rowid 0 --core 1 --quiet --out rows
latest rows/dataset.json
crosswise prepare 'sqlite:shop.db?query=SELECT user, item, rowid AS n FROM log' --since n=101 --core 1 --quiet --out query
wc -l <query/train.csv
latest query/dataset.json
# shellcheck disable=SC2086
crosswise train rows $options --out m.safetensors 2>/dev/null
latest m.run.json
crosswise update m.safetensors "$log" --out n.safetensors 2>said || echo "exit code $?"
told said
more 200 50
crosswise update m.safetensors "$log" --out n.safetensors 2>&1 >result | grep -E 'remembered|read'
grep -o '[0-9]* new rows' result
latest n.run.json
more 250 31
crosswise update n.safetensors "$log" --out o.safetensors 2>&1 >result | grep -E 'remembered|read'
grep -o '[0-9]* new rows' result
# rows that come late with the last value are not lost
# shellcheck disable=SC2086
crosswise train all $options --out a.safetensors 2>/dev/null
sqlite3 shop.db "INSERT INTO log SELECT 'late', item, rating, timestamp, (SELECT max(at) FROM log) FROM log LIMIT 3"
crosswise update a.safetensors "$log" --out b.safetensors 2>&1 >result | grep -E 'remembered|read'
grep -o '[0-9]* new rows, [0-9]* new users' result
latest b.run.json
# another table, or file, is read whole
crosswise update a.safetensors 'sqlite:shop.db?table=raw' --out c.safetensors 2>&1 >result | grep -E 'remembered|read'
latest c.run.json
# what makes no sense
refused log.csv --since timestamp=3
refused log.csv --after-rowid 3
refused "$log" --since '=3'
refused "$log" --since nothing=3
refused "$log" --since timestamp=3 --after-rowid 3
refused "$log" --since timestamp=99999999
refused "$log" --after-rowid 99999999
refused "$log" --since "at=a'; DROP TABLE log; --"
refused 'sqlite:shop.db?query=SELECT user, item FROM log' --after-rowid 3
sqlite3 shop.db 'SELECT count(*) FROM log'
