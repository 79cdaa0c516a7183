"""The compiled modules; everything else about the package is in pyproject.toml."""

from pathlib import Path

import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup

compiled = [
    Extension(
        ".".join(path.with_suffix("").parts),
        [str(path)],
        include_dirs=lxml.get_include() if path.parent.name == "page" else [],
    )
    for path in sorted(Path("contentspider").rglob("*.pyx"))
]
rows = Extension("contentspider.site.rows", ["contentspider/site/rows.py"])
setup(ext_modules=cythonize([*compiled, rows], build_dir="build"))
