# Thin front over CMake and scripts/. Every target prepares what it needs; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup build demo test bench lint format coverage fuzz clean

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## install the Debian packages that building and testing need (root, or it says what to run)
	@scripts/setup build

build: setup ## the program, at build/drover
	@scripts/build release

demo: build ## the whole autoscaler on an embedded world
	@build/drover demo --state build/demo.db $(ARGS)

test: setup ## everything that is checked, with address and undefined-behaviour sanitizers; ARGS="--filter x --seed N"
	@scripts/test $(ARGS)

bench: setup ## benchmarks: a table, and build/bench.json
	@scripts/bench $(ARGS)

lint: ## formatting, clang-tidy, layers
	@scripts/setup build lint
	@scripts/lint

format: ## rewrite the sources in the committed format
	@scripts/setup lint
	@scripts/lint --fix

coverage: ## line coverage of src/core and src/engine
	@scripts/setup build
	@scripts/coverage

fuzz: ## libFuzzer on every target for FUZZ_SECONDS (60) each
	@scripts/setup build lint
	@scripts/fuzz

clean: ## remove everything that was built
	@rm -rf build

-include tests/stack/stack.mk
-include tests/e2e/e2e.mk
