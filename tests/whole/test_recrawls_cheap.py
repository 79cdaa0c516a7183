"""Re-crawls: pages that are not sent again, what stands in the place of pages, and copies."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.revisits.replaced import (
    is_error_page,
    is_gone,
    is_like,
    is_login,
    texts_of,
)
from contentspider.page.input.page import Page
from tests.messages import wording
from tests.sites import article, prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site


class Validating(Recrawls):
    """A site whose server sends an ETag, and no page that has not changed; *lies*: nor any other
    page that it is asked for so.
    """

    lies = False

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        status, kind, body = super()._answer(path)
        tag = f'"{sha256(body).hexdigest()[:8]}"'
        asked = self.site.asked.headers.get("If-None-Match")
        if asked == tag or (asked and self.lies):
            self.unsent.append(path)
            return 304, kind, b""
        return status, f"{kind}\r\nETag: {tag}", body

    unsent: list[str]


@pytest.fixture
def again(site: Site, tmp_path: Path) -> Recrawls:
    """Return a site that has been crawled once, whose server has no validators."""
    made = Recrawls(site, tmp_path)
    made.crawl()
    return made


@pytest.fixture
def validating(site: Site, tmp_path: Path) -> Validating:
    """Return a site that has been crawled once."""
    made = Validating(site, tmp_path)
    made.unsent = []
    made.crawl()
    made.changes()
    return made


def test_unchanged_pages_are_not_sent_again(validating: Validating) -> None:
    first = validating.crawl()
    assert len(validating.unsent) == 11, "but for the start"
    assert validating.changes() == {}
    assert "10 of them not sent" in validating.said, "one is looked at all the same"
    validating.articles["/2"] = validating.articles["/2"].replace(prose(2, 1), prose("edited"))
    # Only a page that is not sent leads to it.
    hub = validating.articles["/5"].replace("</article>", "<a href=/deep>Deep</a></article>")
    validating.articles |= {"/5": hub, "/deep": article(55)}
    validating.unlinked.add("/deep")
    assert validating.crawl()["/deep"]["change"] == "new"
    validating.changes()
    validating.unsent.clear()
    items = validating.crawl()
    assert "/5" in validating.unsent and items["/deep"]["change"] == "unchanged"
    assert validating.changes() == {}
    for path, item in first.items():
        if path not in ("/2", "/5"):
            found = items[path]
            differing = {name for name in item if item[name] != found[name]}
            assert differing <= {"crawled_at", "change", "change_ratio", "confidence"}, path
    # A model that was learned since filters what was not sent, too.
    again = validating.crawl("--relearn", "-s", "CONTENTSPIDER_LABELS=paper")
    assert again["/3"]["model_version"] != items["/3"]["model_version"]


def test_unsent_pages_are_counted_as_when_they_were_read(validating: Validating) -> None:
    def stats() -> dict[str, int]:
        validating.crawl("--stats", "stats.json")
        record = json.loads((validating.folder / "stats.json").read_text())["stats"]
        prefixes = ("chars/", "page_type/", "items/filtered", "pages/low", "pages/by_prior")
        names = tuple(f"contentspider/{prefix}" for prefix in prefixes)
        return {name: count for name, count in record.items() if name.startswith(names)}

    (validating.folder / "models").rename(validating.folder / "others")
    first = stats()
    assert first["contentspider/items/filtered"] == 12
    validating.unsent.clear()
    assert stats() == first
    assert len(validating.unsent) == 11


def test_pages_with_the_same_body_are_not_read_again(again: Recrawls) -> None:
    def stats(*options: str) -> dict[str, int]:
        again.crawl("--stats", "stats.json", *options)
        record = json.loads((again.folder / "stats.json").read_text())["stats"]
        names = ("tagged", "same_body", "skipped/duplicate")
        return {name: record.get(f"contentspider/pages/{name}", 0) for name in names}

    first = again.crawl()
    assert stats() == {"tagged": 1, "same_body": 11, "skipped/duplicate": 0}, "the start is read"
    assert set(again.changes().values()) == {"new"}

    again.articles["/2"] = again.articles["/2"].replace(prose(2, 1), prose("edited"))
    again.articles["/copy"] = again.articles["/3"]
    assert stats() == {"tagged": 3, "same_body": 10, "skipped/duplicate": 1}
    assert again.changes() == {"/2": "changed"}
    items = again.crawl()
    assert again.changes() == {}
    assert [str(address).rpartition("/")[2] for address in items["/3"].pop("also_at")] == ["copy"]
    for path in ("/1", "/3", "/11"):
        differing = {name for name in items[path] if first[path][name] != items[path][name]}
        assert differing <= {"crawled_at", "change", "change_ratio", "confidence"}, path
    # Other links may be within the crawl with other options.
    assert stats("--exclude", "/nothing")["same_body"] == 0


@pytest.mark.parametrize("site_kind", ["again", "validating"])
def test_changed_ignore_directives_option_applies_to_unchanged_pages(
    site_kind: str, request: pytest.FixtureRequest
) -> None:
    crawls: Recrawls = request.getfixturevalue(site_kind)
    marked = f"<p data-nosnippet>{prose('marked')}</p></article>"
    for path in ("/2", "/3", "/4"):
        crawls.articles[path] = crawls.articles[path].replace("</article>", marked)

    def marked_paths(*options: str) -> list[str]:
        items = crawls.crawl(*options)
        return sorted(path for path in items if prose("marked") in str(items[path]["content"]))

    assert marked_paths() == marked_paths() == []
    assert marked_paths("--no-directives") == ["/2", "/3", "/4"]
    assert marked_paths() == []
    if isinstance(crawls, Validating):
        crawls.unsent.clear()
        assert marked_paths() == []
        assert len(crawls.unsent) == 11, "the server has not lied, and is still trusted"


def test_header_that_forbids_indexing_is_seen_on_the_same_body(again: Recrawls) -> None:
    again.crawl()
    answer = again.site.answer

    def forbidding(path: str) -> tuple[int, str, bytes]:
        status, kind, body = answer(path)
        return status, kind + ("\r\nX-Robots-Tag: noindex" if path == "/3" else ""), body

    again.site.answer = forbidding
    again.changes()
    assert "/3" not in again.crawl()
    assert again.changes() == {"/3": "gone"}


def test_server_with_false_not_modified_responses_is_not_trusted_again(
    validating: Validating,
) -> None:
    for path in validating.articles:
        validating.articles[path] = article(100 + int(path[1:]))
    validating.lies = True
    validating.crawl()
    assert wording("crawl.wrong-not-modified") in validating.said
    validating.changes()
    validating.unsent.clear()
    validating.crawl()
    assert not validating.unsent, "it is not asked so again"
    assert set(validating.changes().values()) <= {"changed"}


def test_soft_404_and_login_pages_are_not_page_changes(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl()
    again.changes()
    found = again.site.answer

    def soft(path: str) -> tuple[int, str, bytes]:
        status, kind, body = found(path)
        if status == 404 and path != "/robots.txt":
            error = article(0).partition("<article>")[0] + (
                f"<article><h1>Sorry</h1><p>There is no page {path} on this site. Look for it"
                " in the archive, or go back to where you came from.</p></article></body></html>"
            )
            return 200, kind, error.encode()
        return status, kind, body

    site.answer = soft
    del again.articles["/3"]
    form = '<form><p>Members only. Please log in.</p><input name="p" type="password"></form>'
    again.articles["/4"] = f"<html><nav><a href=/>Home</a></nav>{form}</html>"
    items = again.crawl()
    assert again.changes() == {}
    assert "/3" not in items and "/4" not in items
    again.articles["/3"], again.articles["/4"] = article(3), article(4)
    assert {item["change"] for item in again.crawl().values()} == {"unchanged"}


def test_soft_404_pages_of_one_site_section_are_detected(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles |= {f"/shop/{number}": article(50 + number) for number in range(6)}
    again.crawl()
    again.changes()
    found = again.site.answer

    def soft(path: str) -> tuple[int, str, bytes]:
        status, kind, body = found(path)
        if status == 404 and path.startswith("/shop/"):
            sorry = "<article><h1>Sorry</h1><p>There is no such thing in our shop.</p></article>"
            seeds = ((path, 1), (path, 2))
            links = "".join(f"<a href=/1>{prose(*seed, words=5)}</a> " for seed in seeds)
            return 200, kind, f"<html><nav><a href=/>Home</a></nav>{sorry}{links}</html>".encode()
        return status, kind, body

    site.answer = soft
    del again.articles["/shop/3"]
    # Nothing is left of this one, and it is no error page.
    again.articles["/shop/4"] = article(90)
    items = again.crawl()
    assert again.changes() == {"/shop/4": "changed"}
    assert "/shop/3" not in items and items["/shop/4"]["change_ratio"] > 0.5
    again.articles["/shop/3"] = article(53)
    again.crawl()
    assert again.changes() == {}


def test_copy_read_first_does_not_replace_known_page(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl()
    again.changes()
    again.articles = {"/0-copy": again.articles["/7"], **again.articles}
    assert "/0-copy" not in again.crawl()
    assert again.changes() == {}
    # The page is no more: its copy takes its place.
    del again.articles["/7"]
    items = again.crawl()
    assert items["/0-copy"]["change"] == "new"
    assert again.changes() == {"/0-copy": "new", "/7": "gone"}


def page(*texts: str, url: str = "http://e.example/a") -> Page:
    return Page.from_html("".join(f"<p>{text}</p>" for text in texts), url)


MENU = ("Home", "About us", "Contact")


def test_error_and_login_pages_are_detected_as_replacements() -> None:
    before = f"{prose(1)}\n{prose(2)}"
    sorry = "Nothing was found here."
    error = texts_of(page(*MENU, sorry))
    assert is_gone(page(*MENU, sorry), before)
    assert not is_gone(page(*MENU, prose(1)), before), "cut short"
    assert not is_gone(page(*MENU, sorry), ""), "nothing was there"
    assert is_error_page(page(*MENU, sorry, prose(9)), sorry, error), "beside other news"
    assert not is_error_page(page(*MENU, prose(3)), prose(3), error), "written anew"
    assert is_error_page(page(*MENU, sorry), "", error), "nothing of it is kept"
    assert is_like(page(*MENU, sorry), error)
    other = page(*MENU, "There is no /a", url="http://e.example/a")
    assert is_like(other, texts_of(page(*MENU, "There is no /b1", url="http://e.example/b1"))), (
        "it names its address"
    )
    assert not is_like(page(*MENU, "Short."), error)
    named = texts_of(page("There is no /caf\u00e9?a=1", url="http://e.example/caf%C3%A9?a=1"))
    assert named == {"There is no "}
    assert texts_of(page("Tea/milk", url="http://e.example/")) == {"Tea/milk"}
    assert is_login("Your name\nYour password") and not is_login(f"{prose(3)}\n{prose(4)}")


def test_replacement_detection_respects_its_thresholds() -> None:
    before = "ten chars.\nthe forty characters that a page had bef"
    assert is_gone(page("ten chars."), before)
    assert not is_gone(page("ten chars."), before[:-1]), "more than a fifth is left"
    error = frozenset(["six chars", "menu"])
    assert is_error_page(page("x"), "six chars\nsix...", error)
    assert not is_error_page(page("x"), "six chars\nseven..", error)
    long_word = "\u6d77" * 200_000  # some scripts have no spaces
    assert not is_error_page(page("x"), long_word, error)
    assert not is_like(page(), error)
    assert (is_login("x" * 500), is_login("x" * 501)) == (True, False)
