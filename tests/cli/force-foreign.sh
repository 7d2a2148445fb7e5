# --force removes only what crosswise made: a note of the user's keeps the folder from going
make_log >log.csv
again() { crosswise "$@" --quiet --force || echo "exit code $?"; }
crosswise prepare log.csv --quiet --out set
crosswise skew set --theta 0.5 --quiet
echo "a diary" >set/notes.txt
again prepare log.csv --out set --seed 1
mkdir set/folder
mv set/notes.txt set/folder
again prepare log.csv --out set --seed 1
cat set/folder/notes.txt
rm -r set/folder
ln -s log.csv set/test_uniform.csv
again prepare log.csv --out set --seed 1
rm set/test_uniform.csv
again prepare log.csv --out set --seed 1
ls set | sort
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out sim
cp log.csv sim/truth
again simulate --users 300 --items 150 --out sim
cmp log.csv sim/truth/log.csv
# a dataset that somebody else made has no dataset.json
mkdir theirs
cp set/train.csv theirs
again prepare log.csv --out theirs
ls theirs | sort
crosswise train sim --preset paper --dim 4 --epochs 1 --quiet --out m.safetensors
crosswise export m.safetensors --out vectors --quiet
cp log.csv vectors/params
again export m.safetensors --out vectors
rm vectors/params/log.csv
again export m.safetensors --out vectors
ls vectors | sort
mkdir demo
echo "<h1>mine</h1>" >demo/demo.html
again demo --out demo
cat demo/demo.html
rm demo/demo.html
echo "mine" >demo/usual-bpr.safetensors
again demo --out demo
cat demo/*
