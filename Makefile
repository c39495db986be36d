# What a person or CI runs here. Needs make and Python 3.11 or later; the rest is set up in .venv.
# Written for GNU make 3.81, which macOS has.

VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo console test test-release e2e lint lock vendor instance-types clean venv

help: ## Say what there is to make
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

demo: venv ## Show the CPI at work on a simulated AWS
	@$(BIN)/python -m testbed.demo

console: venv ## Call the CPI by hand on a simulated AWS
	@$(BIN)/python -m testbed.console

test: venv ## Run the tests; PYTEST_ARGS="-k disk -x" are pytest's own
	$(BIN)/python -m pytest -n auto -m "not release and not e2e" $(PYTEST_ARGS)

test-release: venv ## Run the tests of the release's job over the real ERB; needs ruby
	$(BIN)/python -m pytest -n auto -m release $(PYTEST_ARGS)

e2e: venv ## Run the real bosh CLI and bosh-agent against a simulated AWS; needs Go, ruby and a compiler
	@sh scripts/e2e-tools
	@sh scripts/vendor
	$(BIN)/python -m pytest -m e2e $(PYTEST_ARGS)

lint: venv ## Check style, format, types and the direction of imports
	$(BIN)/python -m ruff check . scripts/instance_types
	$(BIN)/python -m ruff format --check . scripts/instance_types
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo

lock: venv ## Write requirements/*.txt anew; LOCK_ARGS=--upgrade for newer versions
	@PATH="$(BIN):$$PATH" sh scripts/lock $(LOCK_ARGS)

instance-types: venv ## Write the built-in table of instance types anew; FILES="a.json b.json" are EC2's own answers
	@$(BIN)/python scripts/instance_types $(FILES)

vendor: venv ## Fetch what the BOSH release is built from into blobs/
	@sh scripts/vendor $(VENDOR_ARGS)

clean: ## Remove .venv and all that tools left behind
	rm -rf $(VENV) $(VENV).log .e2e build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The script itself sees what is missing or out of date; with nothing to do it is done at once.
venv:
	@PYTHON="$(PYTHON)" sh scripts/venv
