# rules for lists, for single users too, histories one a line, fallbacks and reasons
cp "$(dirname "$0")/../../fuzz/corpus/model/mf.safetensors" m.safetensors
fails() { crosswise "$@" || echo "exit code $?"; }
printf 'i1\ni2\nnothing\n' >only.txt
printf 'i5\t10\ni1\t-0.5\n' >boost.txt
printf 'ann\ti1\nbob\ti0\nbob\ti1\nnobody\ti1\n' >pairs.txt
printf 'x\ti2\ti3\ti2\ny\ti0\t\nz\tnothing\n' >histories.txt
crosswise recommend m.safetensors --all --only only.txt
crosswise recommend m.safetensors --all --boost boost.txt --k 2
crosswise recommend m.safetensors --all --diversity 0.7 --k 3
crosswise recommend m.safetensors --all --exclude-pairs pairs.txt --k 2
crosswise recommend m.safetensors --user ann --user nobody --k 2 --fallback --json
crosswise recommend m.safetensors --histories histories.txt --k 2 --fallback --explain 1
crosswise recommend m.safetensors --histories histories.txt --k 1 --fallback --explain 2 --json
crosswise recommend m.safetensors --user bob --k 2 --explain 5
fails recommend m.safetensors --histories histories.txt
fails recommend m.safetensors --histories histories.txt --skip-unknown
printf 'i5 1\n' >spaces.txt
fails recommend m.safetensors --all --boost spaces.txt
printf 'i5\t1\ni1\tmuch\n' >words.txt
fails recommend m.safetensors --all --boost words.txt
fails recommend m.safetensors --all --exclude-pairs spaces.txt
fails recommend m.safetensors --all --only missing.txt
fails recommend m.safetensors --all --diversity 2
fails recommend m.safetensors --all --explain 0
fails recommend m.safetensors --similar-items i1 --fallback
fails recommend m.safetensors --history only.txt --exclude-pairs pairs.txt
fails recommend m.safetensors --user ann --fallback --skip-unknown
