# a killed run leaves no dataset, and the next run cleans up after it, but not after others
make_log >log.csv
crosswise prepare log.csv --quiet --out set
mkdir .new.partial-00000000000000{01,02} .other.partial-0000000000000003 .new.partial-12-0 .new.partial-x
for folder in .*.partial-*; do echo "user,item" >"$folder/train.csv"; done
echo "user,item" >set/.train_1.csv.partial-0000000000000004
ln -s set .new.partial-0000000000000005
mkfifo .new.partial-0000000000000006
exec 4<.new.partial-0000000000000002
flock 4 # somebody is at work there
crosswise prepare log.csv --quiet --out new
crosswise skew set --theta 1 --quiet
find . -name '*.partial-*' | sort
ls set | sort
exec 4<&-
crosswise prepare log.csv --quiet --out new --force
find . -name '*.partial-*' | sort
