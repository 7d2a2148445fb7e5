# lists for users, histories and items, from a small model with odd ids
cp "$(dirname "$0")/../../fuzz/corpus/model/mf.safetensors" m.safetensors
crosswise recommend m.safetensors --user ann --user=bob --k 2
crosswise recommend m.safetensors --all --k 3 --exclude none --popularity -0.5
crosswise recommend m.safetensors --all --k 3 --json
printf '\357\273\277bob\r\n\nnobody\nann' >users.txt
crosswise recommend m.safetensors --users users.txt --k 1 --skip-unknown
printf 'i2\ni3\n' | crosswise recommend m.safetensors --history - --k 2
crosswise recommend m.safetensors --similar-items i2 --k 2
crosswise recommend m.safetensors --similar-items i2 --k 1 --json
crosswise recommend m.safetensors --similar-items i2 --similar-items i3 --k 1
crosswise recommend m.safetensors --similar-users ann --k 2
crosswise recommend m.safetensors --similar-users ann --similar-users dee --k 99 --json
printf 'i2\nnothing\n' | crosswise recommend m.safetensors --history - --k 1 --skip-unknown
printf 'i1\ni2\n' >out.txt
crosswise recommend m.safetensors --user ann --exclude out.txt
: >none.txt
crosswise recommend m.safetensors --users none.txt
