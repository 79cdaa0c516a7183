"""Lines of JSON, from a file."""

import gzip
from collections.abc import Iterator
from pathlib import Path


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not blank, with its number from 1; ``.gz`` files are unpacked. Only a
    line feed ends a line, since texts hold U+2028. Raises OSError or EOFError.
    """
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line
