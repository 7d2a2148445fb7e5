# propensities of items from a file: what is taken, and what is refused with file and line
make_log >log.csv
crosswise prepare log.csv --quiet --out set
{
    echo item,propensity
    tail -n +2 set/id2idx_i.csv | LC_ALL=C awk -F, '{ printf "%s,%.3f\n", $1, 1 / (1 + $2) }'
} >good.csv
gzip -k good.csv
try() { crosswise train set --preset paper --dim 4 --epochs 2 --eval-every 0 --batch 64 --quiet "$@" || echo "exit code $?"; }
for method in ubpr rel-mf; do
    try --method $method --propensity good.csv --out one.safetensors
    try --method $method --propensity good.csv.gz --out two.safetensors
    try --method $method --out other.safetensors
    crosswise export one.safetensors --out one --quiet
    crosswise export two.safetensors --out two --quiet
    crosswise export other.safetensors --out other --quiet
    cmp one/item_vectors.npy two/item_vectors.npy
    cmp -s one/item_vectors.npy other/item_vectors.npy && echo "the file made no difference"
    grep -o '"propensities": "[0-9a-f]*"' one.run.json | wc -c
    grep -c '"propensities"' other.run.json || true
    rm -r one two other
done
refuse() { # what replaces line 4
    sed "4s/.*/$1/" good.csv >bad.csv
    try --method ubpr --propensity bad.csv
}
refuse 'i99,0.5'
refuse ',0.5'
refuse 'i0,0.5'
refuse 'i2,0'
refuse 'i2,1.5'
refuse 'i2,nan'
refuse 'i2,0.5x'
refuse 'i2'
refuse 'i2,"0.5'
refuse ''
tail -n +2 good.csv >bad.csv
try --method ubpr --propensity bad.csv
: >bad.csv
try --method ubpr --propensity bad.csv
try --method ubpr --propensity nowhere.csv
try --method rel-mf --propensity-min 0
try --method ubpr --clip 1
ls
