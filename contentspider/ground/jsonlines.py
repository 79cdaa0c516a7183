"""Lines of JSON, from a file."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, with its number; only a line feed ends a line."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line
