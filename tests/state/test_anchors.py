"""The link texts of other pages: their counts in the book, and their way into an index."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query, create_engine
from contentspider.index.sync import Sync
from contentspider.site.models.identity import page_id
from contentspider.state.book.anchors import MAX_ANCHORS, MAX_TARGETS
from contentspider.state.book.book import Book
from contentspider.state.book.copies import COPIES_KEPT
from contentspider.state.book.losses import Losses
from contentspider.state.crawls.entries import Entries
from tests.books import killed
from tests.indexes import Memory
from tests.visited import Seen, clean, end, known, see

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from contentspider.index.engine import Engine

    # The texts of a page's links by target, both as numbers and texts.
    Links = Mapping[int, Sequence[str]]


def address(number: int) -> str:
    return f"http://e.org/{number}"


def end_unpublished(book: Book) -> None:
    """Write the end of a crawl as far as before it is published, as if the process was killed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Book, "publish", lambda *_: None)
        patched.setattr(Book, "end_run", lambda *_: None)
        end(book, Losses(book))


class Site:
    """A book of crawls of numbered pages, and their links."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "e.org.sqlite"
        self.live: dict[int, Links] = {}
        # The original of each copy, and the last crawl that saw the copy.
        self.copies: dict[int, tuple[int, int]] = {}
        self._crawls = 0

    def crawl(
        self,
        visited: Mapping[int, Links],
        gone: Iterable[int] = (),
        kills: int = 0,
        copies: Mapping[int, int] | None = None,
    ) -> None:
        """Write a crawl that *visited* pages and saw *copies*, with their originals. Its end begins
        anew after *kills*.
        """
        self._crawls += 1
        copies = copies or {}
        book = Book(self.path)
        book.begin_crawl()
        book.begin_run()
        for page, links in visited.items():
            self._visit(book, page, links)
        for attempt in range(kills + 1):
            book.begin_ending()
            losses = Losses(book)
            for page in gone:
                losses.mark_gone(known(book, page_id(address(page))), "HTTP 404")
            for copy, original in copies.items():
                numbers = book.runs.current, book.runs.crawl
                ids = page_id(address(copy)), page_id(address(original))
                book.copies.add(*ids, address(copy), *numbers)
            if attempt < kills:
                end_unpublished(book)
                book.commit()
                book = killed(book)
                book.begin_run()
        end(book, losses)
        if self._crawls % 2:
            clean(book)
        book.close()
        self.live = {
            page: links for page, links in {**self.live, **visited}.items() if page not in set(gone)
        }
        self.copies |= {copy: (page, self._crawls) for copy, page in copies.items()}
        self.copies = {
            copy: (page, crawl)
            for copy, (page, crawl) in self.copies.items()
            if crawl > self._crawls - COPIES_KEPT and copy not in visited
        }

    def _linked_page(self, target: int) -> int:
        """Return the page that links to a number lead to."""
        is_copy = target in self.copies and target not in self.live
        return self.copies[target][0] if is_copy else target

    def _visit(self, book: Book, page: int, links: Links) -> None:
        url = address(page)
        name, is_known = page_id(url), page in self.live
        item = {"id": name, "url": url, "title": f"Title {page}", "content": "Words."}
        lines = {address(target): tuple(texts) for target, texts in links.items()}
        change = "unchanged" if is_known else "new"
        see(book, Seen(name, change, text="Words.", item=item, links=lines, values={"url": url}))

    def anchors(self) -> dict[int, list[str]]:
        """Return the link texts of each live page, as an index gets them."""
        with closing(Entries(self.path)) as entries:
            items = [entry.item for entry in entries.after(0) if entry.item is not None]
        return {int(item["url"].rpartition("/")[2]): item.get("anchors", []) for item in items}

    def expected_anchors(self) -> dict[int, list[str]]:
        """Return the link texts by their definition."""
        counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
        targets: defaultdict[str, set[int]] = defaultdict(set)
        for links in self.live.values():
            for target, texts in links.items():
                page = self._linked_page(target)
                counts[page].update(texts)
                for text in texts:
                    targets[text].add(page)
        return {
            page: sorted(
                (text for text in counts[page] if len(targets[text]) <= MAX_TARGETS),
                key=lambda text: (-counts[page][text], text),
            )[:MAX_ANCHORS]
            for page in self.live
        }

    def sync(self, engine: Engine | Memory) -> Sync:
        """Bring an index up to date, and return the update."""
        with closing(Entries(self.path)) as entries:
            sync = Sync(entries, engine, "memory:index", engine.identity())  # type: ignore[arg-type]
            sync.run()
            assert not sync.differences()
        return sync

    def changes(self) -> list[tuple[str, str]]:
        with closing(Book(self.path, read_only=True)) as book:
            return [(record["change"], record["url"]) for record in book.changes.records()]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_page_has_the_texts_of_links_to_it(site: Site) -> None:
    site.crawl({1: {2: ["Ferries", "By boat"]}, 2: {1: ["Home"]}, 3: {2: ["By boat"], 9: ["?"]}})
    assert site.anchors() == {1: ["Home"], 2: ["By boat", "Ferries"], 3: []}


def test_text_that_leads_to_many_pages_is_left_out(site: Site) -> None:
    targets = range(2, 2 + MAX_TARGETS)
    site.crawl({1: {page: ["More"] for page in targets}, **{page: {} for page in range(2, 9)}})
    assert site.anchors()[2] == ["More"]
    site.crawl({1: {page: ["More"] for page in (*targets, 8)}})  # pages that are not visited, too
    assert not any(site.anchors().values())
    site.crawl({1: {2: ["More"]}})
    assert site.anchors()[2] == ["More"]
    assert not site.anchors()[3]


def test_page_has_a_bounded_number_of_texts(site: Site) -> None:
    texts = [f"Name {number:02}" for number in range(2 * MAX_ANCHORS)]
    site.crawl({1: {2: texts}, 2: {}, 3: {2: texts[-1:]}})
    assert site.anchors()[2] == [texts[-1], *texts[: MAX_ANCHORS - 1]]


def test_new_page_gets_the_texts_of_older_links(site: Site) -> None:
    site.crawl({1: {2: ["Ferries"]}})
    site.crawl({2: {}})
    assert site.anchors()[2] == ["Ferries"]


def test_links_of_gone_pages_do_not_count(site: Site) -> None:
    site.crawl({1: {2: ["Ferries"]}, 2: {}, 3: {2: ["Boats"]}})
    site.crawl({}, gone=[1])
    assert site.anchors()[2] == ["Boats"]
    site.crawl({1: {2: ["Ferries"]}})
    assert site.anchors()[2] == ["Boats", "Ferries"]


def test_links_to_a_copy_count_for_its_original(site: Site) -> None:
    site.crawl({1: {2: ["Ferries"], 7: ["Boats"]}, 2: {}, 3: {8: ["Boats"]}}, copies={7: 2})
    assert site.anchors()[2] == ["Boats", "Ferries"]
    site.crawl({}, copies={8: 2})
    assert site.anchors()[2] == ["Boats", "Ferries"], "more pages call it so"
    site.crawl({7: {}})
    assert site.anchors() == {1: [], 2: ["Boats", "Ferries"], 3: [], 7: ["Boats"]}
    for _ in range(COPIES_KEPT):
        site.crawl({})
    assert site.anchors()[2] == ["Ferries"], "no crawl saw the copies again"


def test_copies_of_a_page_are_one_target_of_a_text(site: Site) -> None:
    targets = range(2, 3 + MAX_TARGETS)
    site.crawl({1: {page: ["Ferries"] for page in targets}, 2: {}, 3: {}})
    assert not site.anchors()[3]
    site.crawl({}, copies={targets[-1]: 2})
    assert site.anchors()[3] == ["Ferries"]


def test_links_to_many_copies_of_a_page_take_linear_time(tmp_path: Path) -> None:
    """SQLite's steps are counted, since times vary."""
    steps = []
    for count in (50, 200):
        site, calls = Site(tmp_path / str(count)), []
        numbers = range(2, count + 2)
        with closing(Book(site.path)) as book:
            book.begin_run()
            connection = book.database._connection
            connection.set_progress_handler(lambda calls=calls: calls.append(None), 100)
            site._visit(book, 1, {number: ["Home", "Start"] for number in numbers})
            for number in numbers:
                ids = page_id(address(number)), page_id(address(1))
                book.copies.add(*ids, address(number), book.runs.current, book.runs.crawl)
            end(book, Losses(book))
        assert site.anchors() == {1: ["Home", "Start"]}
        steps.append(len(calls))
    assert steps[1] < 6 * steps[0], steps


