# help of every command; no line ends in a blank or is longer than a screen
for command in prepare skew simulate describe; do
    crosswise help $command >text
    crosswise $command --help | cmp - text
    crosswise $command -h --out | cmp - text
    grep -n ' $' text || true
    awk 'length > 98' text
    cat text
done
crosswise help help | head -n 1
crosswise help prepar || echo "exit code $?"
