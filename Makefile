# Every target is one call of a tool, so that its line can be copied and varied. `make` alone lists them.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
python := .venv/bin/python
uv = $(shell command -v uv || echo $(python) -m uv)
export UV_SYSTEM_CERTS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
installed := .venv/.installed

# its content is this folder: a checkout that was moved, or whose Python is gone, is installed anew
ifneq ($(shell $(python) -c 'print(open("$(installed)").read())' 2>/dev/null),$(CURDIR))
.PHONY: $(installed)
endif

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 20

install: $(installed) ## build .venv (PYTHON=python3.12 chooses the interpreter)

run: $(installed) ## everything on this machine, until Ctrl-C (ONCE=1: until the board is complete)
	@$(python) -m app.commands run $(if $(ONCE),--once)

serve: $(installed) ## a web server alone, on the servers of HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL
	@$(python) -m app.commands serve

worker: $(installed) ## a worker alone, on the same servers
	@$(python) -m app.commands worker

test: $(installed) ## the tests, on servers of their own (ONLY=tests/system chooses)
	@$(python) -m pytest $(ONLY)

coverage: $(installed) ## that the tests of scoring and of every rule reach every branch
	@$(python) -m coverage run -m pytest -q scoring app tests/scoring tests/rules -m "not shared"
	@$(python) -m coverage report --skip-covered --fail-under=100 --include='scoring/*,app/*/rules.py,app/access.py'

check: $(installed) ## format, lint, types, contracts, templates, spelling
	$(python) -m ruff format --check .
	$(python) -m ruff check .
	$(python) -m mypy
	$(python) -m mypy benchmarks/programs/*.py
	$(python) -c 'from importlinter.cli import lint_imports_command as lint; lint()'
	$(python) -m djlint --quiet --lint templates
	$(python) -m codespell_lib

fix: $(installed) ## format, and mend what can be mended by machine
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

migration: $(installed) ## write a migration from the models (m="what changes")
	$(python) -m app.commands migration "$(m)"

migrate: $(installed) ## bring the database of HELDOUT_DATABASE_URL to the newest schema
	$(python) -m app.commands migrate

golden: $(installed) ## score the recorded results of the development kits again
	$(python) -m pytest tests/scoring -k golden

lock: $(installed) ## resolve requirements.lock anew
	$(uv) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
		--extra server --extra dev pyproject.toml -o requirements.lock

clean: ## remove .venv and every cache; heldout-data stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage* build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv where it can be had, for speed; pip otherwise. Both check every hash.
$(installed): requirements.lock pyproject.toml
	@$(or $(PYTHON),python3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo 'Python 3.11 or newer is needed and was not found; name one: make install PYTHON=python3.12' >&2; exit 1; }
	@echo 'installing into .venv (about half a minute)'
	@$(python) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@$(uv) --version >/dev/null 2>&1 || $(python) -m pip install -qq uv || true
	@$(uv) pip sync --quiet --python $(python) --require-hashes requirements.lock 2>/dev/null \
		|| $(python) -m pip install -qq --require-hashes -r requirements.lock
	@$(python) -m pip install -qq --no-deps --no-build-isolation -e .
	@printf %s "$(CURDIR)" > $(installed)

.PHONY: help install run serve worker test coverage check fix migration migrate golden lock clean
