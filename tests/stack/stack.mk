# The real stack on this machine: see docs/stack.md. STACK_DIR chooses another directory.
STACK_DIR ?= build/stack
STACK_UP ?=
STACK_TESTS ?=

.PHONY: stack stack-build stack-down stack-status stack-test

stack: ## the real control plane, cloud and metrics on this machine (docs/stack.md)
	@tests/stack/prepare
	@tests/stack/stack up --dir $(STACK_DIR) $(STACK_UP)

stack-build: ## only build its parts into the cache
	@tests/stack/prepare
	@tests/stack/stack build

stack-down: ## end it
	@tests/stack/stack down --dir $(STACK_DIR)

stack-status: ## what runs, on which port, since when, with which memory
	@tests/stack/stack status --dir $(STACK_DIR)

# The tests start a stack of their own, beside the one that somebody may be using.
stack-test: ## the stack tests itself, on a stack of its own; STACK_TESTS="name..."
	@tests/stack/prepare
	@tests/stack/stack test $(STACK_TESTS)
