"""The compiled modules; everything else about the package is in pyproject.toml."""

from pathlib import Path

import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup

page = [
    Extension(f"contentspider.page.{path.stem}", [str(path)], include_dirs=lxml.get_include())
    for path in sorted(Path("contentspider/page").glob("*.pyx"))
]
rows = Extension("contentspider.site.rows", ["contentspider/site/rows.py"])
setup(ext_modules=cythonize([*page, rows], build_dir="build"))
