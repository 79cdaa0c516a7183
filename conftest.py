"""Which modules doctest leaves out."""

from pathlib import Path

HERE = Path(__file__).parent
# What is imported of a module with a .pxd is its compiled form, in which doctest finds no source.
COMPILED = [path.with_suffix(".py") for path in HERE.glob("contentspider/**/*.pxd")]
collect_ignore = [str(HERE / "docs/conf.py"), *(str(path) for path in COMPILED if path.exists())]
