PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo serve test test-slow test-versions first-hour lint format bench docs screenshots clean clean-kernels

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@echo "==> setting up $(VENV) (once; a minute or two)"
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "etana needs Python 3.11 or newer, this is %d.%d; set PYTHON=..." % v[:2])'
	@$(PYTHON) -m venv $(VENV)
	@HATCH_BUILD_NO_HOOKS=true $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[all,test,docs]'
	@touch $@
	@echo "==> compiling loops ahead of first fits (once; about a minute)"
	@$(BIN)/python -m etana.ahead

install: $(STAMP)  ## create .venv and install etana with everything it can use

demo: $(STAMP)  ## fit on data bundled with scikit-learn and show the result
	@echo "==> running the demonstration"
	@$(BIN)/etana demo

serve: $(STAMP)  ## serve two models fitted on bundled data, on http://127.0.0.1:8000
	@echo "==> fitting the models into .demo, then serving them; Ctrl-C ends it"
	@$(BIN)/python -m etana.service.demo .demo
	@$(BIN)/etana serve .demo --store .demo/cases.sqlite

test: $(STAMP)  ## run the test suite
	@echo "==> running the tests"
	@$(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: $(STAMP)  ## run the checks that take minutes
	@echo "==> running the slow checks"
	@$(BIN)/python -m pytest -m slow

test-versions:  ## the core of the tests with the oldest and the newest dependencies. Parts: VERSIONS='oldest 3.11'
	@echo "==> building environments in .venv-versions (minutes each, once), and testing in them"
	@$(PYTHON) .ci/test_versions.py $(VERSIONS)

first-hour: $(STAMP)  ## every command of README and tutorial, in an empty environment made from the wheel
	@echo "==> building the wheel and following the pages"
	@$(BIN)/python .ci/first_hour.py

lint: $(STAMP)  ## ruff, mypy and the import contract
	@echo "==> lint, format, types, imports"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMP)  ## rewrite the code in the house style
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: $(STAMP)  ## measure speed, and write docs/speed.md with its pictures again
	@echo "==> measuring; a quarter of an hour on a quiet machine. Parts: make bench PARTS='limits cores'"
	@$(BIN)/python benchmarks/speed.py $(PARTS)

docs: $(STAMP)  ## build the documentation into docs/_build/html; any warning is an error
	@echo "==> drawing pictures and building the documentation"
	@$(BIN)/python docs/draw.py docs/_pictures
	@$(BIN)/python -m sphinx -q -W --keep-going docs docs/_build/html
	@echo "docs/_build/html/index.html"

screenshots: $(STAMP)  ## make the pictures of the web page again; needs Chromium
	@echo "==> serving a model and driving Chromium through a case"
	@$(BIN)/python docs/screenshot.py docs/screenshots

clean-kernels:  ## forget compiled loops
	@find src -name '*.nb[ic]' -delete

clean:  ## remove .venv and caches
	rm -rf $(VENV) .venv-versions .pytest_cache .mypy_cache .ruff_cache .hypothesis
