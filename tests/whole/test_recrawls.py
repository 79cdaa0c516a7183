"""Sites that are crawled again: what is new, changed, moved and gone, and what is not."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from contentspider.recrawl.changes import CHANGES
from contentspider.state.book.book import Book
from contentspider.state.crawls.entries import Entries
from contentspider.state.outcome import Outcome
from tests.conftest import Site, read_jsonl, run
from tests.sites import article, prose

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    Record = dict[str, Any]

COUNT = 12


class Recrawls:
    """A site of articles that is crawled again and again, from a start page that links to all of
    them but those in *unlinked*.
    """

    has_sitemap = False

    def __init__(self, site: Site, folder: Path) -> None:
        self.site, self.folder = site, folder
        self.articles = {f"/{number}": article(number) for number in range(1, COUNT)}
        self.unlinked: set[str] = set()
        self.seq = 0
        self.said = ""
        # What is answered in place of pages: status, and where to.
        self.answers: dict[str, tuple[int, str]] = {}
        site.answer = self._answer

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        kind = "text/html; charset=utf-8"
        if path in self.answers:
            status, target = self.answers[path]
            if target and 300 <= status < 400:
                return status, f"{kind}\r\nLocation: {target}", b""
            return status, kind, target.encode()
        if path == "/":
            links = [path for path in self.articles if path not in self.unlinked]
            text = article(0, "".join(f"<a href={path}>Page {path}</a> " for path in links))
            return 200, kind, text.encode()
        if path in self.articles:
            return 200, kind, self.articles[path].encode()
        return 404, kind, b"<p>none</p>"

    def crawl(self, *options: str, code: int = 0) -> dict[str, Record]:
        """Crawl, and return the items by the paths of their pages."""
        done = run(
            *("crawl", self.site.url, "--own-site", "-o", "pages.jsonl"),
            *(() if self.has_sitemap else ("--no-sitemaps",)),
            *options,
            cwd=self.folder,
            check=False,
        )
        assert done.returncode == code, done.stderr[-3000:]
        self.said = done.stderr
        items = read_jsonl(self.folder / "pages.jsonl")
        return {str(item["url"]).removeprefix(self.site.url): item for item in items}

    def records(self) -> list[Record]:
        """Return the records since the last call, paths in place of addresses."""
        options = ("--since", str(self.seq), "--only", ",".join(CHANGES))
        done = run("changes", self.site.url, *options, cwd=self.folder)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        self.seq = found[-1]["seq"] if found else self.seq
        for record in found:
            for name in ("url", "previous_url"):
                record[name] = record[name].removeprefix(self.site.url)
        return found

    def changes(self) -> dict[str, str]:
        """Return how the pages changed since the last call but for those that did not, by path."""
        found = self.records()
        # Two crawls may have come since.
        keys = {(record["url"], record["change"], record["previous_url"]) for record in found}
        assert len(keys) == len(found), "one record a page"
        return {
            record["url"]: record["change"] for record in found if record["change"] != "unchanged"
        }


@pytest.fixture
def again(site: Site, tmp_path: Path) -> Recrawls:
    """Return a site that has been crawled once."""
    recrawls = Recrawls(site, tmp_path)
    items = recrawls.crawl()
    assert {item["change"] for item in items.values()} == {"new"}
    assert set(recrawls.changes().values()) == {"new"}
    return recrawls


def test_recrawl_reports_new_changed_unchanged_and_gone_pages(again: Recrawls) -> None:
    first = again.crawl()
    assert {item["change"] for item in first.values()} == {"unchanged"}
    assert {record["change"] for record in again.records()} == {"unchanged"}

    again.articles["/3"] = again.articles["/3"].replace(prose(3, 1), prose("edited"))
    again.articles["/new"] = article(99)
    del again.articles["/4"]
    items = again.crawl()
    records = {record["url"]: record for record in again.records()}
    assert {path: item["change"] for path, item in items.items()} == {
        path: record["change"] for path, record in records.items() if path != "/4"
    }
    changed, gone = records["/3"], records["/4"]
    assert (changed["change"], changed["change_cause"]) == ("changed", "page")
    assert 0.2 < changed["change_ratio"] < 0.8
    assert changed["previous_hash"] == first["/3"]["content_hash"]
    assert changed["content_hash"] == items["/3"]["content_hash"] != changed["previous_hash"]
    assert items["/3"]["first_seen"] == first["/3"]["first_seen"] <= items["/3"]["changed_at"]
    assert items["/5"]["changed_at"] == first["/5"]["changed_at"]
    assert (gone["change"], gone["reason"], gone["id"]) == ("gone", "HTTP 404", first["/4"]["id"])
    assert records["/new"]["change"] == "new"
    assert again.site.requests.count("/4") == 2 + 2, "twice when it was gone"
    told = run("diff", f"{again.site.url}/3", cwd=again.folder).stdout
    assert f"-{prose(3, 1)}" in told and f"+{prose('edited')}" in told
    assert "1 new, 1 changed, 10 unchanged, 1 gone" in again.said

    del again.articles["/new"]
    again.articles["/4"] = article(4)
    items = again.crawl("--only", "changed")
    assert {path: item["change"] for path, item in items.items()} == {"/4": "new"}
    assert items["/4"]["first_seen"] == first["/4"]["first_seen"], "back again"
    assert again.crawl("--only", "changed") == {}, "an output without changes is empty"


def test_changes_outside_of_content_are_not_page_changes(again: Recrawls) -> None:
    for path, text in again.articles.items():
        again.articles[path] = text.replace("© 2024", f"© 2025 · {path} visitors")
    again.crawl("--relearn")
    assert again.changes() == {}


def test_changes_by_new_model_have_cause_model(again: Recrawls) -> None:
    again.crawl("--relearn", "-s", "CONTENTSPIDER_LABELS=paper")
    records = [record for record in again.records() if record["change"] != "unchanged"]
    kinds = {(record["change"], record["change_cause"]) for record in records}
    assert kinds == {("refiltered", "model")}


def test_changes_by_model_are_output_and_stored(again: Recrawls) -> None:
    paper = ("-s", "CONTENTSPIDER_LABELS=paper")
    changed = again.crawl("--relearn", "--only", "changed", *paper)
    models = {record["url"] for record in again.records() if record["change_cause"] == "model"}
    assert {item["change"] for item in changed.values()} == {"refiltered"}
    assert models == set(changed)
    (path,) = (again.folder / ".scrapy/contentspider").glob("*.sqlite")
    with closing(Entries(path)) as entries:
        kept = {entry.item["url"]: entry.item for entry in entries.after(0) if entry.item}
    items = again.crawl(*paper)
    assert again.changes() == {}
    for name in models:
        kept_item = kept[again.site.url + name]
        assert kept_item["change"] == "refiltered"
        for field in ("content", "content_html", "content_hash", "model_version"):
            assert kept_item[field] == items[name][field]


def test_items_of_unchanged_pages_keep_their_passages(again: Recrawls) -> None:
    option = ("-s", "CONTENTSPIDER_PASSAGES=120")
    first, second = again.crawl(*option), again.crawl(*option)
    assert len(first) == COUNT
    for path, item in first.items():
        assert item["passages"]
        assert max(len(each["text"]) for each in item["passages"]) <= 120
        assert second[path]["change"] == "unchanged"
        assert second[path]["passages"] == item["passages"]


@pytest.mark.thorough
def test_permanently_redirected_pages_are_reported_as_moved(again: Recrawls) -> None:
    first = again.crawl()
    again.changes()
    for number, status in ((1, 301), (2, 308), (3, 302)):
        again.articles[f"/moved/{number}"] = again.articles.pop(f"/{number}")
        again.unlinked.add(f"/moved/{number}")
        again.answers[f"/{number}"] = (status, f"/moved/{number}")
    # Its new address is linked, its old one is not.
    again.articles["/moved/4"] = again.articles.pop("/4")
    again.answers["/4"] = (301, "/moved/4")
    # For good, to a page that was known.
    del again.articles["/5"]
    again.answers["/5"] = (301, "/6")
    # Out of the crawl.
    del again.articles["/7"]
    again.answers["/7"] = (301, "http://elsewhere.example/7")
    # By stubs, as static hosts do; one leads on later, one reloads itself.
    refresh = '<title>Moved</title><meta http-equiv="refresh" content="{}; url={}">'
    again.articles["/moved/8"] = again.articles.pop("/8")
    again.answers["/8"] = (200, refresh.format(0, "/moved/8"))
    del again.articles["/9"]
    again.answers["/9"] = (200, refresh.format(0, "/10"))
    again.articles["/10"] = refresh.format(30, "/10") + again.articles["/10"]
    again.articles["/11"] = refresh.format(5, "/later") + again.articles["/11"]
    again.articles["/later"] = article(99)
    again.unlinked |= {"/moved/8", "/later"}
    items = again.crawl()
    found = [record for record in again.records() if record["change"] != "unchanged"]
    assert {
        (record["previous_url"], record["url"], record["change"], record["reason"])
        for record in found
    } == {
        ("/1", "/moved/1", "moved", "HTTP 301"),
        ("/2", "/moved/2", "moved", "HTTP 308"),
        ("", "/moved/3", "new", ""),
        ("/4", "/moved/4", "moved", "HTTP 301"),
        ("/5", "/6", "moved", "HTTP 301"),
        ("", "/7", "gone", "HTTP 301 to http://elsewhere.example/7"),
        ("/8", "/moved/8", "moved", "meta refresh"),
        ("/9", "/10", "moved", "meta refresh"),
        ("", "/later", "new", ""),
    }, "who is elsewhere for a time stays known"
    assert len(found) == 9, "each once"
    moved = next(record for record in found if record["url"] == "/moved/4")
    assert (moved["previous_id"], moved["id"]) == (first["/4"]["id"], items["/moved/4"]["id"])
    assert moved["first_seen"] == first["/4"]["first_seen"]
    again.crawl()
    assert again.changes() == {}


def test_page_moved_without_redirect_is_gone_with_hint_to_new_url(
    again: Recrawls,
) -> None:
    again.articles["/elsewhere"] = again.articles.pop("/9")
    again.articles["/edited"] = again.articles.pop("/8").replace("</p>", " A word more.</p>", 1)
    del again.articles["/7"]
    again.articles["/another"] = article(77)
    again.crawl()
    found = {record["url"]: record for record in again.records()}
    for before, now in (("/9", "/elsewhere"), ("/8", "/edited")):
        assert (found[now]["change"], found[before]["change"]) == ("new", "gone")
        assert found[before]["reason"] == f"HTTP 404; its text is at {again.site.url}{now}"
        assert found[now]["reason"] == f"its text was at {again.site.url}{before}"
    assert (found["/7"]["reason"], found["/another"]["reason"]) == ("HTTP 404", "")


@pytest.mark.thorough
def test_orphan_page_is_gone_after_three_complete_crawls(again: Recrawls) -> None:
    again.unlinked.add("/8")
    assert again.crawl()["/8"]["change"] == "unchanged", "it was asked for"
    again.crawl("--max-pages", "4")
    again.crawl()
    assert "/8" not in again.changes()
    again.crawl()
    assert again.changes() == {"/8": "gone"}
    again.unlinked.clear()
    assert again.crawl()["/8"]["change"] == "new"


def test_pages_redirecting_to_error_page_are_gone_after_losing_links(
    again: Recrawls,
) -> None:
    sorry = "<h1>Sorry</h1><p>The page was taken away, or it has never been at this place."
    again.answers |= {"/3": (302, "/sorry"), "/4": (200, sorry), "/sorry": (200, sorry)}
    again.unlinked |= {"/3", "/4"}
    # What a site without pages of its own for errors answers to any address.
    answer = again.site.answer
    assert answer is not None

    def answered(path: str) -> Any:
        found = answer(path)
        return answer("/4") if found[0] == 404 else found

    again.site.answer = answered
    for gone in ({}, {}, {"/3": "gone", "/4": "gone"}, {}):
        again.crawl()
        assert {p: change for p, change in again.changes().items() if change == "gone"} == gone


@pytest.mark.thorough
def test_excluded_page_is_gone_and_returns_when_included(again: Recrawls) -> None:
    again.crawl("--exclude", "/3", "--exclude", "/4")
    assert {record["reason"] for record in again.records() if record["change"] == "gone"} == {
        "excluded by /3",
        "excluded by /4",
    }
    again.crawl("--exclude", "/5", "--max-pages", "3")
    assert again.changes() == {"/5": "gone"}
    again.crawl()
    assert again.changes() == {"/3": "new", "/4": "new", "/5": "new"}
    again.crawl("--include", "/1*", code=Outcome.GONE_DOUBTED)
    assert again.changes() == {}


def test_resuming_with_other_options_is_logged(again: Recrawls) -> None:
    again.crawl("--max-pages", "3", "--max-depth", "9")
    items = again.crawl("--resume", "--exclude", "/1*", "--max-depth", "9")
    assert "(exclude ['/1*'])" in again.said
    assert not {"/10", "/11"} & items.keys()
    assert "/9" in items
    again.crawl("--resume", "--exclude", "/1*", "--max-depth", "9")
    assert "other options" not in again.said


def test_temporarily_unavailable_pages_are_not_gone(again: Recrawls) -> None:
    again.answers |= {"/1": (500, ""), "/2": (401, ""), "/3": (302, "/login"), "/9": (429, "")}
    again.answers["/login"] = (200, article(77).replace("Page 77", "Log in"))
    again.answers["/robots.txt"] = (200, "User-agent: *\nDisallow: /6\n")
    fast = ("-s", "RETRY_TIMES=0", "-s", "CONTENTSPIDER_OUTAGE_SECS=1")
    again.crawl(*fast, "--max-pages", "9", code=4)
    found = again.changes()
    again.crawl(*fast, code=4)
    # A host that says 429 is waited for: in time for the page behind the redirect, or not.
    found |= again.changes()
    assert found in ({}, {"/login": "new"})
    again.answers = {}
    items = again.crawl()
    assert again.changes() == ({"/login": "gone"} if found else {})
    assert {item["change"] for item in items.values()} == {"unchanged"}


def test_site_losing_most_pages_loses_none_without_force(again: Recrawls) -> None:
    kept = dict(list(again.articles.items())[:3])
    again.articles = kept
    again.crawl(code=Outcome.GONE_DOUBTED)
    assert again.changes() == {}
    assert "8 of the 12 known pages" in again.said
    assert "--force" in again.said
    again.crawl("--force")
    assert set(again.changes().values()) == {"gone"}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ((200, "<h1>Log in</h1><form><input type=password></form>"), Outcome.INCOMPLETE),
        ((302, "http://other.example/consent"), Outcome.INCOMPLETE),
        ((301, "/"), Outcome.GONE_DOUBTED),
    ],
)
def test_output_stays_if_other_answers_replace_most_pages(
    answer: tuple[int, str], outcome: Outcome, again: Recrawls
) -> None:
    before = again.crawl()
    again.changes()
    again.answers = dict.fromkeys(again.articles, answer)
    assert again.crawl(code=outcome) == before
    assert again.changes() == {}
    assert len(again.crawl("--force")) == 1


def test_output_stays_if_empty_answers_replace_most_pages(again: Recrawls) -> None:
    before = again.crawl()
    again.changes()
    again.answers = dict.fromkeys(again.articles, (200, ""))
    assert again.crawl(code=Outcome.INCOMPLETE) == before
    assert again.changes() == {}
    # An answer without a body may pass, as an error does: there is no loss yet to accept.
    assert again.crawl("--force", code=Outcome.INCOMPLETE) == before


def test_damaged_history_is_set_aside_and_logged(again: Recrawls) -> None:
    (path,) = (again.folder / ".scrapy/contentspider").glob("*.sqlite")
    path.write_bytes(b"no history" * 1_000)
    items = again.crawl()
    assert {item["change"] for item in items.values()} == {"new"}
    assert "all pages count as new" in again.said
    assert path.with_name(path.name + ".broken").exists()


def test_pages_beyond_history_size_are_compared_by_hash(site: Site, tmp_path: Path) -> None:
    recrawls = Recrawls(site, tmp_path)
    recrawls.crawl("-s", "CONTENTSPIDER_BOOK_MB=0")
    recrawls.articles["/3"] = recrawls.articles["/3"].replace(prose(3, 1), prose("edited"))
    assert recrawls.crawl("-s", "CONTENTSPIDER_BOOK_MB=0")["/3"]["change"] == "changed"
    (path,) = (tmp_path / ".scrapy/contentspider").glob("*.sqlite")
    history = Book(path, read_only=True)
    known = next(page for page in history.known.live() if page.url.endswith("/3"))
    assert history.known.stored(known.id) is None
    assert history.known.content(known.id, before=True)
    history.close()
