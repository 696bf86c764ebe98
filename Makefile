# make demo, make test: each sets up what it needs, in .venv, by itself.

PYTHON ?= python3
BIN := .venv/bin
SEEDS ?= 10000

.PHONY: demo tour test bench check-all soak clean

demo: .venv/ready
	$(BIN)/peerlock demo

# The algorithms: compared, drawn, checked, broken.
tour: .venv/ready
	$(BIN)/python -m peerlock.tour

test: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

bench: .venv/ready
	$(BIN)/python -m bench.simulator
	$(BIN)/python -m bench.checker

# Every algorithm at the larger sizes: docs/checked.md has the results.
check-all: .venv/ready
	$(BIN)/python -m bench.check_all

# Whole nodes under faults, a run for each seed: make soak SEEDS=100000
soak: .venv/ready
	$(BIN)/python -m bench.soak --seeds $(SEEDS)

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "peerlock needs Python 3.11 or newer: make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv out
