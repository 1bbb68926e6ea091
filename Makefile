# Every target makes its own .venv from nothing, and reuses it while it is current.
#   make PYTHON=python3.12 venv    builds it with another interpreter (3.11 to 3.13)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.SUFFIXES:

PYTHON ?= python3
EXTRAS := embedded,fast,plots,onnx,openvino,bench,dev

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

# Idle threads sleep instead of spinning, so that parallel workers do not starve one another.
export OMP_WAIT_POLICY := passive
export TOKENIZERS_PARALLELISM := false

# Tests never use the network, and two workers with one thread each fill two cores.
TEST_ENV := HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1

.PHONY: help venv demo lint test test-slow bench-transport bench-quick bench-report bench-speed docs gallery clean new-venv

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

venv: $(STAMP) ## make .venv, or bring it up to date
	@:

demo: $(STAMP) ## cluster a thousand support tickets and write their report to caot-demo/
	@$(PY) -m caot demo --force

lint: $(STAMP) ## ruff (rules and format) and strict mypy
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

test: lint ## lint, then the tests, warnings as errors
	@$(TEST_ENV) $(PY) -m pytest -q -n 2

test-slow: $(STAMP) ## the tests marked slow
	@$(TEST_ENV) $(PY) -m pytest -q -n 2 -m slow

bench-quick: $(STAMP) ## a slice of the benchmark from texts to report, some minutes; needs CAOT_DATA=folder
	@$(PY) -m caot bench run main --data tweet --seeds 0 --jobs 2 --results .cache/bench-quick
	@$(PY) -m caot bench report --results .cache/bench-quick -o .cache/bench-quick/report.html

bench-report: $(STAMP) ## write docs/results.md and the table of docs/comparison.md from the records
	@$(PY) -m caot bench report -o docs/results.md --findings benchmarks/findings.md
	@$(PY) -m benchmarks.methods_page

gallery: $(STAMP) ## draw the pictures of docs/gallery.md
	@$(PY) docs/make_gallery.py

bench-transport: $(STAMP) ## time the transport solvers; prints a table, writes JSON
	@$(PY) -m benchmarks.transport

docs: $(STAMP) ## build the documentation into site/, warnings as errors
	@$(PY) -m pip install -qq --no-input -c constraints.txt -e '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict -d site

bench-speed: $(STAMP) ## time steps, prediction, whole fits and growth; needs CAOT_DATA=folder
	@$(PY) -m pip install -qq --no-input -c constraints.txt -e '.[rivals]'
	@$(PY) -W ignore -m benchmarks.speed

clean: ## remove .venv, caches and build products
	@rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp holds the folder that .venv was made for: a copied or moved .venv, or one whose
# interpreter has gone, would run other code than this, and is rebuilt from nothing.
USABLE := $(shell $(PY) -c '' 2>/dev/null && [ "$$(cat $(STAMP) 2>/dev/null)" = "$(CURDIR)" ] && echo yes)

$(STAMP): pyproject.toml constraints.txt $(if $(USABLE),,new-venv)
	@echo "Installing caot and its pinned requirements into $(VENV) (a few minutes) ..."
	@$(PY) -m pip install -qq --no-input -c constraints.txt -e '.[$(EXTRAS)]'
	@echo "$(CURDIR)" > $@

new-venv:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	    { echo "caot needs Python 3.11 to 3.13: make PYTHON=python3.11 venv" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
