# what is alike where scores are sums over the items that somebody had: what an item adds most to
make_log >log.csv
crosswise prepare log.csv --out data --quiet --core 1
for method in itemknn ease; do
    crosswise train data --method $method --out $method --quiet 2>/dev/null
    item=$(crosswise recommend $method --all --k 1 | sed -n 2p | cut -f 2)
    crosswise recommend $method --similar-items "$item" --k 5 | sed 1d | cut -f 2,3 >alike
    printf '%s\n' "$item" | crosswise recommend $method --history - --k 5 | sed 1d | cut -f 2,3 >followers
    cmp alike followers
    # nothing is like itself; what is left out of lists is left out here
    grep -c "^$item	" alike || true
    head -1 alike | cut -f 1 >banned
    crosswise recommend $method --similar-items "$item" --k 4 --exclude banned | sed 1d | cut -f 2,3 >rest
    sed 1d alike | cmp - rest
done
crosswise train data --method pop --out pop --quiet 2>/dev/null
crosswise recommend pop --similar-items "$item" || echo "exit code $?"
