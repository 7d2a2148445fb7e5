# every instruction set of this CPU gives the same model; others are refused with those there are
crosswise simulate --users 200 --items 100 --relevant 0.5 --popularity 0.5 --quiet --out set
train() { crosswise train set --preset paper --dim 20 --batch 64 --epochs 2 --eval-every 1 --quiet "$@"; }
train --out default.safetensors
there=$(train --isa abacus 2>&1 | sed -n "s/.*'abacus'; on this machine it must be one of //p")
for isa in auto ref avx2 avx512 neon; do
    code=0
    train --isa $isa --out $isa.safetensors 2>message || code=$?
    if [[ "|$there|" == *"|$isa|"* ]]; then
        [ $code = 0 ] || cat message
        cmp default.safetensors $isa.safetensors
        [ $isa = auto ] || grep -q "\"isa\": \"$isa\"" $isa.run.json || echo "the record does not say $isa"
    else
        [ $code = 2 ] || echo "$isa: exit code $code"
        [ ! -e $isa.safetensors ] || echo "$isa: left behind"
    fi
done
[[ "$there" == auto\|ref* ]] || echo "there is only $there"
best=$(crosswise version | sed 's/.*(\(.*\))/\1/')
grep -q "\"isa\": \"$best\"" default.run.json || echo "the default is not $best"
for isa in abacus "" auto,ref; do
    train --isa "$isa" 2>&1 | sed 's/one of auto|ref.*/one of .../' || true
done
crosswise describe set --isa abacus 2>/dev/null || echo "exit code $?"
