"""Patterns of addresses, as people write them to say which pages they mean."""

from __future__ import annotations

import fnmatch
import re

from contentspider.ground.errors import ContentSpiderError

REGEX_MARK = "re:"


def compile_pattern(text: str) -> re.Pattern[str]:
    r"""Return the regular expression that searches an address for a pattern.

    ``re:`` marks a regular expression. Else ``*`` stands for any characters, and the pattern is the
    whole address, or, if it starts with ``/``, path and query.

    >>> bool(compile_pattern("/news/*").search("https://e.org/news/1?print=1"))
    True
    >>> bool(compile_pattern("*print=1").search("https://e.org/news/1?print=2"))
    False
    >>> bool(compile_pattern(r"re:/\d{4}/").search("https://e.org/2024/a"))
    True
    """
    try:
        if text.startswith(REGEX_MARK):
            return re.compile(text.removeprefix(REGEX_MARK))
        glob = fnmatch.translate(text.replace("[", "[[]").replace("?", "[?]"))
        return re.compile(("^[^:/]+://[^/?]*" if text.startswith("/") else "^") + glob)
    except re.error as error:
        raise ContentSpiderError(
            f"the pattern {text!r} is no regular expression ({error}); mend it, or leave out"
            f" {REGEX_MARK!r}, where * stands for any characters"
        ) from error
