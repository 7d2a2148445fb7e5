# with little address space the program starts, works and ends: no library starts threads of its own
if grep -qE '__(asan|tsan)_init' "$CROSSWISE"; then
    echo "sanitizers reserve more address space"
    exit 77
fi
little() { (ulimit -v 150000 && timeout 60 "$CROSSWISE" "$@"); }
little --version | sed 's/ .*//'
little simulate --users 100 --items 50 --relevant 0.4 --quiet --threads 2 --out set
little train set --method mult-vae --vae-sizes 8,16 --epochs 1 --quiet --threads 2 --out m.safetensors
find . -name "*.safetensors"
