# Everything sets itself up: `make test` and `make demo` work on a fresh clone with Python 3.10 or later, git and make.
PYTHON ?= python3
BIN := .venv/bin
MANIFEST ?= manifests/rl_correctness.yaml
WORKERS ?= 2
# For `make fuzz`: examples per law, installed packages to translate, and layouts tried on each.
EXAMPLES ?= 20000
PACKAGES ?= hypothesis rich omegaconf
LAYOUTS ?= 100

.PHONY: test demo bench fuzz ports setup clean

test: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(BIN)/porttool vendor sync verl || echo 'build/verl could not be made: the tests on it are skipped'
	$(BIN)/pytest -q -n $(WORKERS)

demo: .venv/engine.stamp
	@BIN=$(BIN) MANIFEST=$(MANIFEST) bash .ci/demo

bench: .venv/dev.stamp
	$(BIN)/python -m porttool.bench

fuzz: .venv/dev.stamp
	LAWS_EXAMPLES=$(EXAMPLES) $(BIN)/pytest -q -n $(WORKERS) tests/laws
	$(BIN)/python tests/laws/soak.py --packages $(PACKAGES) --layouts $(LAYOUTS)

ports: .venv/dev.stamp
	$(BIN)/python -m tests.ports $(FOLDER)

setup: .venv/dev.stamp

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "porttool needs Python 3.10 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/engine.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e . -c constraints.txt
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]' -c constraints.txt
	@touch $@ .venv/engine.stamp
