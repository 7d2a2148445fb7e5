# a training set is a file of the dataset folder; no plan and no option reaches outside of it
crosswise simulate --users 60 --items 40 --interactions 300 --relevant 0.5 --popularity 0.5 --core 1 --quiet --out set
cp set/train.csv secret.csv
mkdir set/inner
cp set/train.csv set/inner
for name in ../secret.csv inner/train.csv "$PWD/secret.csv" .. . ''; do
    echo "{\"tables\": [{\"methods\": [\"pop\"], \"train_sets\": [\"$name\"]}]}" >plan.json
    crosswise experiment plan.json set --out out --quiet || echo "exit code $?"
    crosswise train set --train-file "$name" --method pop --quiet 2>&1 | sed "s|$PWD|/HERE|"
    crosswise describe set --train-file "$name" --json 2>&1 | sed "s|$PWD|/HERE|"
done
ls
