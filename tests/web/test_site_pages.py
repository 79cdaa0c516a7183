"""``/sites`` of ``contentspider serve``: the sites of a real run, one of which is down."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.state.crawls.export import books
from contentspider.state.stores.models import ModelStore
from tests.conftest import Site, run
from tests.indexes import Crawls
from tests.sites import article, small_site
from tests.web.browsers import browse, needs_browser

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("starlette", reason="the extra web is not installed here")
pytest.importorskip("httpx2", reason="Starlette's test client needs it")


def test_sites_are_shown_with_report_changes_and_log(site: Site, tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from contentspider.web.app import Access, make_app

    small_site(site, 6)
    text = f'urls = ["{site.url}"]\nown_site = true\n[site.down]\nurls = ["http://127.0.0.1:1/"]\n'
    (tmp_path / "sites.toml").write_text(f"[site.tea]\n{text}")
    arguments = ("run", "sites.toml", "--jobs", "1")
    run(*arguments, cwd=tmp_path, check=False)
    site.add("/3", article(33))
    run(*arguments, "--only", "tea", cwd=tmp_path)
    found = books(str(tmp_path / ".scrapy/contentspider"))
    app = make_app("", found, ModelStore(tmp_path / "models"), Access(["testserver"]))
    client = TestClient(app)
    page = client.get("/sites").text
    assert page.index(">down</th>") < page.index(">tea</a></th>"), "those to look at first"
    assert "1 down, 1 fine" in page and "refuses connections" in page
    assert page.count('<tr class="bad">') == 1 and "down since 20" in page
    assert "pages: 6, 6; changes: 6, 1" in page, "the plot, in words"
    (down, tea) = client.get("/api/sites").json()["status"]
    assert (down["site"], down["outcome"], tea["outcome"]) == ("down", "nothing_read", "complete")
    listed = run("status", "--json", cwd=tmp_path).stdout
    assert json.loads(listed) == [down, tea], "as on the command line"
    report = client.get("/sites/tea/report")
    assert "contentspider report" in report.text and report.status_code == 200
    assert "script" not in report.headers["Content-Security-Policy"]
    changes = client.get("/sites/tea/changes").text
    assert changes.index("changed") < changes.index("new") and f"{site.url}/3" in changes
    log = client.get("/sites/tea/log")
    assert log.headers["Content-Type"].startswith("text/plain") and "pages read" in log.text
    for path in ("/sites/none/report", "/sites/..%2Ftea/log", "/sites/none/changes"):
        assert client.get(path).status_code == 404


@needs_browser
@pytest.mark.parametrize("width", [360, 1160])
def test_table_of_sites_fits_windows(tmp_path: Path, width: int) -> None:
    from starlette.testclient import TestClient

    from contentspider.web.app import Access, make_app

    crawls = Crawls(tmp_path)
    crawls.crawl({1: "one", 2: "two"})
    named = crawls.path.rename(tmp_path / "the-handbook-of-our-branch-office.sqlite")
    app = make_app("", [named], ModelStore(tmp_path / "models"), Access(["testserver"]))
    client = TestClient(app)
    style = f"<style>{client.get('/style.css').text}</style></head>"
    page = client.get("/sites").text.replace("</head>", style)

    async def look(shown: Any) -> Any:
        await shown.set_content(page)
        log = shown.get_by_role("link", name="changes")
        return await shown.evaluate(
            "document.documentElement.scrollWidth"
        ), await log.bounding_box()

    scrolled, link = browse(look, width=width)
    assert scrolled == width and link["x"] + link["width"] < width
