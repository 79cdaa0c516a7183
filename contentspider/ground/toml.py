"""Reads TOML files that users write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.ground.errors import ContentSpiderError


def read_toml(path: Path, error_type: type[ContentSpiderError]) -> dict[str, Any]:
    """Return the content of a TOML file; raises an error of *error_type* that names the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise error_type(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise error_type(f"{path} is not UTF-8 text ({error.reason})") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        # The cause is left out: it may have the text of the file, with secrets in it.
        raise error_type(f"{path} is not TOML: {error}") from None
