# what a split came to is told: what the core filter dropped, what was chosen, how far the test reaches
say() { # a title, then options
    echo "# $1" >&2
    shift
    rm -rf set
    crosswise prepare "$@" --out set >/dev/null
}
steps() { sed -n '/"steps": {/,/}/p' set/dataset.json | tr -d ' \n' | sed 's/^"steps"://; s/}.*/}\n/'; }
make_log >log.csv
say "both chosen" log.csv --core 5
steps
say "chosen for a share" log.csv --holdout 0.1
say "half cannot be kept" log.csv --holdout 0.8 --moveback off
say "both given" log.csv --cap 1/8 --holdout 0.2
steps
say "no cap" log.csv --split random
steps
say "not asked" log.csv --quiet
# what is not as it seems is warned of, also in quiet
say "few items above 1/cap" log.csv --cap 1/60 --quiet
say "few items above the cap of the paper" log.csv --split compat --quiet
awk 'BEGIN { for (i = 0; i < 95; i++) print "u" i % 20 ",rare" i
             for (i = 0; i < 5; i++) for (u = 0; u < 100; u++) print "u" u ",hit" i }' >rare.csv
say "few items above 1/cap, which was chosen; many rows moved back; many items with nothing held out" rare.csv --core 1 --quiet
say "a larger core helps" rare.csv --core 3 --quiet
awk 'BEGIN { for (i = 0; i < 40; i++) for (u = 0; u < 5; u++) print "u" (i + u) % 30 ",i" i }' >even.csv
say "many items with nothing held out" even.csv --holdout 0.05 --quiet
say "many rows moved back" even.csv --holdout 0.9 --quiet
printf 'u1,i1\nu2,i2\n' >nothing.csv
say "valid and test are empty" nothing.csv --core 1 --quiet
say "test is empty" log.csv --test-share 0.001 --quiet
say "as wanted" log.csv --test-share 0
