# tables and queries of PostgreSQL give the dataset that a csv file of the same rows gives
# shellcheck source=tests/postgres.sh
. "$TESTS/postgres.sh"
server_start
make_log >log.csv
sql postgres <<'SQL'
CREATE ROLE shop LOGIN PASSWORD 'open sesame';
CREATE ROLE guest LOGIN PASSWORD 'open sesame';
CREATE DATABASE shop;
SQL
sql shop <<SQL
CREATE TABLE log ("user" text, item text, rating double precision, "timestamp" bigint);
\copy log FROM 'log.csv' WITH (FORMAT csv, HEADER)
CREATE VIEW seen AS SELECT * FROM log;
CREATE SCHEMA other;
CREATE TABLE other."a ""b.c" ("the user" bigint, "it,em" text, stars numeric, at timestamptz);
INSERT INTO other."a ""b.c" VALUES
  (9223372036854775807, 'x''; DROP TABLE log; --', 4.5, '2024-01-01 10:00:00+02'),
  (-9223372036854775808, E'é😀\t\\\\N\n\\\\', NULL, '2024-01-02 10:00:00Z'),
  (NULL, 'y', 3, now()), (1, NULL, 3, now()), (1, '', 3, now()), (1, 'z', 'NaN', 'infinity');
CREATE TABLE types (u int, i bytea, b bool, d date, t text);
INSERT INTO types VALUES (1, '\\x00', true, '2024-01-31', 'x');
GRANT SELECT ON log, seen, types TO shop;
GRANT USAGE ON SCHEMA other TO shop;
GRANT SELECT ON other."a ""b.c" TO shop;
SQL
echo "*:*:shop:shop:open sesame" >.pgpass
chmod 600 .pgpass
export PGPASSFILE=$PWD/.pgpass
url="postgresql://shop@/shop?host=$at_server"
crosswise prepare log.csv --min-rating 3 --quiet --out set
from() { crosswise prepare "$url&$1" --min-rating 3 --quiet --force --out got && diff -rq set got -x dataset.json; }
from 'table=log'
from 'table=public.log&user=user&item=item&rating=rating&time=timestamp'
from 'table=seen'
from 'query=SELECT rating, item, to_timestamp("timestamp") AS time, "user" FROM log;'
from 'query=SELECT "user", item, rating::text, "timestamp" FROM log WHERE item LIKE %27i%25%27 -- all of them'
# 64-bit and text ids, quotes, SQL in ids, NULL, times that are none
odd="$url&query=SELECT \"the user\" AS \"user\", \"it,em\" AS item, stars AS rating, at AS time FROM other.\"a \"\"b.c\""
for skip in 0 1 2 3; do
    crosswise prepare "$odd" --core 1 --skip-bad $skip --out odd >/dev/null || true
done
cat odd/id2idx_*.csv
tr -d ' \n' <odd/dataset.json | grep -o '"files":\[[^]]*\]'
crosswise train "$url&table=log" --epochs 1 --quiet --out m.safetensors
# only what is new, by a number, a time, a text
sql shop <<<"CREATE TABLE news AS SELECT \"user\", item, \"timestamp\" AS n, to_timestamp(\"timestamp\") AS at FROM log; GRANT SELECT ON news TO shop"
for since in n=1500 'at=1970-01-01 00:30:00+00' user=u3 at; do
    crosswise prepare "$url&table=news&user=user&item=item" --since "$since" --core 1 --force --quiet --out part
    wc -l <part/train.csv
    tr -d ' \n' <part/dataset.json | grep -o '"latest":\[[^]]*\]'
done
crosswise train part --epochs 1 --preset paper --dim 4 --quiet --out part.safetensors 2>/dev/null
sql shop <<<"INSERT INTO news SELECT 'new', item, n, at + interval '1 day' FROM news WHERE n > 2000"
crosswise update part.safetensors "$url&table=news&user=user&item=item" --out more.safetensors 2>&1 | grep -E 'remembered|rows read|new rows'
crosswise prepare "$url&query=SELECT \"user\", item, n FROM news" --since n=2000 --core 1 --force --quiet --out part
tr -d ' \n' <part/dataset.json | grep -o '"latest":\[[^]]*\]'
# what is wrong is said
no() { refused "$@" 2>&1 | sed "s|$server|SERVER|; s/position [0-9]*/position N/"; }
for rest in '' '&table=nothing' '&table=log&query=SELECT 1' '&query=' '&query=SELECT' '&query=SELECT 1; SELECT 2' \
    '&query=DELETE FROM log' '&query=SELECT 1) TO STDOUT; DROP TABLE log; --' '&query=DELETE FROM log RETURNING "user", item' \
    '&query=SELECT 1 AS a' '&query=SELECT $1' '&table=log&user=who&item=item' '&table=log&user=user' \
    '&query=SELECT "user", item FROM log WHERE false' '&query=SELECT "user", item, item AS rating FROM log' \
    '&table=types&user=u&item=i' '&table=types&user=u&item=t&rating=b' '&table=types&user=u&item=t&rating=d' \
    '&table=types&user=u&item=t&time=b' '&query=SELECT 1 AS user, 1/(3-g) AS item FROM generate_series(1, 9) g'; do
    no "$url$rest"
done
no "$url&table=log" --since 'timestamp=yesterday'
no "$url&table=log" --since "timestamp='; DROP TABLE log; --"
no "$url&table=log" --since timestamp=99999999
no "$url&table=log" --after-rowid 3
no "postgresql://boss@/nowhere?host=$at_server&table=log"
no "postgresql://shop@/shop?host=$at_server&hst=x&table=log"
no "postgresql://guest@/shop?host=$at_server&table=log"        # no password
PGPASSWORD='wrong' no "postgresql://guest@/shop?host=$at_server&table=log"
PGPASSWORD='open sesame' no "postgresql://guest@/shop?host=$at_server&table=log" # no permission
no "postgresql://guest@/shop?host=%2Fnowhere&table=log"
# a password in an address is refused, and nowhere to be seen
for address in "postgresql://shop:secret@/shop?host=$at_server&table=log" "postgresql://shop:sec/ret@/shop?table=log" \
    "postgresql://shop:secret?x@host/shop?table=log" "postgresql://shop@/shop?password=secret&table=log" \
    "postgresql://shop@/shop?p%61ssword=secret&host=$at_server&table=log" "postgres://:secret@/shop?table=log"; do
    no "$address" | tee -a said
    crosswise train "$address" --out n.safetensors 2>&1 | tee -a said | grep -v password || true
done
grep -E 'secret|ret@' said || echo "no password is seen"
grep -rlE 'sesame|secret' set got odd m.* || echo "nor in a file"