def test_other_texts_update_the_index_and_change_no_page(site: Site) -> None:
    engine = Memory()
    site.crawl({1: {2: ["Ferries"]}, 2: {}})
    site.sync(engine)
    site.crawl({1: {2: ["Boats"]}, 2: {}})
    sync = site.sync(engine)
    assert (sync.report.upserted, sync.report.deleted) == (1, 0)
    assert engine.there[page_id(address(2))].fields["anchors"] == ["Boats"]
    kinds = Counter(change for change, _ in site.changes())
    assert kinds == {"new": 2, "unchanged": 2}, "indexes alone need a record of the texts"
    with closing(Entries(site.path)) as entries:
        last = entries.last_crawl()
    assert last is not None
    assert last["changes"] == {"unchanged": 2}
    site.crawl({1: {2: ["Boats"]}, 2: {}})
    assert site.sync(engine).report.upserted == 0


@pytest.mark.parametrize("seed", range(4))
def test_updates_are_exact_after_any_crawls(site: Site, seed: int) -> None:
    draw = random.Random(seed)
    engine = Memory()
    texts = [f"text {number}" for number in range(12)]
    for _ in range(8):
        pages = draw.sample(range(10), draw.randint(1, 10))
        visited = {
            page: {
                target: draw.sample(texts, draw.randint(0, 3))
                for target in draw.sample(range(12), 3)
            }
            for page in pages
        }
        unvisited = [page for page in site.live if page not in visited]
        gone = draw.sample(unvisited, min(len(unvisited), draw.randint(0, 2)))
        copies = {
            copy: draw.randint(0, 11)
            for copy in draw.sample(range(12), draw.choice((0, 0, 1, 5)))
            if copy not in visited
        }
        site.crawl(visited, gone, draw.randint(0, 2), copies)
        assert site.anchors() == site.expected_anchors()
        if draw.random() < 0.7:
            site.sync(engine)
    site.sync(engine)
    found = {one.fields["url"]: one.fields.get("anchors", []) for one in engine.there.values()}
    assert found == {address(page): names for page, names in site.expected_anchors().items()}


