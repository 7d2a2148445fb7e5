# --out r.csv once overwrote the log it was trained on; no output replaces what is read
make_log >r.csv
cp r.csv before.csv
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
flags="--dim 4 --epochs 1 --quiet --force"
same() { crosswise train "$@" $flags || echo "exit code $?"; }
same r.csv --out r.csv
same r.csv --out ./r.csv
same r.csv --checkpoint r.csv
ln r.csv hard
same r.csv --out hard
same - --out r.csv <r.csv
cmp r.csv before.csv
listing set >before
rm set/valid.csv
mv set/test.csv kept.csv
for name in train.csv valid.csv train.csv.gz dataset.json id2idx_u.csv truth/truth.json truth/user_factors.npy; do
    same set --out set/$name
done
ln set/truth/truth.json truth.json
same set --out truth.json
cp set/train.csv set/mine.csv
same set --train-file mine.csv --out set/mine.csv
rm set/mine.csv
mkdir data
same data/../set --out set/valid.csv
echo "user,item" >given.csv
same set --method cause-prod --treatment given.csv --out given.csv
same set --method mf-ips --propensity given.csv --checkpoint given.csv
cat given.csv
cp kept.csv set/test.csv
listing set | diff before - | sed 's/[0-9a-f]\{32\}/HASH/'
# the same for folders that are made anew
same_folder() { crosswise prepare "$@" --quiet --force || echo "exit code $?"; }
crosswise prepare r.csv --quiet --out made
listing made >before
same_folder made --out made
same_folder made/train.csv --out made
same_folder made/train.csv --out data/../made
same_folder --train made/train.csv --test made/test.csv --out made
listing made | cmp - before
# a model may lie beside a dataset, as long as it is none of its files
crosswise train made --preset paper --method bpr --out made/model.safetensors $flags
ls made | sort
