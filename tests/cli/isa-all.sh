# every method and backbone gives the same model file, byte for byte, on every instruction set of
# this CPU and on a CPU without fused steps as the C library sees it
crosswise simulate --users 120 --items 60 --relevant 0.4 --popularity 0.8 --seed 3 --quiet --out set
there=$(crosswise describe set --isa abacus 2>&1 | sed -n "s/.*must be one of auto|//p" | tr '|' ' ')
best=${there##* }
plain=glibc.cpu.hwcaps=-AVX_Usable,-AVX2_Usable,-FMA_Usable,-AVX,-AVX2,-FMA,-FMA4
train() { # options
    crosswise train set --preset paper --batch 128 --epochs 2 --eval-every 1 --threads 1 --quiet "$@" 2>message || cat message
}
count=0
same() { # options
    train --isa "$best" --out best.safetensors "$@"
    for isa in $there; do
        [ "$isa" = "$best" ] || train --isa "$isa" --out other.safetensors "$@"
        [ "$isa" = "$best" ] || cmp best.safetensors other.safetensors || echo "$isa: $*"
    done
    GLIBC_TUNABLES=$plain train --isa "$best" --out other.safetensors "$@"
    cmp best.safetensors other.safetensors || echo "without fused steps: $*"
    count=$((count + 1))
}
list() { crosswise methods | sed -n "/^$1:/,/^\$/s/^  \([a-z][a-z-]*\)  *.*/\1/p"; } # heading
for method in $(list Methods | grep -v vae); do same --method "$method" --dim 12; done
for backbone in $(list Backbones | grep -Ev '^(mf|vae|als|ease|itemknn|pop)$'); do
    for method in bpr cpr dice ubpr; do same --method $method --backbone "$backbone" --dim 12; done
done
same --method bpr --backbone neumf --dim 12 --hidden 17,9
same --method bpr --backbone ngcf --dim 20 --ngcf original --layers 1
same --method mult-vae --vae-sizes 9,21
for late in lazy deferred; do same --method cpr --optimizer adam-$late --dim 12; done
echo "$count models"
