# with little memory or without threads every command works, with fewer threads, or says what it
# lacks: none hangs or crashes
(ulimit -v 500000 && crosswise --version) >/dev/null 2>&1 || { echo "this build needs more address space than a limit leaves"; exit 77; }
crosswise simulate --users 100 --items 50 --relevant 0.5 --popularity 0.5 --quiet --out set
crosswise train set --preset paper --epochs 2 --quiet --out model.safetensors
cat >plan.json <<'END'
{"options": {"preset": "paper", "dim": 4, "epochs": 2, "eval-every": 1}, "tables": [{"methods": ["pop", "bpr"]}]}
END
crosswise experiment plan.json set --quiet --out lab

# limited LIMITS WORD...: the command must end well, or with one line about memory
limited() {
    local limits=$1 code=0
    shift
    (eval "$limits" && exec timeout -s KILL 60 "$CROSSWISE" "$@" --threads 16) >out 2>message || code=$?
    case $code in
    0) return ;;
    1) if grep -q '^crosswise: out of memory' message; then return; fi ;;
    esac
    echo "$limits; crosswise $*: exit code $code"
    tail -n 1 message
}

all() {
    limited "$1" describe set
    limited "$1" simulate --users 100 --items 50 --relevant 0.5 --popularity 0.5 --out new --force
    limited "$1" prepare set/train.csv --core 1 --out new --force
    limited "$1" skew set --theta 0.5 --force
    limited "$1" train set --epochs 1
    for backbone in lightgcn ngcf neumf; do limited "$1" train set --backbone $backbone --epochs 1; done
    limited "$1" train set --method mult-vae --epochs 1
    limited "$1" evaluate set model.safetensors
    limited "$1" recommend model.safetensors --all
    limited "$1" info model.safetensors
    limited "$1" export model.safetensors --out vectors --force
    rm -rf again && limited "$1" experiment plan.json set --out again --jobs 4
    limited "$1" report lab --out pages --force
}

if (ulimit -s 1000000) 2>/dev/null; then
    all "ulimit -s 1000000 && ulimit -v 800000" # no thread finds room for its stack
fi
all "ulimit -v 300000"
