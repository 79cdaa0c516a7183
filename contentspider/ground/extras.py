"""The optional dependencies (extras) of the package, and the error for a missing one."""

from __future__ import annotations

from importlib.util import find_spec

from contentspider.ground.errors import ContentSpiderError

# The modules that each extra of pyproject.toml installs and our code imports.
EXTRAS = {
    "search": ("tantivy",),
    "postgresql": ("psycopg",),
    "typesense": ("typesense",),
    "meilisearch": ("meilisearch",),
    "opensearch": ("opensearchpy",),
    "elasticsearch": ("elasticsearch",),
    "web": ("starlette", "uvicorn", "jinja2", "tomlkit", "nh3", "prometheus_client"),
    "mcp": ("starlette", "uvicorn", "pydantic", "mcp"),
    "render": ("scrapy_playwright",),
    "documents": ("pypdfium2", "anydoc", "markdown_it"),
    "language": ("py3langid",),
    "progress": ("rich",),
    "completion": ("shtab",),
    "monitors": ("spidermon",),
    "notify": ("apprise",),
    "parquet": ("pyarrow",),
    "warc": ("warcio",),
    "remote": ("fsspec", "s3fs"),
    "archive": ("fsspec", "fastwarc", "warcio"),
    "dask": ("distributed",),
    "langchain": ("langchain_core",),
    "llamaindex": ("llama_index",),
    "haystack": ("haystack",),
    "testing": ("pytest",),
}


class MissingExtraError(ContentSpiderError):
    """A feature needs an extra that is not installed; the message has the command to install it."""

    code = "missing-extra"


def is_installed(extra: str) -> bool:
    """Tell whether all modules of an extra are installed."""
    return all(find_spec(module) is not None for module in EXTRAS[extra])


def require(extra: str, feature: str) -> None:
    """Raise `MissingExtraError` if an extra that a *feature* needs is not installed."""
    if not is_installed(extra):
        raise MissingExtraError(f"{feature} needs: pip install 'contentspider[{extra}]'")
