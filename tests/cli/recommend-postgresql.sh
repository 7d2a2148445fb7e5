# lists go into a table of PostgreSQL in one transaction
# shellcheck source=tests/postgres.sh
. "$TESTS/postgres.sh"
server_start
make_log | sed 's/^u1,/"u \\N""1;,\t\\",/' >log.csv
crosswise train log.csv --epochs 2 --preset paper --dim 4 --quiet --out m.safetensors 2>/dev/null
crosswise recommend m.safetensors --all --k 3 --quiet --to lists.csv
sql postgres <<<"CREATE ROLE guest LOGIN PASSWORD 'open sesame'; CREATE SCHEMA shop"
url="postgresql://boss@/postgres?host=$at_server"
give() { crosswise recommend m.safetensors --all --k 3 --to "$@" 2>&1 | sed "s|$server|SERVER|"; }
same() { sql postgres <<<"\copy (SELECT * FROM shop.lists) TO 'got.csv' WITH (FORMAT csv, HEADER)" && cmp got.csv want.csv && echo same; }
give "$url&table=shop.lists"
sql postgres <<<"\copy (SELECT * FROM shop.lists) TO 'want.csv' WITH (FORMAT csv, HEADER)"
tr -d '"' <lists.csv | cmp - <(tr -d '"' <want.csv) && head -n 1 want.csv
give "$url&table=shop.lists"
sql postgres <<<"CREATE VIEW shop.top AS SELECT * FROM shop.lists WHERE rank = 1; GRANT SELECT, INSERT ON shop.lists TO guest"
give "$url&table=shop.lists" --force
same
# all or nothing: a row that is refused, a table of another form, no permission, a server that goes away
sql postgres <<<"ALTER TABLE shop.lists ADD CONSTRAINT few CHECK (rank < 3) NOT VALID"
give "$url&table=shop.lists" --force
sql postgres <<<"ALTER TABLE shop.lists DROP CONSTRAINT few; CREATE TABLE other (x int)"
same
give "$url&table=other" --force
give "$url&table=nowhere.lists"
export PGPASSWORD='open sesame'
give "postgresql://guest@/postgres?host=$at_server&table=shop.lists" --force
unset PGPASSWORD
sql postgres <<'SQL'
CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN IF new.rank = 3 AND new."user" = 'u30' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN new; END $$;
CREATE TRIGGER leave BEFORE INSERT ON shop.lists FOR EACH ROW EXECUTE FUNCTION leave();
SQL
give "$url&table=shop.lists" --force | sed 's/: \(FATAL\|server closed\|no connection\|the connection\|could not\).*/: the connection is gone/'
same
sql postgres <<<"DROP TRIGGER leave ON shop.lists"
"$CROSSWISE" recommend m.safetensors --all --k 3 --to "$url&table=shop.lists&user=a b&item=c" --force 2>&1 | cut -c 1-80
server_stop immediate
give "$url&table=shop.lists" --force
server_again
same
