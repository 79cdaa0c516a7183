"""Reads the front matter of Markdown files."""

from __future__ import annotations

import re

FRONT_MATTER = re.compile(r"\s*(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|$)", re.DOTALL)
PROPERTY = re.compile(r"^(title|author|date|lastmod)[ \t]*[:=][ \t]*(.+)", re.MULTILINE)


def split_front_matter(markdown: str) -> tuple[dict[str, str], str]:
    """Return the properties in the front matter (YAML or TOML) of Markdown, and the text after it.

    Only the properties of `PROPERTY` are read.
    """
    match = FRONT_MATTER.match(markdown)
    if match is None:
        return {}, markdown
    properties = {key: value.strip().strip("\"'") for key, value in PROPERTY.findall(match[2])}
    return properties, markdown[match.end() :]
