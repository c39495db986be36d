# What a person or CI runs here. Needs make and Python 3.11 or later; the rest is set up in .venv.
# Written for GNU make 3.81, which macOS has.

VENV := .venv
BIN := $(VENV)/bin
# More than the processors, because many tests wait; each worker has to start servers of its own, too.
WORKERS := $(shell expr 3 '*' $$(getconf _NPROCESSORS_ONLN) / 2)
# SEED shuffles the tests.
ORDER = $(if $(SEED),--random-order-bucket=global --random-order-seed=$(SEED))
# Those in Python; ruff does not find them by itself, as their names have no ending.
SCRIPTS := scripts/docs scripts/schema scripts/iam_policy scripts/instance_types

# Compiled modules are kept, whatever the shell says: each of the workers would compile all tests.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo console demo-venv test quick faults test-testbed bench storm test-release e2e aws-check lifecycle lint lock \
	e2e-tools stemcell-lines vendor sbom instance-types docs schema docs-check iam-policy-check clean venv

help: ## Say what there is to make
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

demo: demo-venv ## Show the CPI at work on a simulated AWS
	@$(BIN)/python -m testbed.demo

console: demo-venv ## Call the CPI by hand on a simulated AWS
	@$(BIN)/python -m testbed.console

test: venv ## Run the tests; SEED=1 shuffles them; PYTEST_ARGS="-k disk -x" are pytest's own
	$(BIN)/python -m pytest -n $(WORKERS) tests/unit tests/contract tests/stories tests/acceptance tests/faults \
		-m "not faults" $(ORDER) $(PYTEST_ARGS)

quick: venv ## Run the quick part of the tests; VENV=.venv-other PYTHON=/usr/bin/python3 for another Python as well
	$(BIN)/python -m pytest -n $(WORKERS) tests/unit tests/contract $(ORDER) $(PYTEST_ARGS)

faults: venv ## Run all that can go wrong at AWS, at every call of every method, and 100 pairs; FAULT_SEED=2 draws others
	$(BIN)/python -m pytest -n $(WORKERS) tests/faults $(PYTEST_ARGS)

test-testbed: venv ## Run the tests of the simulated AWS: after a change of testbed/ or of the locked versions
	$(BIN)/python -m pytest -n $(WORKERS) tests/testbed $(PYTEST_ARGS)

bench: venv ## Measure the executable beside a plain boto3 script; BENCH_ARGS="--runs 3 --rows info --check"
	@$(BIN)/python -m testbed.bench $(BENCH_ARGS)

storm: venv ## Have 32 and 100 executables call a stand-in at once, throttled as by EC2; STORM_ARGS="--rows create_vm-32"
	@$(BIN)/python -m testbed.bench.storm $(STORM_ARGS)

test-release: venv ## Run the tests of the release and its job, over the real ERB and as under bpm; needs ruby
	$(BIN)/python -m pytest -n auto tests/release --ignore=tests/release/test_stemcell_lines.py $(PYTEST_ARGS)

e2e: e2e-tools ## Publish, install and upgrade the release with the real bosh CLI; needs Go, ruby and a compiler; HASTY=1
	E2E_HASTY="$(HASTY)" $(BIN)/python -m pytest tests/e2e $(PYTEST_ARGS)

e2e-tools: venv # what it needs
	@sh scripts/e2e-tools
	@sh scripts/vendor

stemcell-lines: venv ## Compile and run the release as on each stemcell line; as root; LINES="jammy noble" ARCH=arm64 HASTY=1 KEEP=/folder
	@sh scripts/vendor
	LINES_CHOSEN="$(LINES)" LINES_ARCH="$(ARCH)" LINES_HASTY="$(HASTY)" LINES_KEPT="$(KEEP)" \
		$(BIN)/python -m pytest tests/release/test_stemcell_lines.py $(PYTEST_ARGS)

aws-check: venv ## Try the assumptions about AWS in an account; AWS_CHECK_ARGS="--region us-east-1" or --simulated
	@$(BIN)/python -m acceptance.aws_check $(AWS_CHECK_ARGS)

lifecycle: venv ## Create, use and delete VMs, disks and stemcells in an account; LIFECYCLE_ARGS as above
	@$(BIN)/python -m acceptance.lifecycle $(LIFECYCLE_ARGS)

lint: venv ## Check style, format, types and the direction of imports
	$(BIN)/python -m ruff check . $(SCRIPTS)
	$(BIN)/python -m ruff format --check . $(SCRIPTS)
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo

lock: venv ## Write requirements/*.txt anew; LOCK_ARGS=--upgrade for newer versions
	@PATH="$(BIN):$$PATH" sh scripts/lock $(LOCK_ARGS)

instance-types: venv ## Write the built-in table of instance types anew; FILES="a.json b.json" are EC2's answers; FILES=--print prints it
	@$(BIN)/python scripts/instance_types $(FILES)

docs: venv ## Write the tables of the pages, the job's spec and the IAM policies from the code
	@$(BIN)/python scripts/docs
	@$(BIN)/python scripts/schema
	@$(BIN)/python scripts/iam_policy

schema: venv ## Write the JSON Schemas of the cloud config and of the job's properties
	@$(BIN)/python scripts/schema

docs-check: venv ## Check that these files are up to date; the tests do it too
	@status=0; for each in docs schema iam_policy; do $(BIN)/python scripts/$$each --check || status=1; done; exit $$status

iam-policy-check: venv ## Compare the IAM policies with CALLS, the folder that CPI_RECORD_CALLS named for the tests
	@$(BIN)/python scripts/iam_policy --check $(CALLS)

vendor: venv ## Fetch what the BOSH release is built from into blobs/
	@sh scripts/vendor $(VENDOR_ARGS)

sbom: venv ## Write docs/sbom.cdx.json, the list of all that the release consists of
	@$(BIN)/python -m bosh_release.sbom $(SBOM_ARGS)

clean: ## Remove .venv and all that tools left behind
	rm -rf .venv* .e2e build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The script itself sees what is missing or out of date; with nothing to do it is done at once.
venv: ## Set up .venv, with the locked versions; the other targets do it, too
	@VENV="$(VENV)" PYTHON="$(PYTHON)" sh scripts/venv

demo-venv: # with fewer packages, unless all are there
	@VENV="$(VENV)" PYTHON="$(PYTHON)" NEEDS=demo sh scripts/venv
