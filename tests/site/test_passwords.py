"""Passwords in the addresses of links: no page that is stored, and no item, has one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.compression import unpack
from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.single_page import extract_page
from contentspider.site.models.record import OptionalFields, page_fields
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = "tea-4711"
PLACE = f"https://me:{HIDDEN}@e.org"
HTML = f"""<base href="{PLACE}/">
<link rel=canonical href="{PLACE}/a"><meta property=og:image content="{PLACE}/i.png">
<article><h1>Tea</h1><p>{prose(1)} <a href="{PLACE}/x">here</a>, <a href="y">there</a>,
<a href="//me:{HIDDEN}@e.org/z">or there</a>, <a href="mailto:me@e.org">or by mail</a></p>
<img src="{PLACE}/p.png" alt="A pot of tea"><p>{prose(2)}</p>
<iframe src="{PLACE}/film"></iframe><video src="{PLACE}/film.mp4"></video><p>{prose(3)}</p>"""


@pytest.mark.parametrize("is_stored", [False, True])
def test_passwords_in_links_are_removed_from_items(is_stored: bool) -> None:
    page = Page.from_html(HTML, "https://e.org/a")
    page = Page.load(page.dump()) if is_stored else page
    extraction = extract_page(page, "e.org", Prior.shipped())
    item = page_fields(page, "e.org", extraction, "1", OptionalFields(500, True, True))
    assert HIDDEN not in json.dumps(item)
    assert "[here](https://e.org/x), [there](https://e.org/y)" in item["content_markdown"]
    assert "(mailto:me@e.org)" in item["content_markdown"]
    assert "![A pot of tea](https://e.org/p.png)" in item["content_markdown"]


def test_passwords_in_links_are_removed_from_stored_pages() -> None:
    assert HIDDEN not in unpack(Page.from_html(HTML, "https://e.org/a").dump()).decode()


def test_password_in_address_is_removed_from_archived_page(tmp_path: Path) -> None:
    sources = pytest.importorskip("contentspider.archive.sources")
    shard = tmp_path / "pages.jsonl"
    shard.write_text(json.dumps({"url": f"{PLACE}/a b?c=me@e.org", "html": "<p>Tea"}))
    (page,) = sources.read_shard(str(shard))
    assert page.url == "https://e.org/a%20b?c=me@e.org"