@pytest.mark.parametrize("scheme", ["sqlite", "tantivy"])
def test_page_is_found_by_what_others_call_it(site: Site, tmp_path: Path, scheme: str) -> None:
    if scheme == "tantivy":
        pytest.importorskip("tantivy")
    site.crawl({1: {2: ["Ferries to the island"]}, 2: {}})
    with closing(create_engine(f"{scheme}:{tmp_path / 'index'}")) as engine:
        engine.open(is_writer=True)
        site.sync(engine)
        (hit,) = engine.search(Query("ferry island")).hits
        assert hit.record["url"] == address(2)


def test_counts_of_all_runs_add_up(site: Site) -> None:
    for number in range(6):
        site.crawl({1: {2: ["Boats"] if number % 2 else ["Ferries", "Boats"]}, 2: {}})
        assert site.anchors()[2] == (["Boats"] if number % 2 else ["Boats", "Ferries"])
    with closing(Book(site.path, read_only=True)) as book:
        sums = dict(
            book.database.rows(
                "SELECT text, sum(pages) FROM anchors WHERE target = ? AND text > '' GROUP BY text",
                (page_id(address(2)),),
            )
        )
        assert sums == {"Boats": 1, "Ferries": 0}
        rows = "SELECT max(n) FROM (SELECT count(*) AS n FROM anchors GROUP BY target, text)"
        assert book.database.count(rows) <= 2, "the rows of earlier runs become one"
