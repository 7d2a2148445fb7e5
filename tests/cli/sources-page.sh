# every example of docs/sources.md works, on a shop of its own
# shellcheck source=tests/postgres.sh
. "$TESTS/postgres.sh"
command -v sqlite3 >/dev/null || { echo "there is no sqlite3 command"; exit 77; }
server_start
make_log | sed 1d >log.csv
sqlite3 shop.db <<'SQL'
CREATE TABLE clicks (visitor, page, at INTEGER, bot INTEGER DEFAULT 0, item AS (page), user AS (visitor));
CREATE TABLE raw (visitor, page, rating, at INTEGER);
.mode csv
.import log.csv raw
INSERT INTO clicks (visitor, page, at) SELECT visitor, page, at FROM raw;
SQL
sql postgres <<<"CREATE DATABASE shop"
sql shop <<'SQL'
CREATE TABLE clicks (visitor text, page text, rating float8, "time" bigint, "user" text GENERATED ALWAYS AS (visitor) STORED,
    item text GENERATED ALWAYS AS (page) STORED, at timestamp DEFAULT '2024-02-01');
\copy clicks (visitor, page, rating, "time") FROM 'log.csv' WITH (FORMAT csv)
SQL
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$TESTS/../docs/sources.md" |
    sed "s|//\(ann@\)\{0,1\}db.example.org\(:5433\)\{0,1\}/shop?|//boss@/shop?host=$at_server\&|; s|sslmode=require&||
         s|^crosswise train .*[^\\\\]\$|& --epochs 1 --preset paper --dim 4|; s|^    --out .*|& --epochs 1 --preset paper --dim 4|" >page.sh
grep -c '^crosswise' page.sh
# between a model and its update something happens
awk '/^crosswise update/ { print "news" } { print }' page.sh >story.sh
news() {
    n=$((${n:-0} + 1))
    sqlite3 shop.db "INSERT INTO clicks (visitor, page, at) VALUES ('new$n', 'i1', 9999)"
    sql shop <<<"INSERT INTO clicks (visitor, page) VALUES ('new$n', 'i1')"
}
# shellcheck source=/dev/null
. ./story.sh >said 2>&1
grep -oE '[0-9,]+ (new rows|rows of [0-9]+ lists)' said
sqlite3 shop.db 'SELECT count(*) FROM lists'
sql shop <<<'SELECT count(*) FROM lists'
