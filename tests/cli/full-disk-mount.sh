# a disk that is really full
mkdir disk
if ! mount -t tmpfs -o size=64k none disk 2>/dev/null; then
    echo "this user may not mount a small disk"
    exit 77
fi
trap 'umount disk' EXIT
crosswise simulate --users 2000 --items 1000 --quiet --out disk/set || echo "exit code $?"
find disk -mindepth 1
make_log >log.csv
crosswise prepare log.csv --quiet --out disk/set
head -c 65536 /dev/zero >disk/filler 2>/dev/null || true
crosswise skew disk/set --theta 1 || echo "exit code $?"
find disk | sort
