# Every target is one call of a tool, so that its line can be copied and changed. `make` alone lists them.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
python := .venv/bin/python
uv = $(shell command -v uv || ls .venv/bin/uv 2>/dev/null || echo .venv/uv/bin/uv)
export UV_SYSTEM_CERTS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# without bytecode, each of the many processes of a run or a test compiles its imports for seconds
export PYTHONDONTWRITEBYTECODE :=
server := .venv/.server
development := .venv/.development

# their content is the path of this folder: a checkout that was moved, or whose Python is gone, is installed again
content = $(shell $(python) -c 'print(open("$(1)").read())' 2>/dev/null)
ifneq ($(call content,$(server)),$(CURDIR))
.PHONY: $(server)
endif
ifneq ($(call content,$(development)),$(CURDIR))
.PHONY: $(development)
endif

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 20

install: $(development) ## build .venv with all tools (PYTHON=python3.12 chooses the interpreter); `make run` needs fewer

run: $(server) ## everything on this machine, until Ctrl-C (ONCE=1: until the board is complete)
	@$(python) -m app run $(if $(ONCE),--once)

serve: $(server) ## a web server alone, on the servers of HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL
	@$(python) -m app serve

worker: $(server) ## a worker alone, on the same servers
	@$(python) -m app worker

test: $(development) ## the tests, on servers of their own, in three processes (ONLY=tests/system chooses, SEED=78 repeats)
	@$(if $(ONLY),,$(sample)) $(python) -m pytest $(seeds) $(or $(ONLY),$(in_processes))

in_processes := --numprocesses 3 --dist loadgroup
# of similar and costly tests `make test` takes a part, and `make test-slow` with the same seed the others
sample := HELDOUT_SAMPLE=1
# another order and other examples in each run; a run that fails says which SEED repeats it
seeds = $(foreach seed,$(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom)),--randomly-seed=$(seed) --hypothesis-seed=$(seed))

test-slow: $(development) ## the tests that take minutes (HELDOUT_SHORT=1: a short form; ONLY=tests/slow chooses)
	@$(sample) $(python) -m pytest -m slow --timeout 1800 $(seeds) $(or $(ONLY),$(in_processes))

nemesis: $(development) ## break a busy installation at random and check what became of it (MINUTES=10 SEED=1 STORE=folder)
	@$(python) -m tests.nemesis --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1) --store $(or $(STORE),folder)

coverage: $(development) ## the tests with coverage of every process, and its thresholds
	@$(python) -m coverage erase
	@$(python) -m coverage run -m pytest --randomly-seed=1 --hypothesis-seed=0 $(or $(ONLY),$(in_processes))
	@$(MAKE) --no-print-directory coverage-report

coverage-report: ## whether what was measured last reaches the thresholds
	@$(python) -m coverage combine --quiet
	@$(python) -m coverage report --skip-covered --fail-under=100 --include='scoring/*,app/submissions/acceptance.py,app/challenges/disclosure.py,app/boards/ranking.py,app/web/charts/*,app/core/access.py'
	@$(python) -m coverage report --skip-covered --fail-under=95 \
		--include='app/people/*,app/challenges/*,app/submissions/*,app/results/*,app/boards/*,app/figures/*,app/images/*,app/evaluation/*,app/organising/*,app/home/*'

check: $(development) ## format, lint, types, contracts, templates, spelling
	$(python) -m ruff format --check .
	$(python) -m ruff check .
	$(python) -m mypy
	$(python) -m mypy benchmarks/programs/*.py
	$(python) -c 'from importlinter.cli import lint_imports_command as lint; lint()'
	$(python) -m djlint --quiet --lint templates
	$(python) -m codespell_lib

fix: $(development) ## format, and fix what can be fixed by machine
	$(python) -m ruff check --fix .
	$(python) -m ruff format .

migration: $(development) ## write a migration from the models (m="what changes")
	$(python) -m app migration "$(m)"

migrate: $(server) ## bring the database of HELDOUT_DATABASE_URL to the newest schema
	$(python) -m app migrate

api: $(development) ## store what the API promises from now on, in tests/architecture/openapi.json
	@$(python) -m tests.architecture.api_changes

illustrations: $(development) ## take the pictures of the documents again from what `make run` serves (needs Chromium)
	$(python) -m tests.browser.illustrations

attackers: $(development) ## what programs recover of hidden labels under each disclosure (an hour), written into SECURITY.md
	@$(python) -m tests.security.attackers

golden: $(development) ## score the recorded results of the development kits again
	$(python) -m pytest tests/scoring -k golden

docs: $(development) ## pages of the scoring library from its docstrings and protocols, in build/docs
	@$(python) -m docs build/docs

lock: ## resolve requirements.lock and requirements-dev.lock anew
	$(uv) pip compile $(resolve) -o requirements.lock
	$(uv) pip compile $(resolve) --extra dev -c requirements.lock -o requirements-dev.lock

resolve := --quiet --universal --generate-hashes --no-emit-index-url --no-emit-package heldout-scoring --python-version 3.11 pyproject.toml

clean: ## remove .venv and every cache; heldout-data stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage* build *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What a server needs, and on top of it what is needed to work on this project; the second contains the first.
$(server): requirements.lock scoring/pyproject.toml
	@$(call install,$(if $(wildcard $(development)),requirements-dev.lock,requirements.lock),$@)

$(development): requirements-dev.lock scoring/pyproject.toml
	@$(call install,requirements-dev.lock,$@)
	@printf %s "$(CURDIR)" > $(server)

# uv where it can be installed, because it is faster; pip otherwise. Both check every hash. The library is
# installed as it lies in the checkout; the server is not built: Python finds it by a path file, the shell by a script.
library := --no-deps --no-build-isolation --editable scoring

define install
	{ $(or $(PYTHON),python3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo 'Python 3.11 or newer is needed and was not found; name one: make $(MAKECMDGOALS) PYTHON=python3.12' >&2; exit 1; }; } \
	&& echo 'installing into .venv (about half a minute)' \
	&& { $(python) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv; } \
	&& { $(uv) --version >/dev/null 2>&1 || $(python) -m pip install -qq --target .venv/uv uv || true; } \
	&& { $(uv) pip sync --quiet --python $(python) --require-hashes $(1) 2>/dev/null \
		|| $(python) -m pip install -qq --no-deps --require-hashes -r $(1); } \
	&& { $(uv) pip install --quiet --python $(python) $(library) 2>/dev/null || $(python) -m pip install -qq $(library); } \
	&& rm -rf .venv/uv \
	&& echo "$(CURDIR)" > "$$($(python) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/heldout.pth" \
	&& install -m 755 bin/heldout-server .venv/bin/heldout-server \
	&& printf %s "$(CURDIR)" > $(2)
endef

.PHONY: help install run serve worker test test-slow nemesis coverage coverage-report check fix migration migrate api golden docs illustrations lock clean
