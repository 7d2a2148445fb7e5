# files that cannot be opened
ln -s loop loop
ln -s nowhere dangling
for file in missing.csv loop dangling "" no/such/folder.csv; do refused "$file"; done
