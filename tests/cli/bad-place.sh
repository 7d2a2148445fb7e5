# places where no dataset can be made
make_log >log.csv
: >file
mkdir -p full
: >full/precious
ln -s full link
long=$(printf 'x%.0s' {1..300})
for out in file file/set no/such/set / . .. full/.. link "" "$long"; do
    crosswise prepare log.csv --quiet --force --out "$out" || echo "exit code $?"
done
crosswise prepare log.csv --quiet --out full || echo "exit code $?"
crosswise prepare log.csv --quiet --out full --force || echo "exit code $?"
find . | sort
