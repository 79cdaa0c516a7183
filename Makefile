# make crawl [URL=https://example.org] and make test set everything up themselves, in .venv.
# make wheelhouse builds wheels for machines without a compiler (docs/installing.md).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The package with none of its extras, installed from the wheelhouse as on a machine without a compiler.
CORE := build/core
# Modules are compiled when they are imported: that saves a third of the time.
INSTALL := install -q --no-compile
unexport PYTHONDONTWRITEBYTECODE
PACKAGE := $(shell find contentspider -type f ! -name '*.so' ! -path '*/__pycache__/*')
BUILT_FROM := pyproject.toml setup.py $(shell find contentspider -name '*.pyx' -o -name '*.pxd' | \
	sed 'p; s/\.pxd$$/.py/' | sort -u | xargs ls 2>/dev/null)

.PHONY: crawl test quick core quality kills nightly minimum lint docs bench prior folds clean

crawl: $(VENV)/.installed
ifdef URL
	$(BIN)/contentspider crawl "$(URL)" -o pages.jsonl
else
	$(BIN)/python examples/crawl_example.py -o pages.jsonl
endif

# More workers than cores: tests wait for servers. Four keep two cores busy, eight take longer. Tests
# marked `versions` run once, in the environment without extras; `make nightly` runs them in both.
test: $(VENV)/.installed-dev $(CORE)/.installed
	$(MAKE) -j 3 --output-sync=target lint docs core
	CONTENTSPIDER_DOCS_PYTHON=$(CURDIR)/$(CORE)/bin/python \
		$(BIN)/python -m pytest -n 4 --dist worksteal -m "not versions" --durations 15

# For each change: the tests of rooms that need no crawl, no process and no socket.
QUICK_TESTS := $(addprefix tests/,ground page site recrawl state index crawl run cli rules)
quick: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n 2 --quick -m "not large" $(QUICK_TESTS)

# The tests of the core in an environment without any extra; CI takes those marked `versions`.
CORE_TESTS := $(addprefix tests/,ground page site recrawl state index crawl run cli docs whole)
core: $(CORE)/.installed $(VENV)/.installed-dev
	PYTHONPATH=research $(CORE)/bin/python -m pytest -q -n 2 -p no:cacheprovider \
		$(if $(ALL),,-m versions) $(CORE_TESTS)

# All open corpora, by priors that are trained without them, and crawls killed at all moments; CI
# judges other sites, by the shipped prior, and kills at a sample of the moments.
quality: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --all-folds tests/whole/test_quality.py

kills: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --all-kills tests/whole/test_durability.py tests/crawl/test_outage.py \
		tests/whole/test_recrawls_killed.py tests/index/test_index_faults.py tests/run/test_run.py \
		tests/index/test_index_crawls_killed.py tests/archive/test_archive.py \
		tests/render/test_rendered_kills.py

# The whole of the tests, with all that CI takes a sample of.
nightly: $(VENV)/.installed-dev
	$(MAKE) core ALL=1
	CONTENTSPIDER_DOCS_PYTHON=$(CURDIR)/$(CORE)/bin/python \
		$(BIN)/python -m pytest -n 2 --dist worksteal --all-folds --all-kills --durations 15
	$(BIN)/nox -r -s sanitized
	$(BIN)/nox -r -s loaders
	$(BIN)/nox -r -s engines
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
		$(BIN)/nox -r -s minimum --force-python "$(OLDEST)" $(if $(ONLY),-- -m $(ONLY)); \
	fi

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-dev
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

bench: $(VENV)/.installed-dev
	$(BIN)/pip $(INSTALL) '.[bench]'
	$(BIN)/python benchmarks/per_page.py

# Trains the prior that ships, of the corpora in SHARED and of the references of code, which git
# fetches from REFERENCES_AT. With the same code, data and seed its digest is that of the file.
SHARED ?= ../shared
REFERENCES_AT ?= https://github.com/{owner}/{name}
CORPORA := build/corpora
prior: $(VENV)/.installed-dev
	$(BIN)/python $(SHARED)/unpack.py $(CORPORA)/sites
	$(BIN)/python $(SHARED)/unpack.py $(CORPORA)/own --own
	$(BIN)/python $(SHARED)/unpack.py $(CORPORA)/pages --pages
	$(BIN)/contentspider-research fetch-references $(CORPORA)/references --source '$(REFERENCES_AT)'
	OMP_NUM_THREADS=2 $(BIN)/contentspider-research train-prior $(CORPORA)/sites $(CORPORA)/own \
		$(CORPORA)/pages $(CORPORA)/references -o contentspider/site/judge/prior.npz
	$(BIN)/contentspider-research prior-card contentspider/site/judge/prior.npz -o models/README.md

# Trains the priors by which `make quality` judges single sites: each has not seen a quarter of them.
# Needed when what a prior sees of a block has changed; the floors are then set anew.
folds: $(VENV)/.installed-dev
	$(BIN)/python $(SHARED)/unpack.py $(CORPORA)/sites
	$(BIN)/python $(SHARED)/unpack.py $(CORPORA)/own --own
	$(BIN)/python $(SHARED)/unpack.py $(CORPORA)/pages --pages
	OMP_NUM_THREADS=2 $(BIN)/contentspider-research train-folds $(CORPORA)/sites $(CORPORA)/own \
		$(CORPORA)/pages --folds 4 -o tests/folds

# Wheels of contentspider, of pylcs and of all that the extras need.
wheelhouse: wheelhouse/.current

$(VENV)/.python: setup.py
	@$(PYTHON) setup.py --check
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip
	touch $@

$(VENV)/.installed: $(BUILT_FROM) | $(VENV)/.python
	$(BIN)/pip $(INSTALL) -e .
	touch $@

wheelhouse/.built: $(BUILT_FROM) | $(VENV)/.python
	mkdir -p wheelhouse
	rm -rf wheelhouse/contentspider-*.whl build/lib*
	$(BIN)/pip wheel -q --wheel-dir wheelhouse '.[all,testing]' pytest-xdist markdown-it-py mdit-py-plugins pyyaml
	touch $@

# After a change of Python files alone nothing is compiled again.
wheelhouse/.current: $(PACKAGE) wheelhouse/.built
	@if [ -n "$$(find $(PACKAGE) -newer wheelhouse/.built | head -n 1)" ]; then \
		find build/lib* -name '*.py' -delete; \
		REUSE_BUILT=1 $(BIN)/pip wheel -q --no-deps --wheel-dir wheelhouse .; \
	fi
	touch $@

# From the wheelhouse, so that nothing is downloaded or compiled twice.
$(VENV)/.installed-dev: wheelhouse/.built
	$(BIN)/pip $(INSTALL) --no-index --find-links wheelhouse 'contentspider[all,testing]'
	REUSE_BUILT=1 $(BIN)/pip $(INSTALL) -e '.[dev]' -e research
	touch $@ $(VENV)/.installed

$(CORE)/.installed: wheelhouse/.current
	$(PYTHON) -m venv --clear $(CORE)
	env -i HOME=/nonexistent $(CORE)/bin/python -m pip $(INSTALL) --no-index --no-cache-dir \
		--find-links wheelhouse 'contentspider[testing]' pytest-xdist markdown-it-py mdit-py-plugins pyyaml
	touch $@

clean:
	rm -rf $(VENV) .nox build wheelhouse docs/_build *.egg-info \
		$$(find contentspider -name '*.so') .scrapy .mypy_cache .ruff_cache .pytest_cache pages.jsonl
