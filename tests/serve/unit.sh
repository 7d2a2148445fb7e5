#!/bin/sh
# unit.sh - systemd understands contrib/crosswise.service, and finds it as closed as documented.
#   tests/serve/unit.sh COMMAND     the built command, in the place of the installed one
set -eu
command -v systemd-analyze >/dev/null || { echo "there is no systemd-analyze (Debian: systemd)"; exit 77; }
here=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed "s|/usr/local/bin/crosswise|$1|" "$here/contrib/crosswise.service" >"$scratch/crosswise.service"
grep -q "ExecStart=$1 serve" "$scratch/crosswise.service"
if systemd-analyze verify --man=no "$scratch/crosswise.service" >"$scratch/said" 2>&1 && [ ! -s "$scratch/said" ]; then :; else
    cat "$scratch/said"
    exit 1
fi
most=15 # tenths of what systemd calls exposure, 0 to 10
systemd-analyze security --no-pager --offline=yes --threshold=$most "$scratch/crosswise.service" >"$scratch/said" 2>&1 || {
    cat "$scratch/said"
    exit 1
}
tail -n 1 "$scratch/said"
