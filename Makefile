# Makefile - short names for what CMake does; the build is described in CMakeLists.txt alone.
# `make help` lists the targets.  Works on a bare Debian 12 with git, make and root.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
MAKEFLAGS += --no-print-directory

# $(call build,PRESET[,TARGET])
build = cmake --preset $(1) >build/$(1).configure.log 2>&1 || { cat build/$(1).configure.log; exit 1; }; \
        cmake --build build/$(1) -j $(JOBS) $(if $(2),--target $(2))

.PHONY: all
all: release ## build the command and the library (the default)
	@echo "built build/release/crosswise; try 'make demo', or 'build/release/crosswise help'"

.PHONY: release
release: deps-build
	@$(call build,release)
	@sed -n 's/^-- \(.*engine is left out.*\)/\1/p' build/release.configure.log

.PHONY: demo
demo: deps-demo ## the whole story on simulated data, in about a minute; leaves build/demo/demo.html
	@$(call build,release,crosswise)
	@build/release/crosswise demo --out build/demo --force

.PHONY: check
check: deps-check ## every check and test; ends with a line of counts
	@tools/check

.PHONY: bench
bench: release ## run all benchmarks, in minutes; leaves build/bench.json (docs/performance.md)
	@bench/run.sh
	@[ ! -x build/peers/bin/python ] || bench/peers/run.sh

.PHONY: bench-peers
bench-peers: release ## install PyTorch and implicit into build/peers and compare with them
	@bench/peers/run.sh

.PHONY: bench-record
bench-record: release ## the same, and add the figures to bench/results.csv
	@bench/run.sh --record

.PHONY: quality
quality: deps-build ## make the metrics of tests/quality anew and compare them, in about five minutes
	@$(call build,release,quality)
	@build/release/tools/quality

.PHONY: quality-record
quality-record: deps-build ## the same, and write the table anew
	@$(call build,release,quality)
	@build/release/tools/quality --update

.PHONY: fuzz
fuzz: deps-check ## run each fuzzer for FUZZ_SECONDS (60)
	@$(call build,fuzz)
	@tools/fuzz build/fuzz/fuzz $(FUZZ_SECONDS)

.PHONY: wheel
wheel: deps-python ## the Python package: build/wheels/crosswise-*.whl, and its sources
	@tools/wheel --sdist

.PHONY: check-python
check-python: deps-python ## the Python package as a wheel: types, style, doctests, tests
	@tools/check-python

.PHONY: check-gpu
check-gpu: deps-check ## the tests of the CUDA engine on this machine's GPU, also under compute-sanitizer
	@$(call build,gcc)
	@tools/check-gpu build/gcc

.PHONY: torture
torture: deps-check ## disturb every command at every place, in about half an hour; AREA=kills for a part
	@$(call build,gcc)
	@code=0; build/gcc/tests/torture/torture build/gcc/tests/torture/crosswise build/gcc/tests/torture/torture_preload.so \
	    $(AREA) || code=1; \
	[ -n "$(AREA)" ] || CROSSWISE=build/gcc/crosswise CROSSWISE_TORTURE=1 POSITIONS=60 \
	    bash -eu tests/cli/corrupt.sh || code=1; \
	[ -n "$(AREA)" ] || CROSSWISE=$(CURDIR)/build/gcc/crosswise tests/mpi/faults.sh \
	    $(CURDIR)/build/gcc/tests/mpi/mpi_failing.so || [ $$? = 77 ] || code=1; exit $$code

.PHONY: install
install: release ## install under PREFIX (/usr/local), staged in DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

.PHONY: docs
docs: deps-demo ## write docs/options.md and the manual page anew from the tables
	@$(call build,release,docs)

.PHONY: format
format: deps-check ## format all C files
	@git ls-files -z --cached --others --exclude-standard '*.c' '*.h' | xargs -0r clang-format -i

.PHONY: coverage
coverage: deps-coverage ## line coverage of the tests, as a table and build/coverage/index.html
	@$(call build,coverage)
	@find build/coverage -name '*.gcda' -delete
	@ctest --test-dir build/coverage -j $(JOBS) --output-on-failure
	@gcovr --root . --filter src/ --filter cli/ --html-details build/coverage/index.html \
	    --print-summary --txt - build/coverage

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps-%:
	@mkdir -p build
	@tools/deps $*
