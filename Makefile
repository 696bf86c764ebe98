# make demo, make test: each sets up what it needs, in .venv, by itself.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test bench check-all clean

demo: .venv/ready
	$(BIN)/python -m peerlock.demo

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

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "peerlock needs Python 3.11 or newer: make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv out
