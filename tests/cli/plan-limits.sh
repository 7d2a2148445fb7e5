# a plan that never ends is refused, and so is a folder that it could not name
{ printf '{"title": "' && tr '\0' 'a' </dev/zero; } 2>/dev/null | crosswise experiment /dev/stdin set --out lab || echo "exit code $?"
yes ' ' | crosswise experiment /dev/stdin set --out lab || echo "exit code $?"
name=$'set\xff'
crosswise simulate --users 100 --items 50 --relevant 0.5 --popularity 0.5 --quiet --out "$name"
crosswise experiment quick "$name" --out lab || echo "exit code $?"
find . -name 'lab*'
