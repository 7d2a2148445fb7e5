# lists go into files and tables, all of them or none
command -v sqlite3 >/dev/null || { echo "there is no sqlite3 command"; exit 77; }
make_log | sed 's/^u1,/"u ""1;,\t",/' >log.csv
crosswise train log.csv --epochs 2 --preset paper --dim 4 --quiet --out m.safetensors 2>/dev/null
give() { crosswise recommend m.safetensors --all --k 3 --to "$@" || echo "exit code $?"; }
crosswise recommend m.safetensors --all --k 3 --quiet | tail -n +2 | cut -f 2,3,4 >plain
give lists.csv
tail -n +2 lists.csv | tail -n 6 | cut -d , -f 2,4,5 | tr , '\t' | cmp - <(tail -n 6 plain) && head -n 1 lists.csv
grep -c '^"u ""1;,	",' lists.csv
give lists.jsonl --json
grep -c '^{"user":"u \\"1;,\\t","item":"i[0-9]*","rank":[123],"score":-\?[0-9.e-]*,"how":"[a-z-]*"}$' lists.jsonl
give 'sqlite:shop.db?table=lists'
sqlite3 shop.db .schema "SELECT item, score, how FROM lists ORDER BY rowid" -separator '	' |
    awk 'NR == 1; NR > 1 { n++ } END { print n }'
sqlite3 shop.db "SELECT count(*) FROM lists WHERE user = 'u \"1;,' || char(9)"
sqlite3 -separator , shop.db "SELECT user, item, rank, score, how FROM lists ORDER BY rowid" | md5sum >first
give 'sqlite:shop.db?table=a "b.c&user=who; --&item=what'
sqlite3 shop.db .tables
# nothing is replaced unasked, and then all of it or nothing
give lists.csv
give lists.jsonl
give 'sqlite:shop.db?table=LISTS'
sqlite3 shop.db 'CREATE TABLE other (x); CREATE INDEX by_user ON lists (user); CREATE VIEW top AS SELECT 1'
give 'sqlite:shop.db?table=lists' --force --quiet
sqlite3 -separator , shop.db "SELECT user, item, rank, score, how FROM lists ORDER BY rowid" | md5sum | cmp - first
sqlite3 shop.db "SELECT count(*) FROM sqlite_master WHERE name = 'by_user'"
give 'sqlite:shop.db?table=other' --force
give 'sqlite:shop.db?table=top' --force
sqlite3 shop.db "CREATE TRIGGER few BEFORE INSERT ON lists WHEN new.rank = 3 AND new.user = 'u30' BEGIN SELECT raise(ABORT, 'enough'); END"
give 'sqlite:shop.db?table=lists' --force
sqlite3 -separator , shop.db "SELECT user, item, rank, score, how FROM lists ORDER BY rowid" | md5sum | cmp - first
# where nothing can go
give lists.txt
give 'sqlite:shop.db'
give 'sqlite:shop.db?query=SELECT 1'
give 'sqlite:shop.db?table=x&rating=y'
give 'sqlite:nowhere/new.db?table=lists'
give 'sqlite:m.safetensors?table=lists' --force
give 'sqlite:log.csv?table=lists' --force
give nowhere/lists.csv
mkdir folder.csv
give folder.csv --force
crosswise recommend m.safetensors --all --force || echo "exit code $?"
crosswise recommend m.safetensors --user nobody --to 'sqlite:new.db?table=lists' || echo "exit code $?"
crosswise recommend m.safetensors --similar-items i1 --k 2 --to similar.csv
head -n 1 similar.csv
ls
