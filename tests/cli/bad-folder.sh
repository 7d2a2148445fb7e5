# a folder where a file belongs
mkdir folder
make_log >log.csv
refused folder
refused log.csv folder
refused --train folder --test log.csv
