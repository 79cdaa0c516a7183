"""Public references of code, laid out as corpora: the prior is trained on them, too.

Each is a commit of a public repository, with selectors of its generator's content (Doxygen,
Javadoc, YARD, ...), in ``references.jsonl``. No page of theirs is shipped.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from dataclasses import dataclass
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from parsel import Selector

from contentspider.ground.atomic import write_json
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.body import as_utf8
from contentspider_research import REFERENCES_AT
from contentspider_research.corpora import REFERENCES, write_gold, write_page

if TYPE_CHECKING:
    from pathlib import Path

# More pages of a site say no more of its template.
MAX_PAGES = 260
# Pages with less text are frames and forwards.
MIN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Reference:
    """A commit of a *repository* (``owner/name``) that holds the HTML files of a reference.

    *pages* is a regular expression of the paths that have gold: what the selectors *content* match
    outside of *without*. Text at *optional* may be kept or not.
    """

    id: str
    repository: str
    commit: str
    pages: str
    content: str
    without: str
    optional: str


def references() -> list[Reference]:
    """Return the references that the shipped prior was trained on."""
    lines = files("contentspider_research").joinpath("references.jsonl").read_text("utf-8")
    return [Reference(**json.loads(line)) for line in lines.splitlines()]


def gold_of(html: bytes, site: Reference) -> dict[str, str] | None:
    """Return the ``text`` and ``optional_text`` of a page, None if it has hardly any outside of
    links: an index, a frame. Such are no gold pages of other corpora, either.
    """
    page = Selector(body=as_utf8(html), type="html")
    titles = "h1, title" + (f", {site.optional}" if site.optional else "")
    optional = " ".join(map(_text, page.css(titles)))
    page.css("script, style, noscript" + (f", {site.without}" if site.without else "")).drop()
    found = page.css(site.content)
    elements = {element.root for element in found}
    outer = [one for one in found if elements.isdisjoint(one.root.iterancestors())]
    text = "\n".join(map(_text, outer))
    linked = sum(len(_text(link)) for one in outer for link in one.css("a"))
    if len(text) < MIN_CHARS or linked > len(text) / 2:
        return None
    return {"text": text, "optional_text": optional}


def _text(element: Selector) -> str:
    return " ".join(" ".join(element.xpath(".//text()").getall()).split())


def fetch_reference(site: Reference, folder: Path, source: str = REFERENCES_AT) -> int:
    """Lay a sample of a reference out as a corpus in *folder*; return how many pages have gold.

    *source* is the address of repositories, with ``{owner}`` and ``{name}``. Raises
    `ContentSpiderError` if git cannot get it, or *folder* cannot be written.
    """
    owner, _, name = site.repository.partition("/")
    rows = []
    with TemporaryDirectory(prefix="contentspider-") as clone:
        _git(clone, "init", "--quiet")
        address = source.format(owner=owner, name=name)
        _git(clone, "fetch", "--quiet", "--depth=1", address, site.commit)
        listed = _git(clone, "ls-tree", "-r", "-z", "--name-only", site.commit).decode()
        paths = [path for path in listed.split("\0") if path.endswith((".html", ".htm"))]
        if not paths:
            raise ContentSpiderError(f"{site.repository}@{site.commit} has no HTML files")
        for path in sorted(random.Random(0).sample(paths, min(len(paths), MAX_PAGES))):
            html = _git(clone, "cat-file", "blob", f"{site.commit}:{path}")
            write_page(folder, path, html)
            gold = gold_of(html, site) if html.strip() and re.search(site.pages, path) else None
            if gold:
                rows.append({"path": path, **gold})
    write_gold(folder, rows)
    about = {
        "id": site.id,
        "suite": REFERENCES,
        "language": "en",
        "type": "reference",
        "origin": f"github:{site.repository}@{site.commit}",
    }
    write_json(folder / "site.json", about)
    return len(rows)


def _git(folder: str, *arguments: str) -> bytes:
    command = ["git", "-C", folder, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own command
    except FileNotFoundError as error:
        raise ContentSpiderError("git is not installed: references are fetched by it") from error
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise ContentSpiderError(f"git {arguments[0]} failed: {message}")
    return done.stdout
