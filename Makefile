# Everything from a bare Python 3.11 or newer. `make demo` and `make test` each work alone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# The packages that only the benchmarks compare with.
READY_BENCH := $(VENV)/ready-bench

.PHONY: setup demo test test-slow lint bench docs clean
.DELETE_ON_ERROR:

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Kreisel needs Python 3.11 or newer; say which one with: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(READY_BENCH): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	@touch $@

demo: $(READY)
	$(BIN)/python examples/top.py
	@echo
	$(BIN)/python examples/beams.py
	@echo
	$(BIN)/python examples/control.py
	@echo
	$(BIN)/python examples/groups.py

test: $(READY) lint
	$(BIN)/python -m pytest -n 2 -m 'not slow'

test-slow: $(READY)
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY_BENCH)
	$(BIN)/python bench/top.py
	$(BIN)/python bench/beam.py
	$(BIN)/python bench/rotations_dynamics.py
	$(BIN)/python bench/multibody.py
	$(BIN)/python bench/control.py
	$(BIN)/python bench/sweep.py
	$(BIN)/python bench/groups.py
	$(BIN)/python bench/linear.py

docs: $(READY)
	$(BIN)/pdoc --math --docformat restructuredtext -o out/docs kreisel
	@echo 'wrote out/docs/kreisel.html'

clean:
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests bench examples docs -name __pycache__ -type d -prune -exec rm -rf {} +
