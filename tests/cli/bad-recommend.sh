# what recommend refuses, one line each
cp "$(dirname "$0")/../../fuzz/corpus/model/mf.safetensors" m.safetensors
cp "$(dirname "$0")/../../fuzz/corpus/model/misfit.safetensors" misfit.safetensors
printf 'a\0b' >zero.txt
fails() { crosswise "$@" || echo "exit code $?"; }
fails recommend m.safetensors
fails recommend m.safetensors --user ann --all
fails recommend --user ann
fails recommend m.safetensors --user nobody
fails recommend m.safetensors --users missing.txt
fails recommend m.safetensors --users zero.txt
fails recommend m.safetensors --similar-items nothing
fails recommend m.safetensors --similar-users nobody
fails recommend m.safetensors --user "$(printf '%050d' 7)"
printf 'nothing\nneither\n' | fails recommend m.safetensors --history - --skip-unknown
: | fails recommend m.safetensors --history -
fails recommend m.safetensors --all --k 0
fails recommend m.safetensors --all --exclude missing.txt
fails recommend misfit.safetensors --all
fails recommend missing.safetensors --all
fails recommend "$(dirname "$0")/recommend.sh" --all 2>&1 | sed 's/.*recommend.sh: /recommend.sh: /'
