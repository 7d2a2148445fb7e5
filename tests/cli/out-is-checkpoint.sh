# --checkpoint X --out X once removed the model after saying that it was written
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
mkdir a
flags="set --dim 4 --epochs 1 --quiet --force"
same() { crosswise train $flags --preset paper "$@" || echo "exit code $?"; }
same --out x --checkpoint x
same --out x --checkpoint ./x
same --out a/../x --checkpoint ".//x"
same --out m.safetensors --checkpoint m.run.json
same --out x.checkpoint --checkpoint x.checkpoint
ln -s . link
same --out x --checkpoint link/x
ls | sort
crosswise train $flags --preset paper --out m.safetensors
ln m.safetensors n.safetensors # a hard link is the same file
same --out m.safetensors --checkpoint n.safetensors
ls | sort
