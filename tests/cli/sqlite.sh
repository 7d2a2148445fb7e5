# tables and queries of SQLite give the dataset that a csv file of the same rows gives
command -v sqlite3 >/dev/null || { echo "there is no sqlite3 command"; exit 77; }
make_log >log.csv
sqlite3 shop.db <<'SQL'
CREATE TABLE log (user TEXT, item TEXT, rating REAL, timestamp INTEGER);
.mode csv
.import --skip 1 log.csv log
CREATE INDEX other_order ON log (item, user, rating, timestamp);
CREATE VIEW seen AS SELECT * FROM log;
CREATE TABLE "a ""b.c" ("the user" INTEGER, "it,em" TEXT, stars, at TEXT);
INSERT INTO "a ""b.c" VALUES
  (9223372036854775807, 'x''; DROP TABLE log; --', 4.5, '2024-01-01 10:00:00'),
  (-9223372036854775808, 'é😀', NULL, '2024-01-02 10:00:00'),
  (NULL, 'y', 3, 3), (1, x'00ff', 3, 3), (1, '', 3, 3), (1, 'z', 'many', 3);
SQL
crosswise prepare log.csv --min-rating 3 --quiet --out set
from() { crosswise prepare "$1" --min-rating 3 --quiet --force --out got && diff -rq set got -x dataset.json; }
from 'sqlite:shop.db?table=log'
from 'sqlite:shop.db?table=main.log&user=user&item=item&rating=rating&time=timestamp'
from 'sqlite:shop.db?table=seen'
from 'sqlite:shop.db?query=SELECT rating, item, timestamp, user FROM log ORDER BY rowid;'
from 'sqlite:sho%70.db?query=SELECT user, item, rating, timestamp AS time FROM log WHERE user LIKE %27u%25%27 ORDER BY rowid'
# 64-bit and text ids, quotes, SQL in ids, NULL, blobs, wrong types
for skip in 0 1 2 3 4; do
    crosswise prepare 'sqlite:shop.db?table="a "b.c"&user=the user&item=it,em&rating=stars&time=at' --core 1 --skip-bad $skip \
        --out odd >/dev/null || true
done
cat odd/id2idx_*.csv
grep -c 'DROP TABLE' odd/id2idx_i.csv
tr -d ' \n' <odd/dataset.json | grep -o '"files":\[[^]]*\]'
crosswise train 'sqlite:shop.db?table=log' --epochs 1 --quiet --out m.safetensors
# what is wrong is said
for query in '' '?' '?table=' '?table=nothing' '?table=log&query=SELECT 1' '?table=log&table=log' '?tabel=log' '?query=' \
    '?query=SELECT' '?query=SELECT 1; SELECT 2' '?query=DELETE FROM log' '?query=PRAGMA journal_mode=wal' '?query=SELECT 1 AS a' \
    '?query=SELECT %zz' '?query=SELECT %00' '?table=log&user=who&item=item' '?table=log&user=user' \
    '?query=SELECT user, item FROM log WHERE 0' '?query=SELECT user, item, item AS rating FROM log'; do
    refused "sqlite:shop.db$query"
done
refused 'sqlite:?table=log'
refused 'sqlite:nowhere.db?table=log'
refused 'sqlite:log.csv?table=log'
refused shop.db
mkdir folder
refused 'sqlite:folder?table=log'
crosswise train 'sqlite:shop.db?table=log' --out shop.db --force || echo "exit code $?"
sqlite3 shop.db 'SELECT count(*) FROM log'
head -c 9000 shop.db >cut.db
refused 'sqlite:cut.db?table=log'
