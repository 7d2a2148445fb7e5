# --out and --checkpoint replace neither a device nor a FIFO, a socket, a link or a folder
crosswise simulate --users 300 --items 150 --relevant 0.5 --popularity 0.5 --quiet --out set
flags="set --dim 4 --epochs 1 --quiet --force"
mkfifo fifo
mkdir folder
: >victim
ln -s victim link
for place in fifo folder link; do
    crosswise train $flags --preset paper --out $place || echo "exit code $?"
    crosswise train $flags --preset paper --checkpoint $place || echo "exit code $?"
    crosswise train $flags --preset paper --checkpoint $place --resume || echo "exit code $?"
    mv $place m.run.json
    crosswise train $flags --preset paper --out m.safetensors || echo "exit code $?"
    mv m.run.json $place
done
# only root can make a device, one like /dev/null
if mknod device c 1 3 2>/dev/null; then
    crosswise train $flags --preset paper --out device 2>message && echo "a device was replaced"
    grep -q 'cannot create device: it is a device' message || cat message
    [ -c device ] || echo "the device is gone"
    rm device message
fi
[ -p fifo ] && [ -L link ] && [ ! -s victim ] && rmdir folder && ls | sort
