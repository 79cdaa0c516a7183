"""The feeds that pages name: those of sections are read, those of single posts are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.crawl.spider import discovery
from contentspider.crawl.spider.discovery import MAX_FEEDS, MIN_NAMING, Feeds
from tests.conftest import run
from tests.crawl.test_robots import paths
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.conftest import Site


def test_feed_named_by_several_pages_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = Feeds()
    found = [list(chosen.choose(["http://e/a", "http://e/a"], False)) for _ in range(9)]
    assert found == [*[[]] * (MIN_NAMING - 1), ["http://e/a"], *[[]] * (9 - MIN_NAMING)]
    assert list(chosen.choose(["http://e/start", "http://e/a"], True)) == ["http://e/start"]
    many = [f"http://e/{number}" for number in range(100)]
    assert list(chosen.choose(many, True)) == many[: MAX_FEEDS - 2], "so many a host"
    assert list(chosen.choose(["http://other/"], True)) == ["http://other/"]
    monkeypatch.setattr(discovery, "MAX_NAMED", 10)
    chosen = Feeds()
    for _ in range(MIN_NAMING):
        assert list(chosen.choose(many, False)) == [], "they are forgotten meanwhile"
    assert len(chosen._named) == 10


def test_crawl_reads_section_feeds_but_not_comment_feeds(tmp_path: Path, site: Site) -> None:
    def link(feed: str) -> str:
        return f"<link rel=alternate type=application/rss+xml href={feed}>"

    site.add("/", article(0, "".join(f"<a href=/{number}>x</a>" for number in range(1, 5))))
    for number in range(1, 5):
        head = link("/section") + link(f"/{number}/comments")
        site.add(f"/{number}", article(number).replace("<title>", f"{head}<title>"))
    item = f"<item><link>{site.url}/hidden</link></item>"
    site.add("/section", f"<rss><channel>{item}</channel></rss>", kind="application/rss+xml")
    site.add("/hidden", article(9))
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert paths(tmp_path, site.url) == ["/", "/1", "/2", "/3", "/4", "/hidden"]
    assert site.requests.count("/section") == 1
    assert not [path for path in site.requests if "comments" in path]
