"""Reads ``llms.txt`` (https://llmstxt.org), a list of a site's pages, and ``llms-full.txt``, which
has the Markdown of pages.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.addresses import absolute, join, split_address
from contentspider.page.input.body import HTML_BEGINNING, decode, is_binary
from contentspider.site.own.readers.markdown import plain, plain_lines
from contentspider.site.own.readers.reading import MAX_BODY_BYTES, join_lines, own_text
from contentspider.site.own.readers.versions import is_llms, page_address
from contentspider.site.own.texts import MAX_TEXTS, OwnText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.sources import Announced

LIST, FULL = "llms.txt", "llms-full.txt"
MAX_LINKS = 20_000
# Addresses may have parentheses in pairs.
LINK = re.compile(r"\]\(\s*<?((?:[^\s<>()]|\([^\s<>()]{0,200}\)){1,2000})")
HEADING = re.compile(r"#[ \t]+(\S.*)")
# The line below a page's heading that has its address: "Source: https://...", "<https://...>".
SOURCE = re.compile(r"(?:[A-Za-z ]{1,20}:[ \t]*)?<?(https?://[^\s<>]+)>?[ \t]*")
RULE = re.compile(r"-{3,}[ \t]*")
PROPERTY = re.compile(r"([a-z_]{1,20}):[ \t]*(\S.*)", re.IGNORECASE)
ADDRESS_KEYS = ("url", "source", "source_url", "link", "permalink")
MAX_PROPERTIES = 30


class Listed(NamedTuple):
    """The addresses in an ``llms.txt``: of *pages*, and of *own_texts*, the best first."""

    pages: list[str]
    own_texts: list[str]


class Start(NamedTuple):
    """The beginning of a page in an ``llms-full.txt``: the lines from *first* to *end* have its
    address and its *title*.
    """

    first: int
    end: int
    address: str
    title: str


class LlmsText:
    """The own texts of ``llms-full.txt``, in the forms that name each page's address."""

    name = "llms"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the address of the host's ``llms.txt`` for a start page."""
        if announced.is_start and (address := join(announced.url, f"/{LIST}")):
            yield address

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the texts of the first `MAX_TEXTS` pages whose addresses the body names."""
        lines = _text(body, url, content_type).splitlines()
        starts = list(islice(_starts(lines, url), MAX_TEXTS + 1))
        ends = [start.first for start in starts[1:]] + [len(lines)]
        texts: dict[str, OwnText] = {}
        for start, end in zip(starts[:MAX_TEXTS], ends, strict=False):
            page_lines = [start.title, *plain_lines("\n".join(lines[start.end : end]))]
            if text := join_lines(page_lines[1:]):
                if not text.startswith(start.title):
                    text = join_lines(page_lines)
                own = own_text(start.address, text, f"llms {url}", start.title)
                texts.setdefault(start.address, own)
        return list(texts.values())


def read_links(body: bytes, url: str, content_type: str = "") -> Listed:
    """Return the addresses that an ``llms.txt`` links to, at most `MAX_LINKS`. A link to a page's
    Markdown counts as a link to its page, too.
    """
    text = _text(body, url, content_type)
    links = (absolute(url, match[1]) for match in LINK.finditer(text))
    addresses = dict.fromkeys(filter(None, islice(links, MAX_LINKS)))
    lists = [address for address in addresses if is_llms(address)]
    if text and not any(address.endswith(FULL) for address in lists):
        lists.append(join(url, FULL))
    lists.sort(key=lambda address: not address.endswith(FULL))
    pages = [address for address in addresses if not is_llms(address)]
    markdown = [page for page in pages if split_address(page).path.lower().endswith(".md")]
    return Listed(list(dict.fromkeys(map(page_address, pages))), [*lists, *markdown])


def _text(body: bytes, url: str, content_type: str) -> str:
    """Return the text of a list or a collection, "" if the body is something else."""
    if not is_llms(url) or is_binary(body) or HTML_BEGINNING.match(body[:1_000]):
        return ""
    return decode(body[:MAX_BODY_BYTES], content_type)


def _starts(lines: list[str], url: str) -> Iterator[Start]:
    """Yield the beginnings of pages: a heading with an address below it, or front matter with an
    address.
    """
    end = 0
    for number, line in enumerate(lines):
        if number < end:
            continue
        start = None
        if HEADING.match(line):
            start = _start_at_heading(lines, number)
        elif RULE.fullmatch(line):
            start = _start_at_front_matter(lines, number, url)
        if start is not None:
            end = start.end
            yield start


def _start_at_heading(lines: list[str], number: int) -> Start | None:
    heading = HEADING.match(lines[number])
    below = number + 1
    while below < min(len(lines), number + 3) and not lines[below].strip():
        below += 1
    source = SOURCE.fullmatch(lines[below][:2_100]) if below < len(lines) else None
    address = absolute(source[1], "") if source else ""
    if heading is None or not address:
        return None
    return Start(number, below + 1, page_address(address), plain(heading[1].rstrip("# \t")))


def _start_at_front_matter(lines: list[str], number: int, url: str) -> Start | None:
    properties: dict[str, str] = {}
    for below in range(number + 1, min(len(lines), number + MAX_PROPERTIES)):
        if RULE.fullmatch(lines[below]):
            address = next((properties[key] for key in ADDRESS_KEYS if key in properties), "")
            page = absolute(url, address) if address else ""
            if not page:
                return None
            return Start(number, below + 1, page_address(page), properties.get("title", ""))
        if match := PROPERTY.fullmatch(lines[below][:2_100]):
            properties.setdefault(match[1].lower(), match[2].strip().strip("\"'"))
    return None
