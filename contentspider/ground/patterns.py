"""Patterns of addresses, as users write them in options."""

from __future__ import annotations

import fnmatch
import re

from contentspider.ground.errors import ContentSpiderError

REGEX_MARK = "re:"
SCHEMES = ("http://", "https://")


def compile_pattern(text: str) -> re.Pattern[str]:
    r"""Return a regular expression to search addresses with. After ``re:`` the pattern is one.
    Otherwise ``*`` matches anything, and the pattern must match the whole address, or, if it begins
    with ``/``, the whole address from its path on.

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
            f"the pattern {text!r} is not a valid regular expression ({error}); correct it, or"
            f" leave out {REGEX_MARK!r} to use * for any characters"
        ) from error


def compile_address_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern for web addresses. Raises `ContentSpiderError` if
    the pattern cannot match any, such as ``news/*``.
    """
    pattern = compile_pattern(text)
    start = text.partition("*")[0]
    is_possible = any(start.startswith(scheme) or scheme.startswith(start) for scheme in SCHEMES)
    if not is_possible and not text.startswith(("/", REGEX_MARK)):
        raise ContentSpiderError(
            f"the pattern {text!r} matches no address: a pattern matches a whole address, or begins"
            f" with '/' and matches a whole path; give one like '/{text.lstrip('/')}' or '*{text}'"
        )
    return pattern
