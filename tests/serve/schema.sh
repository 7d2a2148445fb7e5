#!/bin/bash
# schema.sh - every route held to /openapi.json by schemathesis (pip install schemathesis), with two models of the corpus.
#   tests/serve/schema.sh [EXAMPLES]     per operation, 100 unless given
set -eu
cd "$(dirname "$0")/../.."
command -v schemathesis >/dev/null || { echo "schema.sh: there is no schemathesis; pip install schemathesis" >&2; exit 77; }
command=$PWD/${CROSSWISE:-build/gcc/crosswise}
work=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
printf 'admin %s\n' token-of-the-schema >"$work/tokens"
chmod 600 "$work/tokens"
cp fuzz/corpus/model/mf.safetensors fuzz/corpus/model/pop.safetensors "$work"
"$command" serve "$work/mf.safetensors" "$work/pop.safetensors" --listen 127.0.0.1:0 --run-as "$(id -un)" \
    --tokens "$work/tokens" --feedback "$work/log" >"$work/out" &
server=$!
for _ in $(seq 100); do [ -s "$work/out" ] && break; sleep 0.1; done
at=$(sed -n 's/^listening on //p' "$work/out")
schemathesis --config-file tests/serve/schemathesis.toml run "$at/openapi.json" \
    -H 'Authorization: Bearer token-of-the-schema' --max-examples "${1:-100}" --no-color
