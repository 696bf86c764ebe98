# make demo, make test: each sets up what it needs, in .venv, by itself.

PYTHON ?= python3
BIN := .venv/bin
SEEDS ?= 10000
SECONDS ?= 300
MINUTES ?= 5
EXTRAS := cli,dask,dogpile,etcd,fast,lab,opentelemetry,postgres,pytest,serve,tls,tooz,trio

# The tests start Python some thousand times: its bytecode is kept, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo tour test test-quick test-slow test-recipes mutants bench bench-compiled bench-start bench-locks bench-many bench-scale fuzz check-all docs \
    test-docs index lab test-lab reproduce soak chaos clean

demo: .venv/ready
	$(BIN)/peerlock demo

# The algorithms: compared, drawn, checked, broken.
tour: .venv/ready
	$(BIN)/python -m peerlock.tour

test: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 3 --dist worksteal -m 'not slow'

# A sample for daily work, in about a minute: tests/slow.py says what is left out.
test-quick: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 3 --dist worksteal -m 'not slow' --quick

# The tests that take several seconds each: tests/slow.py.
test-slow: .venv/ready
	$(BIN)/python -m pytest -n 2 -m slow

# The recipes of docs/recipes that need large packages, against the real ones.
test-recipes: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group recipes
	$(BIN)/python -m pytest tests/contrib

# Small errors in what carries bytes and counts fences, each of which a test must notice.
mutants: .venv/ready
	$(BIN)/python -m tests.runtime.mutants

bench: .venv/ready
	$(BIN)/python -m bench.simulator
	$(BIN)/python -m bench.checker

# The simulator as a wheel has it that was built with HATCH_BUILD_HOOK_ENABLE_CUSTOM=true.
bench-compiled: .venv/ready
	rm -rf out/compiled
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=true $(BIN)/python -m hatchling build -t wheel -d out/compiled
	$(BIN)/python -m zipfile -e out/compiled/*.whl out/compiled
	PYTHONPATH=out/compiled $(BIN)/python -m bench.simulator

# How long imports and commands take to start, beside bare Python.
bench-start: .venv/ready
	$(BIN)/python -m bench.start

# Needs redis-server and PostgreSQL from your distribution; says so where one is not here.
bench-locks: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	$(BIN)/python -m bench.locks

# Clusters on many machines, on loopback, beside etcd's own lock and PostgreSQL's.
bench-many: .venv/ready
	$(BIN)/python -m bench.many

# What many members and names cost, and one member's trouble.  Needs 10 GB of memory, etcd
# (the development dependencies bring it), and a quarter of an hour or more; some of it:
# .venv/bin/python -m bench.scale --only acd --json out.json
bench-scale: .venv/ready
	$(BIN)/python -m bench.scale

# What comes over the wire, made up by a fuzzer: make fuzz MINUTES=60
fuzz: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz
	$(BIN)/python -m fuzz frames --minutes $(MINUTES)
	$(BIN)/python -m fuzz nodes --minutes $(MINUTES)

# Every algorithm at the larger sizes, held to docs/checked.md; or parts of that:
# make check-all NAMES='lamport three-deaths'
check-all: .venv/ready
	$(BIN)/python -m bench.check_all $(NAMES)

# The site, in out/site: pages by hand, and one for each algorithm, measured and drawn.
docs: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	$(BIN)/python -m handbook

# The site in a browser (Chromium): widths, anchors, search.
test-docs: docs
	$(BIN)/python -m pytest -m slow tests/house/test_site.py

# The page of the lab: for `peerlock lab`, and in out/site/lab for any web server.  Needs npm.
lab: .venv/ready
	$(BIN)/python -m handbook.lab

# The lab in a browser (Chromium), and Python in the browser beside ours, byte by byte.
test-lab: lab
	$(BIN)/python -m pytest -rP tests/playground

# The index of the algorithms and the tables of docs/algorithms.md, from the algorithms' files.
index: .venv/ready
	$(BIN)/python -m handbook.index

# The papers' tables, figures and bounds beside ours, a few minutes: docs/reproduced.md and
# docs/reproduced are copies of what is written to out/reproduce.
reproduce: .venv/ready
	mkdir -p out/reproduce
	$(BIN)/peerlock reproduce --plot out/reproduce/reproduced \
	    --markdown out/reproduce/reproduced.md

# Whole nodes under faults, a run for each seed; then real processes, killed and stopped,
# with each engine.  Each part prints what it has as it goes, and at Ctrl-C or SIGTERM:
# make soak SEEDS=100000 SECONDS=3600
soak: .venv/ready
	$(BIN)/python -m bench.soak --seeds $(SEEDS)
	$(BIN)/python -m tests.process_soak --seconds $(SECONDS)
	$(BIN)/python -m tests.process_soak --seconds $(SECONDS) --engine etcd
	$(BIN)/python -m tests.process_soak --seconds $(SECONDS) --engine postgresql

# Real processes on several hosts (network namespaces: needs root and iproute2), with etcd
# or PostgreSQL; the report is out/chaos.html:
# make chaos CHAOS='--engine postgresql --seconds 1800 --seed 7'
chaos: .venv/ready
	$(BIN)/python -m tests.chaos $(CHAOS)

.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "peerlock needs Python 3.11 or newer: make PYTHON=/path/to/python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --editable '.[$(EXTRAS)]' --group dev
	@touch $@

clean:
	rm -rf .venv out
