# Everything sets itself up: `make test` and `make demo` work on a fresh clone with Python 3.10 or later, git and make.
PYTHON ?= python3
BIN := .venv/bin
MANIFEST ?= manifests/rl_correctness.yaml
WORKERS ?= 2
# How long `make fuzz` looks, and where it starts.
MINUTES ?= 60
SEED ?= 1

# What `make pythons` tests the engine on, and with which tests.
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
ENGINE_TESTS ?= tests/porttool tests/cli tests/laws tests/test_cases.py tests/test_surface.py tests/test_architecture.py

# The trainer stack is pinned for one Python. On another, the tests that need it are skipped and say so.
STACK := $(shell $(PYTHON) -c 'import sys; print(*[",parity"] * (sys.version_info[:2] == (3, 11)))')
STACK_PINS := $(if $(STACK),-c constraints-parity.txt)

.PHONY: test demo bench fuzz mutants ports package pythons setup clean

test: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(BIN)/porttool vendor sync verl
	@bash .ci/browser >/dev/null || echo 'the test of the page is skipped'
	$(BIN)/pytest -q -n $(WORKERS)

demo: .venv/demo.stamp
	@BIN=$(BIN) MANIFEST=$(MANIFEST) bash .ci/demo

bench: .venv/test.stamp
	$(BIN)/python -m porttool.bench
	$(BIN)/python -m parity.bench

fuzz: .venv/dev.stamp
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --seed $(SEED) --workers $(WORKERS)

ports: .venv/dev.stamp
	$(BIN)/python -m tests.ports $(FOLDER)

mutants: .venv/dev.stamp
	$(BIN)/python -m tests.mutants $(if $(MODULE),--module $(MODULE))

package: .venv/dev.stamp
	$(BIN)/pytest -q tests/adoption/test_package.py
	$(BIN)/python -m build --no-isolation --outdir dist

pythons: $(PYTHONS:%=.venv/on/%.stamp)
	@set -e; for python in $(PYTHONS); do \
	  echo "== $$python"; .venv/on/$$python/bin/pytest -q -n $(WORKERS) $(ENGINE_TESTS); \
	done

setup: .venv/dev.stamp

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "porttool needs Python 3.10 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/engine.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -qq --disable-pip-version-check -e . -c constraints.txt
	@touch $@

.venv/demo.stamp: pyproject.toml constraints.txt constraints-parity.txt | .venv/bin/python
	@echo 'installing porttool$(if $(STACK), and the trainer stack: 3 to 5 minutes the first time)'
	$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.$(if $(STACK),[parity])' -c constraints.txt $(STACK_PINS)
	@touch $@ .venv/engine.stamp

.venv/dev.stamp: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev]' -c constraints.txt
	@touch $@ .venv/engine.stamp

.venv/test.stamp: pyproject.toml constraints.txt constraints-parity.txt | .venv/bin/python
	@echo 'installing the development tools and the trainer stack: 3 to 5 minutes the first time'
	$(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[dev$(STACK)]' -c constraints.txt $(STACK_PINS)
	@touch $@ .venv/dev.stamp .venv/demo.stamp .venv/engine.stamp

.venv/on/%.stamp: pyproject.toml constraints.txt
	$* -m venv .venv/on/$*
	.venv/on/$*/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]' -c constraints.txt
	@touch $@
