#!/bin/sh
# skips.sh - the last lines of tools/check say what was skipped, why, and in which steps.
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/tools" "$scratch/bin"
cp "$TOOLS/check" "$TOOLS/count-tests" "$scratch/tools"

# Two builds with the same tests, one of them skipped, and a step that skips itself.
printf '#!/bin/sh\n' | tee "$scratch/bin/cmake" "$scratch/bin/pmccabe" >"$scratch/bin/git"
printf '#!/bin/sh\necho "no includes here"\nexit 77\n' >"$scratch/tools/check-layers"
cat >"$scratch/bin/ctest" <<'CTEST'
#!/bin/sh
while [ "$1" != --output-junit ]; do shift; done
cat >"$2" <<'XML'
<testcase name="cli.a" status="run">
</testcase>
<testcase name="cli.b" status="notrun">
<skipped message="SKIP_RETURN_CODE=77"/>
<system-out>skipped: no zstd here
</system-out>
</testcase>
XML
CTEST
chmod +x "$scratch"/bin/* "$scratch"/tools/*
PATH=$scratch/bin:$PATH "$scratch/tools/check" unit layers asan | sed 's/ \{1,\}[0-9]\{1,\}s  /  /' |
    diff -u - /dev/fd/3 3<<'EXPECTED'
ok      unit  all tests on the release build: 1 passed, 0 failed, 1 skipped
skipped layers  includes point one way: no includes here
ok      asan  all tests under the address and undefined-behaviour sanitizers: 1 passed, 0 failed, 1 skipped
took    all  steps together
skipped: cli.b: no zstd here (unit, asan)
skipped: all of it: no includes here (layers)
2 passed, 0 failed, 3 skipped
EXPECTED
