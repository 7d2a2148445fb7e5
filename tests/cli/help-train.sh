# help of train: the common options, and those of a method and a backbone where they are named
options() { crosswise "$@" | sed -n '/^Options of train/,/^Options of import/p' | sed '1d;$d'; }
names() { grep -oE '^  --[a-z-]+'; }
options help train >common
names <common | wc -l
tail -n 3 common
options train --help | cmp - common
options help train --method dice >dice
diff <(names <common) <(names <dice) || true
grep -A 1 -E -- '--(neg|dis) ' dice
options help train --method=bpr --backbone neumf >neumf
diff <(names <common) <(names <neumf) || true
options train --backbone neumf --method bpr --help | cmp - neumf
diff <(names <common) <(options help train --method mult-vae | names) || true
crosswise help train | awk 'length > 98'
crosswise help train --method magic || echo "exit code $?"
crosswise help train --backbone lightning || echo "exit code $?"
