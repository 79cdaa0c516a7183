"""Sitemaps' dates: believed where a site's history shows that they are true, and nowhere else."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from contentspider.recrawl.lastmod import (
    MAX_COUNTED,
    MIN_CHANGES,
    MIN_CHECKED,
    LastmodCounts,
    has_changed_since,
)
from contentspider.state.book.book import Book
from tests.sites import article, prose
from tests.whole.test_recrawls import Recrawls
from tests.whole.test_recrawls_due import asked, history, let_pass

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

COUNT = 40
VISITED = "2026-03-10T12:00:00+00:00"


@pytest.mark.parametrize(
    ("lastmod", "expected"),
    [
        ("2026-03-10T12:00:01Z", True),
        ("2026-03-10T12:30:00.5+01:00", None),
        (" 2026-03-10T10:59+0000 ", False),
        ("2026-03-10T12:00:00Z", None),
        ("2026-03-10T11:30:00Z", None),
        ("2026-03-10T11:00:00Z", False),
        ("2026-03-10T11:00:01Z", None),
        ("2026-03-11T02:00", None),
        ("2026-03-11 02:00:01", True),
        ("2026-03-09T23:00", False),
        ("2026-03-09T23:00:01", None),
        ("2026-03-10T08:15:00-0330", None),
        ("2026-03-10T08:45:00-0330", True),
        ("2026-03-10T11:30:00", None),
        ("2026-03-12", True),
        ("2026-03-11", None),
        ("2026-03-10", None),
        ("2026-03-09", None),
        ("2026-03-08", False),
        ("2026-03", None),
        ("2026-02-31", None),
        ("2999-12-31", True),
        ("9999-12-31", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_lastmod_date_tells_if_page_changed_since_visit(
    lastmod: str, expected: bool | None
) -> None:
    assert has_changed_since(lastmod, VISITED) is expected


def test_lastmod_trust_needs_checks_and_changes_and_ends_after_false_dates() -> None:
    truth = LastmodCounts(MIN_CHECKED, 0, MIN_CHANGES, 0)
    assert truth.is_trusted and truth.is_worth_a_visit
    assert not LastmodCounts(MIN_CHECKED - 1, 0, MIN_CHANGES, 0).is_trusted
    assert not LastmodCounts(1_000, 0, MIN_CHANGES - 1, 0).is_trusted, (
        "nothing shows that it ever changes"
    )
    assert not LastmodCounts(1_000, 1, 9, 0).is_trusted, "it says too few of the changes"
    assert LastmodCounts(99, 1, 19, 0).is_trusted, "as many as that may be wrong"
    assert not LastmodCounts(98, 1, 19, 0).is_trusted
    assert not LastmodCounts(99, 1, 18.9, 0).is_trusted
    assert LastmodCounts(MIN_CHECKED, 0, MIN_CHANGES, MIN_CHANGES).is_worth_a_visit
    wasteful = LastmodCounts(MIN_CHECKED, 0, MIN_CHANGES, MIN_CHANGES + 1)
    assert wasteful.is_trusted and not wasteful.is_worth_a_visit
    truth = LastmodCounts(10_000, 0, 500, 0)
    lies = 0
    while truth.is_trusted:
        truth, lies = truth.plus(says_changed=False, has_changed=True), lies + 1
    assert lies <= 10, "what was long ago counts for less"


def test_lastmod_counts_are_updated_and_decay() -> None:
    counts = LastmodCounts()
    for times, (says_changed, has_changed) in enumerate(
        [(False, False), (False, True), (True, True), (True, False)], 1
    ):
        for _ in range(times):
            counts = counts.plus(says_changed, has_changed)
    assert counts == LastmodCounts(1, 2, 3, 4)
    assert LastmodCounts(MAX_COUNTED - 1).plus(True, True) == LastmodCounts(MAX_COUNTED - 1, 0, 1)
    faded = LastmodCounts(MAX_COUNTED).plus(True, True)
    assert faded.true_changed == pytest.approx(MAX_COUNTED / (MAX_COUNTED + 1))
    assert faded.true_unchanged + faded.true_changed == pytest.approx(MAX_COUNTED)


class Mapped(Recrawls):
    """A site with a sitemap that says for how many days each page is as it is: see `dates`."""

    has_sitemap = True

    def __init__(self, site: Site, folder: Path) -> None:
        super().__init__(site, folder)
        self.articles = {f"/{number}": article(number) for number in range(1, COUNT)}
        self.dates: dict[str, float] = {}

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path != "/sitemap.xml":
            return super()._answer(path)
        entries = "".join(
            f"<url><loc>{self.site.url}{page}</loc><lastmod>{days_ago(days)}</lastmod></url>"
            for page, days in self.dates.items()
        )
        body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'
        return 200, "application/xml", body.encode()

    def edit(self, *numbers: int) -> list[str]:
        """Change pages, and return their paths."""
        for number in numbers:
            old = prose(number, 1)
            assert old in self.articles[f"/{number}"]
            path, text = f"/{number}", prose(f"edited {number}")
            self.articles[path] = self.articles[path].replace(old, text)
        return [f"/{number}" for number in numbers]

    def pages(self, *options: str) -> list[str]:
        """Crawl, and return which pages were asked for."""
        asked(self)
        self.crawl(*options)
        return sorted(set(asked(self)) - {"/sitemap.xml", "/"})


def days_ago(days: float) -> str:
    return (datetime.now(timezone.utc) - timedelta(days=days)).isoformat(timespec="seconds")


@pytest.fixture
def mapped(site: Site, tmp_path: Path) -> Mapped:
    """Return a site that has been crawled once, ten days ago."""
    made = Mapped(site, tmp_path)
    made.crawl()
    let_pass(made, 10)
    made.changes()
    return made


def truth_of(mapped: Mapped) -> LastmodCounts:
    known = Book(history(mapped), read_only=True)
    (truth,) = known.sites.lastmods.values()
    known.close()
    return truth


def test_true_lastmod_dates_save_requests_and_miss_no_changes(mapped: Mapped) -> None:
    edited = mapped.edit(*range(1, 7))
    mapped.dates = {path: 5 if path in edited else 20 for path in mapped.articles}
    assert len(mapped.pages()) == COUNT - 1, "all are asked as long as nothing is known of the site"
    assert mapped.changes() == dict.fromkeys(edited, "changed")
    assert truth_of(mapped) == LastmodCounts(COUNT - 7, 0, 6, 0)

    let_pass(mapped, 40)
    edited = mapped.edit(11, 12)
    mapped.dates = {path: 5 if path in edited else 50 for path in mapped.articles}
    found = mapped.pages("--due")
    assert len(found) == 3 and set(edited) < set(found), "and one, to see whether it is true"
    assert mapped.changes() == dict.fromkeys(edited, "changed")

    let_pass(mapped, 0.5)
    edited = mapped.edit(13)
    mapped.dates |= dict.fromkeys(edited, 0.1)
    assert mapped.pages("--due") == edited, "at once, whatever its interval"


def test_lastmod_dates_that_never_change_are_not_trusted(mapped: Mapped) -> None:
    mapped.dates = dict.fromkeys(mapped.articles, 100)
    mapped.edit(*range(1, 7))
    mapped.pages()
    assert truth_of(mapped) == LastmodCounts(COUNT - 7, 6, 0, 0)
    mapped.changes()
    let_pass(mapped, 40)
    edited = mapped.edit(11, 12)
    assert len(mapped.pages("--due")) == COUNT - 1
    assert mapped.changes() == dict.fromkeys(edited, "changed")


@pytest.mark.thorough
def test_lastmod_dates_that_are_always_now_are_not_trusted(mapped: Mapped) -> None:
    mapped.dates = dict.fromkeys(mapped.articles, 0)
    mapped.edit(*range(1, 7))
    mapped.pages()
    assert truth_of(mapped) == LastmodCounts(0, 0, 6, COUNT - 7)
    mapped.changes()
    let_pass(mapped, 1 / 24)
    assert mapped.pages("--due") == [], "none is due"
    let_pass(mapped, 40)
    edited = mapped.edit(11)
    assert len(mapped.pages("--due")) == COUNT - 1
    assert mapped.changes() == dict.fromkeys(edited, "changed")
