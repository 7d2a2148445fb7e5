# same seed, same bytes, whatever the number of threads; another seed differs
make_log >log.csv
for threads in 1 2 3; do
    crosswise prepare log.csv --threads $threads --quiet --out set$threads
    crosswise skew set$threads --threads $threads --quiet
    crosswise simulate --users 300 --items 200 --threads $threads --quiet --out sim$threads
done
for other in 2 3; do
    diff -r set1 set$other
    diff -r sim1 sim$other
done
crosswise prepare log.csv --seed 1 --quiet --out set4
crosswise simulate --users 300 --items 200 --seed 1 --quiet --out sim4
cmp -s set1/train.csv set4/train.csv || echo "another seed, another split"
cmp -s sim1/train.csv sim4/train.csv || echo "another seed, another simulation"
for threads in 1 3; do crosswise describe set1 --threads $threads --json >described$threads; done
cmp described1 described3
