"""The compiled modules; everything else about the package is in pyproject.toml."""

from pathlib import Path

import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup

compiled = [
    Extension(
        ".".join(path.with_suffix("").parts),
        [str(path)],
        include_dirs=lxml.get_include() if "page" in path.parts else [],
    )
    for path in sorted(Path("contentspider").rglob("*.pyx"))
]
# Python with types beside it.
compiled += [
    Extension(".".join(path.with_suffix("").parts), [str(path.with_suffix(".py"))])
    for path in sorted(Path("contentspider").rglob("*.pxd"))
    if path.with_suffix(".py").exists()
]
# What only debuggers need takes a third of the compilers' time.
for module in compiled:
    module.extra_compile_args = ["-g0"]
# Compilers run in threads, on all cores.
setup(
    ext_modules=cythonize(compiled, build_dir="build"),
    options={"build_ext": {"parallel": True}},
)
