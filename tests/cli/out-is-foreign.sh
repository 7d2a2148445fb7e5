# a file that crosswise did not write is replaced only with --force, and never as a checkpoint
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
flags="set --dim 4 --epochs 1 --quiet"
try() { crosswise train $flags --preset paper "$@" || echo "exit code $?"; }
echo "a diary" >diary
echo '{"dependencies": {}}' >m.run.json
try --out diary
try --out m.safetensors
try --checkpoint diary
try --checkpoint diary --force
try --checkpoint diary --resume
try --out x.safetensors --checkpoint diary --force
cat diary m.run.json
ls | sort
try --out m.safetensors --force
grep -c '"best_epoch"' m.run.json | sed 's/[1-9][0-9]*/a record/'
cp m.safetensors diary
try --checkpoint diary # a model is no checkpoint
cmp diary m.safetensors
: >empty # nothing can be lost
try --out empty
crosswise info empty | head -n 1 | sed 's/  */ /g'
# an earlier model and its record are replaced, as ever
try --out m.safetensors --seed 2
cmp -s diary m.safetensors || echo "a new model"
