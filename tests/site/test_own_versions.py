"""Own texts in AMP and print versions of pages."""

from __future__ import annotations

import numpy as np
import pytest
from parsel import Selector

from contentspider.crawl.base.links import read_head
from contentspider.site.own.evidence import gather_evidence
from contentspider.site.own.readers.versions import Version
from contentspider.site.own.sources import Announced
from tests.sites import site_of

URL = "https://e.org/print/tea"
HEAD = "<!DOCTYPE html><title>Tea</title><link rel=canonical href='/tea'>"
TEXT = "<p>Tea is made of leaves.<p>And of hot water."


def test_version_links_are_distinguished_from_stylesheets() -> None:
    head = read_head(
        Selector(
            text="<link rel=stylesheet media=print href=/a.css><link rel=amphtml href=/amp>"
            "<link rel=alternate media=Print href=/print><link rel=alternate media=tv href=/tv>"
        ).root,
        "https://e.org/",
    )
    announced = Announced("https://e.org/", tuple(head.links))
    assert list(Version().addresses(announced)) == ["/amp", "/print"]


def test_version_has_text_of_its_canonical_page() -> None:
    (own,) = Version().read((HEAD + TEXT).encode(), URL, "text/html")
    assert own.url == "https://e.org/tea"
    assert (own.text, own.title) == ("Tea is made of leaves.\nAnd of hot water.", "Tea")


@pytest.mark.parametrize(
    ("html", "source"),
    [
        ("<html amp lang=en>", "amp"),
        ("<html lang=en \u26a1>", "amp"),
        ("<html amp='' lang=en>", "amp"),
        ("<html lang=en data-amp=no>", "print"),
        ("<html class='amp x'>", "print"),
    ],
)
def test_amp_and_print_versions_are_separate_sources(html: str, source: str) -> None:
    (own,) = Version().read((html + HEAD[len("<!DOCTYPE html>") :] + TEXT).encode(), URL)
    assert own.source == source


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"# Markdown",
        b"\x1f\x8b\x08\0\0\0",
        HEAD.encode(),
        HEAD.replace("/tea", "/print/tea/").encode() + TEXT.encode(),
        HEAD.replace("/tea", "http://[x/").encode() + TEXT.encode(),
        b"<!DOCTYPE html><title>No canonical</title>" + TEXT.encode(),
    ],
)
def test_non_version_responses_have_no_text(body: bytes) -> None:
    assert Version().read(body, URL, "text/html") == []


def test_version_with_mostly_template_text_is_ignored() -> None:
    menu = "".join(f"<li>Section {name} of the site" for name in "abcdefghijklmnop")
    prose = "Tea number {} is made of leaves, of water and of {} minutes of time. " * 3

    def body(number: int, url: str) -> str:
        article = "<p>" + prose.format(*range(number, number + 6))
        link = f"<link rel=canonical href='{url}'>"
        return f"<!DOCTYPE html><title>Tea</title>{link}<ul>{menu}</ul><div>{article}</div>"

    urls = [f"https://e.org/{number}" for number in range(8)]
    site = site_of([body(7 * at, url) for at, url in enumerate(urls)])
    told = {
        at: Version().read(body(7 * at, url).encode(), url + "/amp", "text/html")
        for at, url in enumerate(urls[:3])
    }
    even = np.full(len(site.chars), 0.5)
    evidence = gather_evidence(site, told, even, even)
    assert [text.source for texts in told.values() for text in texts] == ["print"] * 3
    assert not evidence.pages
