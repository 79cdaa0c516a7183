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
    for name in ("_hints", "_walk")
]
scorer = Extension("contentspider.site.scorer", ["contentspider/site/scorer.py"])
setup(ext_modules=cythonize([*page, scorer], build_dir="build"))
