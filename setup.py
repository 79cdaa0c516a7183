"""The compiled modules; everything else about the package is in pyproject.toml."""

import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup

page = [
    Extension(
        f"contentspider.page.{name}",
        [f"contentspider/page/{name}.pyx"],
        include_dirs=lxml.get_include(),
    )
    for name in ("_block", "_elements", "_hints", "_images", "_paths", "_text", "_tree", "_walk")
]
rows = Extension("contentspider.site.rows", ["contentspider/site/rows.py"])
setup(ext_modules=cythonize([*page, rows], build_dir="build"))
