# debiased interactions from a file: what it may hold, and what it may not
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
try() { crosswise train set --preset paper --method cause --dim 4 --epochs 2 --quiet --out m.safetensors "$@" || echo "exit code $?"; }
user=$(sed -n 2p set/id2idx_u.csv | cut -d, -f1) item=$(sed -n 2p set/id2idx_i.csv | cut -d, -f1)
pair=$user,$item
file() { printf '%s\n' "$@" >t.csv; }
echo "not there"
try --treatment nowhere.csv
echo "empty, without rows, without a header"
: >t.csv
try --treatment t.csv
file user,item
try --treatment t.csv
file "$pair"
try --treatment t.csv
echo "unknown ids, a line that is none, a quote left open"
file user,item "$pair" "nobody,$item"
try --treatment t.csv
file user,item "$pair" "$pair" "$user,nothing"
try --treatment t.csv
file user,item "$pair" "" "$user"
try --treatment t.csv
file user,item "$user,\"$item"
try --treatment t.csv
echo "other methods"
crosswise train set --preset paper --method bpr --treatment t.csv --quiet || echo "exit code $?"
echo "options out of bounds"
try --treatment-cap 0
try --neg 0
try --cause-score both
try --backbone lightgcn
ls
echo "columns beyond the second and compressed files are fine"
printf 'user,item,time\n%s,7\n' "$pair" | gzip >t.csv.gz
try --treatment t.csv.gz && ls m.safetensors
