"""The HTML of a page for the annotation frame: with its styles, without active content."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urljoin, urlsplit

from lxml import etree

from contentspider.page.input.body import as_utf8, parse
from contentspider.page.tree.blocks import read_tree
from contentspider.web.preview import remove_active_content

if TYPE_CHECKING:
    from pathlib import Path

    from lxml.etree import _Element

    from contentspider.page.tree.blocks import PageBlocks

# The attribute with the number of an element as a container (`page.tree.blocks.Block`).
CONTAINER = "data-contentspider-container"
# The frame runs no scripts. The script of the page around the frame reads positions from it.
POLICY = (
    "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline' {sources};"
    " img-src {sources}; font-src {sources}; base-uri 'none'; frame-ancestors 'self'"
)
REMOTE = " http: https:"
STYLE = "* { animation: none !important; transition: none !important; scroll-behavior: auto; }"
FORM_ELEMENTS = frozenset("button fieldset img input object output select textarea".split())
ASSET_KINDS = ("text/css", "image/", "font/")


class Frame:
    """Prepares pages for the frame.

    The frame loads style sheets and pictures from the folder *assets*, and with *is_remote* also
    from the web.
    """

    def __init__(self, assets: Path | None, is_remote: bool = False) -> None:
        self._root = assets.resolve() if assets is not None else None
        self._is_remote = is_remote

    def policy(self, server: str) -> str:
        """Return the frame's Content-Security-Policy; *server* is the application's address."""
        return POLICY.format(sources=f"{server}asset/{REMOTE if self._is_remote else ''}")

    def html(self, body: bytes, path: str, page: PageBlocks) -> str:
        """Return the HTML of the page at *path* for the frame.

        Each element with blocks gets its container number in the attribute `CONTAINER`.
        """
        root = parse(as_utf8(body))
        elements: list[_Element] = []
        content, _ = read_tree(root, containers=elements)
        _remove_names(root)
        if len(content.tags) == len(page.tags):
            for container in {block.container for block in page.blocks}:
                elements[container].set(CONTAINER, str(container))
        sheets = self._style_sheets(root, path)
        pictures = {
            picture: address
            for picture in root.iter("img")
            if (address := self._asset_address(str(picture.get("src", "")), path))
        }
        remove_active_content(root, keeps_style=True)
        for picture, address in pictures.items():
            picture.set("src", address)
        head = etree.Element("head")
        etree.SubElement(head, "meta", charset="utf-8")
        for address in sheets:
            etree.SubElement(head, "link", rel="stylesheet", href=address)
        etree.SubElement(head, "style").text = STYLE
        head_html, page_html = (
            etree.tostring(tree, encoding="unicode", method="html") for tree in (head, root)
        )
        return f"<!DOCTYPE html>{head_html}{page_html}"

    def _style_sheets(self, root: _Element, path: str) -> list[str]:
        """Return the addresses of a page's style sheets that may be loaded."""
        addresses = [
            self._asset_address(str(link.get("href", "")), path)
            for link in root.iter("link")
            if "stylesheet" in str(link.get("rel", "")).lower().split()
        ]
        return [address for address in addresses if address]

    def asset(self, name: str) -> tuple[bytes, str] | None:
        """Return the content and the media type of a file in the site's folder, or None."""
        kind = mimetypes.guess_type(name)[0] or ""
        if self._root is None or not kind.startswith(ASSET_KINDS):
            return None
        try:
            file = (self._root / name).resolve()
            return (file.read_bytes(), kind) if file.is_relative_to(self._root) else None
        except (OSError, ValueError):
            return None

    def _asset_address(self, link: str, path: str) -> str:
        """Return the address for a link of the page at *path*, or "" if it may not be loaded."""
        try:
            parts = urlsplit(link.strip())
        except ValueError:
            return ""
        if parts.scheme in ("http", "https"):
            return link.strip() if self._is_remote else ""
        if self._root is None or parts.scheme or parts.netloc or not parts.path:
            return ""
        name = urljoin("/" + quote(path), parts.path).lstrip("/")
        return "/asset/" + name if self.asset(unquote(name)) else ""


def _remove_names(root: _Element) -> None:
    """Remove names and ids that could replace properties of the document, or of a form.

    The script around the frame uses these properties: ``<img name="body">`` replaces
    ``document.body``.
    """
    for element in root.iter("*"):
        names = ["name", CONTAINER]
        if element.tag in FORM_ELEMENTS:
            names.append("id")
        for name in names:
            element.attrib.pop(name, "")
