"""The two compiled modules; everything else about the package is in pyproject.toml."""

import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup

walk = Extension(
    "contentspider.page._walk", ["contentspider/page/_walk.pyx"], include_dirs=lxml.get_include()
)
scorer = Extension("contentspider.site.scorer", ["contentspider/site/scorer.py"])
setup(ext_modules=cythonize([walk, scorer], build_dir="build"))
