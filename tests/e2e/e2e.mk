# The product's binary on the real stack: see docs/stack.md. E2E="name..." runs only tests whose names hold one of the words.
E2E ?=
E2E_DIR ?= build/e2e

.PHONY: e2e

e2e: build ## the program on the real stack, end to end, with the stack's own tests; E2E="name..."
	@tests/stack/prepare
	@tests/e2e/run --dir $(E2E_DIR) $(if $(E2E),$(E2E),--all)
