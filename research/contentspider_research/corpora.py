"""What experiments and crawls of corpora need to know of a site, by its ``site.json``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.evaluation.corpora import Corpus

# Suites of which the prior learns otherwise than of sites: single pages, and references of code.
SINGLE, REFERENCES = "pages", "references"


def group_of(corpus: Corpus) -> str:
    """Return what sites of one owner share: the id without a year (``news-2005-bbc``)."""
    return re.sub(r"-(?:19|20)\d\d(?=-|$)", "", corpus.name)


def start_paths(corpus: Corpus) -> list[str]:
    """Return where a crawl of the site starts."""
    paths = corpus.about.get("start_paths")
    return [str(path) for path in paths] if isinstance(paths, list) else []


def bases(corpus: Corpus) -> list[str]:
    """Return the addresses that the site had: hosts, with or without a path."""
    aliases = corpus.about.get("host_aliases")
    found = [corpus.about.get("base_url"), *(aliases if isinstance(aliases, list) else [])]
    return [str(base) for base in found if base]


def is_crawlable(corpus: Corpus) -> bool:
    """Tell whether the site's pages are linked to each other."""
    return bool(corpus.about.get("crawlable")) and bool(start_paths(corpus))
