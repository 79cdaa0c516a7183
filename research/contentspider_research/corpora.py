"""What experiments need to know of a corpus by its ``site.json``, and how a corpus is written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from contentspider.evaluation.corpora import GOLD
from contentspider.ground.atomic import replacing, writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from contentspider.evaluation.corpora import Corpus

# The suite of references of code, of which the prior learns otherwise than of other sites.
REFERENCES = "references"


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


def write_page(folder: Path, path: str, html: bytes) -> None:
    """Write a page of the corpus in *folder*; raises `ContentSpiderError` if it cannot be."""
    file = folder / "html" / path
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as written:
        written.write(html)


def write_gold(folder: Path, rows: Iterable[dict[str, str]]) -> None:
    """Write the gold of the corpus in *folder*: ``path``, ``text`` and ``optional_text`` each."""
    with replacing(folder / GOLD) as written:
        for row in rows:
            written.write((json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
