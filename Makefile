# make demo: see what it does.  make test: check that it works.  Each target sets up what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export GOMP_SPINCOUNT ?= 10000

.PHONY: setup browser demo docs test long lint examples bench clean

setup: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: setup
	rm -rf demo
	$(BIN)/hideseek demo --out demo

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/docs/index.html"

browser:
	@if { command -v chromium || command -v chromium-browser || command -v google-chrome; } > /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core > /dev/null; \
	else echo "install Chromium or Google Chrome, then make test"; fi

test: lint
	$(BIN)/python -m pytest -n logical --dist loadscope --no-loadscope-reorder
	@$(MAKE) --no-print-directory examples

long: setup
	HIDESEEK_LONG_TESTS=1 $(BIN)/python -m pytest tests/federate/test_faults_of_processes.py tests/audit/test_audit.py

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy benchmarks
	$(BIN)/lint-imports

examples: setup
	@set -e; for example in examples/*.py; do echo "$$example"; $(BIN)/python -W error $$example > /dev/null; done

bench: setup
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	@set -e; for benchmark in benchmarks/*.py; do echo "$$benchmark"; $(BIN)/python $$benchmark; done

clean:
	rm -rf $(VENV) demo build
