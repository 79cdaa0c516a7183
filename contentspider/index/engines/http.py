"""What engines that are asked by HTTP have in common: where they are, and when to ask again."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from contentspider.index.engine import shown
from contentspider.index.errors import EngineError

NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def place(url: str) -> tuple[str, str]:
    """Return the server's base address and the index's name of ``engine://host:port/name``, or
    ``engine+https://host:port/name``; raises `EngineError` if *url* is not like that.

    >>> place("typesense+https://search.example.org/pages")
    ('https://search.example.org', 'pages')
    """
    scheme, _, rest = url.partition(":")
    parts = urlsplit(f"{'https' if scheme.endswith('+https') else 'http'}:{rest}")
    name = parts.path.removeprefix("/")
    try:
        is_whole = parts.hostname and parts.port != 0 and NAME.fullmatch(name)
    except ValueError:
        is_whole = False
    if not is_whole:
        engine = scheme.removesuffix("+https")
        raise EngineError(
            f"{shown(url)!r} does not say where: write {engine}://host:port/index (or"
            f" {engine}+https://), and the index in letters, digits, '_' and '-'"
        )
    return f"{parts.scheme}://{parts.netloc}", name


def key(url: str, name: str) -> str:
    """Return the environment variable of this *name*; raises `EngineError` if it is not set."""
    if value := os.environ.get(name):
        return value
    raise EngineError(f"{shown(url)} needs a key: set {name} in the environment")


def seconds(header: str | None) -> float:
    """Return how long a ``Retry-After`` header asks to wait; 0 if it gives no number of seconds.

    >>> seconds("7"), seconds("Wed, 21 Oct 2026 07:28:00 GMT"), seconds(None)
    (7.0, 0.0, 0.0)
    """
    return float(header) if header and header.isdecimal() else 0.0
