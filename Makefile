# The named commands of this project. Everything they need goes into .venv; nothing else on the machine is touched.
#
#   make demo     a short conversation over four sessions, and what is remembered of it
#   make test     lint, type check and all tests
#   make lint     ruff: rules and formatting
#   make types    mypy --strict on the library
#   make wheel    the wheel, in dist/
#   make smoke    the wheel in a new environment, and the README's quick start run from it
#   make clean    remove everything that these commands made
#
# PYTHON chooses the interpreter (3.11 to 3.13): make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

.PHONY: demo test pytest lint types wheel smoke clean

demo: $(VENV)/.base
	@$(BIN)/python examples/demo.py

test: lint types pytest

pytest: $(VENV)/.development
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

lint: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# A type checker does not follow the import hook of an editable install, and `graphs` and `integrations` live beside
# the package that they belong to: mypy reads a mirror of links that is laid out as the wheel is.
types: $(VENV)/.development
	rm -rf build/types
	mkdir -p build/types/langmem_tiers
	ln -s $(CURDIR)/langmem_tiers/* $(CURDIR)/graphs $(CURDIR)/integrations build/types/langmem_tiers/
	cd build/types && MYPYPATH=. $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml \
		--cache-dir $(CURDIR)/.mypy_cache -p langmem_tiers

wheel: $(VENV)/.development
	rm -rf build/lib build/bdist.* dist
	$(BIN)/python -m build --wheel --no-isolation

smoke: wheel
	rm -rf build/smoke
	$(PYTHON) -m venv build/smoke
	build/smoke/bin/python -m pip --disable-pip-version-check --quiet --quiet install dist/*.whl -c constraints.txt
	sed -n '/^```python/,/^```/{/^```/!p;/^```$$/q}' README.md > build/smoke/quick_start.py
	cd build/smoke && bin/python quick_start.py && bin/langmem-tiers --path memory stats

clean:
	rm -rf $(VENV) build dist .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis langmem_tiers.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: make PYTHON=...")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing langmem-tiers and what it needs into $(VENV) (a minute or two, once)"
	@$(PIP) install -e . -c constraints.txt
	@touch $@

# The dependency groups are read from pyproject.toml here, because older pips do not know `--group`.
$(VENV)/.development: $(VENV)/.base
	@echo "Installing what tests and checks need"
	@$(BIN)/python -c 'import tomllib; groups = tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]; \
	print(*groups["test"], *groups["lint"], sep="\n")' > $(VENV)/development.txt
	@$(PIP) install -r $(VENV)/development.txt -c constraints.txt
	@touch $@
