#!/bin/sh
# counts.sh - tools/count-tests counts the cases of a unit test, other tests once, and says why
# something was skipped.
set -eu

got=$(mktemp)
trap 'rm -f "$got"' EXIT
cat >"$got" <<'XML'
<testsuite name="x" tests="4">
	<testcase name="unit.a" classname="unit.a" time="0.1" status="run">
		<system-out>[==========] Running 3 test(s).
[ RUN      ] one
[       OK ] one
[ RUN      ] two
no data &lt;here&gt;
[  SKIPPED ] two
[ RUN      ] three
[       OK ] three
[==========] 3 test(s) run.
[  PASSED  ] 2 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] two

 1 SKIPPED TEST(S)
</system-out>
	</testcase>
	<testcase name="unit.b" classname="unit.b" time="0.1" status="fail">
		<failure message=""/>
		<system-out>[ RUN      ] one
[  FAILED  ] one
[ RUN      ] two
[       OK ] two
[==========] 2 test(s) run.
[  PASSED  ] 1 test(s).
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] one
</system-out>
	</testcase>
	<testcase name="unit.c" classname="unit.c" time="0.1" status="fail">
		<failure message=""/>
		<system-out>[ RUN      ] crashes
</system-out>
	</testcase>
	<testcase name="cli.d" classname="cli.d" time="0.1" status="run">
		<system-out>passed: d (C)
</system-out>
	</testcase>
	<testcase name="cli.e" classname="cli.e" time="0.1" status="notrun">
		<skipped message="SKIP_RETURN_CODE=77"/>
		<system-out>skipped: no zstd here
</system-out>
	</testcase>
</testsuite>
XML
"$TOOLS/count-tests" "$got" | diff -u - /dev/fd/3 3<<'EXPECTED'
4 2 2
unit.a: two: no data <here>
cli.e: no zstd here
EXPECTED
