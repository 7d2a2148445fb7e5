# lists of ids are bounded, whatever is given for one: nothing is read without end
crosswise simulate --users 100 --items 50 --relevant 0.5 --popularity 0.5 --quiet --out set
crosswise train set --method pop --quiet --out pop.safetensors
bad() { crosswise recommend pop.safetensors "$@" >/dev/null || echo "exit code $?"; }
endless() { tr '\0' 'a' </dev/zero; }
for flag in --users --history; do
    bad $flag /dev/zero
    endless | bad $flag -
    bad $flag .
done
yes 1 | bad --users -
yes '' | bad --history -
bad --all --exclude /dev/zero
endless | bad --all --exclude -
yes nobody | bad --all --exclude -
