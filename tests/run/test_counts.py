"""The pages that a run counts, and how often it requests them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.conftest import Site, run
from tests.run.test_run import sites_file, told
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 14


def night(folder: Path) -> dict[str, object]:
    run("run", "sites.toml", "--summary", "s.json", cwd=folder, check=False)
    return told(folder / "s.json")[1]["tea"]


def test_edited_pages_are_requested_once_and_rewritten_pages_are_counted_once(
    tmp_path: Path, site: Site
) -> None:
    small_site(site, COUNT)
    sites_file(tmp_path, tea=site.url)
    assert night(tmp_path)["pages"] == COUNT
    for path, (status, kind, body) in site.pages.items():
        site.pages[path] = (
            status,
            kind,
            body.replace(b"river", b"stream").replace(b"copper", b"tin"),
        )
    site.requests.clear()
    found = night(tmp_path)
    assert (found["pages"], found["changes"]) == (COUNT, {**found["changes"], "changed": COUNT})  # type: ignore[dict-item]
    asked = Counter(path for path in site.requests if path in site.pages)
    assert asked == dict.fromkeys(site.pages, 1), "an edited page is no error page"
    for number in range(1, COUNT):
        site.add(f"/{number}", article(number + 100).replace("river", "stream"))
    assert night(tmp_path)["pages"] == COUNT, "some are requested again, to tell error pages"


def test_page_that_stands_before_a_site_is_no_page_of_it(tmp_path: Path, site: Site) -> None:
    form = "<title>Log in</title><h1>Members</h1><form><input name=a type=password></form>"
    site.answer = lambda _: (200, "text/html", form.encode())
    sites_file(tmp_path, tea=site.url)
    found = night(tmp_path)
    assert (found["outcome"], found["pages"]) == ("content_hidden", 0)
    said = " ".join(map(str, found["reasons"]))  # type: ignore[call-overload]
    assert "login =" in said and "--login" not in said, "the keys of the file, not options"
