"""Which modules doctest leaves out."""

from pathlib import Path

HERE = Path(__file__).parent
# What is imported of a module with a .pxd is its compiled form, in which doctest finds no source.
COMPILED = [path.with_suffix(".py") for path in HERE.glob("contentspider/**/*.pxd")]
# Their extras are not in `all`.
NAMES = ("langchain", "llamaindex", "haystack")
LOADERS = [
    HERE / f"contentspider/integrations/{name}.py"
    for name in ("langchain", "llamaindex", "haystack")
]
IGNORED = [HERE / "docs/conf.py", *(path for path in COMPILED if path.exists()), *LOADERS]
collect_ignore = [str(path) for path in IGNORED]
