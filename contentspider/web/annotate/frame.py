"""A page as it is shown for annotation: with its looks, and nothing in it that acts."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urljoin, urlsplit

from lxml import etree

from contentspider.page.input.body import as_utf8, parse
from contentspider.page.tree.blocks import read_tree
from contentspider.web.painted import disarm

if TYPE_CHECKING:
    from pathlib import Path

    from lxml.etree import _Element

    from contentspider.page.tree.blocks import PageBlocks

# Which container an element is (`contentspider.page.tree.blocks.Block.container`).
CONTAINER = "data-contentspider-container"
# No script runs in the frame, not even ours: that of the page around it reads where texts are.
POLICY = (
    "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline' {from_};"
    " img-src {from_}; font-src {from_}; base-uri 'none'; frame-ancestors 'self'"
)
REMOTE = " http: https:"
STYLE = "* { animation: none !important; transition: none !important; scroll-behavior: auto; }"
NAMED_IN_FORMS = frozenset("button fieldset img input object output select textarea".split())
ASSET_KINDS = ("text/css", "image/", "font/")


class Frame:
    """Makes pages for the frame; style sheets and pictures are those in the folder *assets*, with
    *is_remote* also those on the web.
    """

    def __init__(self, assets: Path | None, is_remote: bool = False) -> None:
        self._root = assets.resolve() if assets is not None else None
        self._is_remote = is_remote

    def policy(self, server: str) -> str:
        """Return the policy of the frame; *server* is the address of the application."""
        return POLICY.format(from_=f"{server}asset/{REMOTE if self._is_remote else ''}")

    def html(self, body: bytes, path: str, page: PageBlocks) -> str:
        """Return the HTML of the page at *path*; its elements with blocks say which they are."""
        root = parse(as_utf8(body))
        elements: list[_Element] = []
        content, _ = read_tree(root, containers=elements)
        for element in root.iter("*"):
            # Names would stand for what the page around it asks the document, or a form, for.
            named = ("id",) if element.tag in NAMED_IN_FORMS else ()
            for name in ("name", CONTAINER, *named):
                element.attrib.pop(name, "")
        if len(content.tags) == len(page.tags):
            for container in {block.container for block in page.blocks}:
                elements[container].set(CONTAINER, str(container))
        sheets = [
            address
            for link in root.iter("link")
            if "stylesheet" in str(link.get("rel", "")).lower().split()
            and (address := self._address(str(link.get("href", "")), path))
        ]
        pictures = {
            picture: address
            for picture in root.iter("img")
            if (address := self._address(str(picture.get("src", "")), path))
        }
        disarm(root, keeps_style=True)
        for picture, address in pictures.items():
            picture.set("src", address)
        head = etree.Element("head")
        etree.SubElement(head, "meta", charset="utf-8")
        for address in sheets:
            etree.SubElement(head, "link", rel="stylesheet", href=address)
        etree.SubElement(head, "style").text = STYLE
        shown = etree.tostring(root, encoding="unicode", method="html")
        return "<!DOCTYPE html>" + etree.tostring(head, encoding="unicode", method="html") + shown

    def asset(self, name: str) -> tuple[bytes, str] | None:
        """Return the bytes and the type of a file of the site; None if there is none."""
        kind = mimetypes.guess_type(name)[0] or ""
        if self._root is None or not kind.startswith(ASSET_KINDS):
            return None
        try:
            file = (self._root / name).resolve()
            return (file.read_bytes(), kind) if file.is_relative_to(self._root) else None
        except (OSError, ValueError):
            return None

    def _address(self, given: str, path: str) -> str:
        """Return where something of a page is loaded from, "" if it is not to be loaded."""
        try:
            parts = urlsplit(given.strip())
        except ValueError:
            return ""
        if parts.scheme in ("http", "https"):
            return given.strip() if self._is_remote else ""
        if self._root is None or parts.scheme or parts.netloc or not parts.path:
            return ""
        name = urljoin("/" + quote(path), parts.path).lstrip("/")
        return "/asset/" + name if self.asset(unquote(name)) else ""
