# slashes behind the folder do not matter; an empty folder may be filled
make_log >log.csv
crosswise prepare log.csv --quiet --out set//
mkdir empty
crosswise prepare log.csv --quiet --out empty/
diff -r set empty
find . -mindepth 1 -maxdepth 1 | sort
