# on a terminal, ids and titles come without what would steer it
script -qec true /dev/null </dev/null >/dev/null 2>&1 || { echo "there is no terminal here"; exit 77; }
esc=$'\e[2J'
id=$'\xc2\x9b2J\x9b\xc3\xbc' # a control, a byte that is no letter, and a letter
make_log | LC_ALL=C sed "s/,i1,/,$id,/" >log.csv
crosswise prepare log.csv --quiet --out set
crosswise train set --method pop --quiet --out pop.safetensors
mv set "se$esc"
on_terminal() { script -qec "\"\$CROSSWISE\" $1" typescript </dev/null >/dev/null || true; sed '1d;$d' typescript; }
on_terminal 'recommend pop.safetensors --user u1 --k 50 --exclude none' | LC_ALL=C sed -n 's/.*\t\([^\t]*2J[^\t]*\)\t.*/\1/p' | od -An -c
on_terminal "describe \"se$esc\"" | tr '\r' '\n' | sed -n 's/.*\(se.*2J\)/\1/p' | od -An -c
mkfifo pipe
{ seq -f 'u%g,i1' 1 100000; sleep 1; } >pipe &
on_terminal 'prepare pipe --out new' | tr '\r' '\n' | grep -ao 'reading pipe \.\.\. [0-9.]* MB' | tail -n 1
