# training sets of another bias, written once unless forced
make_log >log.csv
crosswise prepare log.csv --quiet --out set
crosswise skew set --theta 0.5
crosswise skew set --theta -1/2 --json
crosswise skew set --theta 0.5 || echo "exit code $?"
cp set/train_0.5.csv before
crosswise skew set --theta 0.5 --force --quiet
cmp before set/train_0.5.csv
crosswise skew set --theta 0.5 --force --seed 1 --quiet
cmp -s before set/train_0.5.csv || echo "another seed, other rows"
find set -name 'train*' | sort
# a skewed set can be described and trained on in place of train.csv
crosswise describe set --train-file train_0.5.csv | sed -n '/^train /p'
crosswise train set --preset paper --train-file train_0.5.csv --dim 4 --batch 16 --epochs 1 --quiet --out m.safetensors
crosswise train set --preset paper --train-file train_9.csv --quiet || echo "exit code $?"
