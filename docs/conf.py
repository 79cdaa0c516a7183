"""Sphinx: ``nox -s docs``, or ``sphinx-build -W docs docs/_build``."""

import contentspider

project = "contentspider"
release = version = contentspider.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
exclude_patterns = ["_build"]
# Headings that other pages link to.
myst_heading_anchors = 3
default_role = "code"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
