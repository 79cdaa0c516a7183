"""The compiled modules, and a check of what compiles them; the rest is in pyproject.toml.

``python setup.py --check`` only checks: it needs no package.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

OLDEST_PYTHON = (3, 10)
# The command of each package manager that installs a compiler, Python's headers and venv.
INSTALL = {
    "apt-get": "apt-get install g++ make python3-dev python3-venv",
    "dnf": "dnf install gcc-c++ make python3-devel",
    "apk": "apk add g++ make python3-dev",
    "pacman": "pacman -S base-devel",
    "brew": "xcode-select --install",
}


def missing_tools() -> list[str]:
    """Return the build tools that are missing: compilers for C and C++, and Python's headers."""
    if os.name == "nt":
        return []  # setuptools finds the compiler of Visual Studio, and says if there is none
    missing = []
    for name, variable, usual in (("a C compiler", "CC", "cc"), ("a C++ compiler", "CXX", "c++")):
        configured = os.environ.get(variable) or sysconfig.get_config_var(variable) or usual
        if not shutil.which(configured.split()[0]):
            missing.append(f"{name} ({configured.split()[0]})")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        missing.append("Python's headers (Python.h)")
    return missing


def check_tools() -> None:
    """Exit with the line that installs missing build tools, before a download or a build begins."""
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        sys.exit(f"contentspider needs Python {wanted} or newer; this is {sys.version.split()[0]}")
    if missing := missing_tools():
        managers = (line for tool, line in INSTALL.items() if shutil.which(tool))
        advice = next(managers, "install them with your system's package manager")
        sys.exit(
            f"contentspider is compiled, and {' and '.join(missing)} cannot be found: {advice}\n"
            "(without a compiler, install from a wheelhouse: docs/installing.md)"
        )


def build() -> None:
    """Compile the modules. Compilers run in threads, on all cores."""
    import lxml
    from Cython.Build import cythonize
    from setuptools import Extension, setup
    from setuptools.command.build_ext import build_ext

    suffix = sysconfig.get_config_var("EXT_SUFFIX")

    def built_module(name: str) -> Path | None:
        """Return a module of the wheel that was built last, with REUSE_BUILT."""
        path = Path(*name.split(".")).with_suffix(suffix)
        is_reused = os.environ.get("REUSE_BUILT")
        return next(iter(Path("build").glob(f"lib.*/{path}")), None) if is_reused else None

    class Build(build_ext):
        """Compiles a module, or takes the built one."""

        def build_extension(self, ext: Extension) -> None:
            target = Path(self.get_ext_fullpath(ext.name))
            built = built_module(ext.name)
            if built is None:
                super().build_extension(ext)
            elif not target.exists() or not built.samefile(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(built, target)

    sources = sorted(Path("contentspider").rglob("*.pyx"))
    # Python with types beside it is compiled, too.
    typed = sorted(path.with_suffix(".py") for path in Path("contentspider").rglob("*.pxd"))
    sources += [path for path in typed if path.exists()]
    modules = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [str(path)],
            include_dirs=lxml.get_include() if "page" in path.parts else [],
            # Debug information takes a third of the compilers' time.
            extra_compile_args=["-g0"],
        )
        for path in sources
    ]
    # Cython would translate built modules again in each of pip's environments.
    built = [module for module in modules if built_module(module.name)]
    translated = [module for module in modules if module not in built]
    if translated:
        translated = cythonize(translated, build_dir="build", nthreads=os.cpu_count() or 1)
    setup(
        cmdclass={"build_ext": Build},
        ext_modules=built + translated,
        options={"build_ext": {"parallel": True}},
    )


# Processes that translate modules may import this file.
if __name__ == "__main__":
    check_tools()
    if sys.argv[1:] != ["--check"]:
        build()
