# make crawl [URL=https://example.org] and make test set everything up themselves, in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What builds the packages is installed once, not for each of them; modules are compiled when they
# are imported: two thirds of the time.
INSTALL := $(BIN)/pip install -q --no-build-isolation --no-compile
unexport PYTHONDONTWRITEBYTECODE
BUILT_FROM := pyproject.toml setup.py $(wildcard */pyproject.toml) $(shell find contentspider -name '*.pyx' -o -name '*.pxd' | \
	sed 'p; s/\.pxd$$/.py/' | sort -u | xargs ls 2>/dev/null)

.PHONY: crawl test quality kills nightly minimum lint docs bench clean

crawl: $(VENV)/.installed
ifdef URL
	$(BIN)/contentspider crawl "$(URL)" -o pages.jsonl
else
	$(BIN)/python examples/crawl_example.py -o pages.jsonl
endif

# More workers than cores: tests wait for servers. Four keep two cores busy, eight take longer.
test: $(VENV)/.installed-dev lint docs
	$(BIN)/python -m pytest -n 4 --dist worksteal --durations 15

# All open corpora, by priors that are trained without them, and crawls killed at all moments; CI
# judges other sites, by the shipped prior, and kills at a sample of the moments.
quality: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --all-folds tests/test_quality.py

kills: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --all-kills tests/test_durability.py tests/test_outage.py \
		tests/test_recrawls_killed.py tests/test_index_faults.py tests/test_run.py \
		tests/test_index_crawls_killed.py archive/tests/test_archive.py

# The whole of the tests, with all that CI takes a sample of.
nightly: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --all-folds --all-kills --durations 15
	$(BIN)/nox -r -s sanitized
	$(MAKE) minimum ONLY=versions

# The oldest Python that is supported, if one with headers is here, and the lowest version of every
# dependency. With ONLY=versions those tests of which a library's version decides.
HEADERS := import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")
OLDEST = $(shell for python in python3.10 ~/.pyenv/versions/3.10.*/bin/python; do \
	$$python -c '$(HEADERS)' 2>/dev/null && command -v $$python && break; done)
minimum: $(VENV)/.installed-dev
	@if [ -z "$(OLDEST)" ]; then \
		echo "no Python 3.10 with headers is here: the lowest versions are not tested" >&2; \
	else \
		$(BIN)/nox -r -s minimum --force-python "$(OLDEST)" $(if $(ONLY),-- -m $(ONLY) tests); \
	fi

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-dev
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

bench: $(VENV)/.installed-dev
	$(INSTALL) -e '.[bench]' -e research
	$(BIN)/python benchmarks/per_page.py

$(VENV)/.python: Makefile
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip setuptools cython lxml
	touch $@

$(VENV)/.installed: $(BUILT_FROM) | $(VENV)/.python
	$(INSTALL) -e .
	touch $@

$(VENV)/.installed-dev: $(BUILT_FROM) | $(VENV)/.python
	$(INSTALL) -e '.[dev]' -e research -e 'engines[all]' -e render -e rules -e web -e 'archive[dask,parquet]' -e 'cluster[celery]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .nox build docs/_build *.egg-info $$(find contentspider -name '*.so') .scrapy .mypy_cache .ruff_cache .pytest_cache pages.jsonl
