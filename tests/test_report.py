"""The report, and how it looks in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.page.input.page import Page
from contentspider.report.report import site_report
from contentspider.site.learn.learner import SiteLearner
from tests.conftest import TIMEOUT, Site, run
from tests.sites import prose, small_site

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


def png_size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


@pytest.fixture
def browser() -> str:
    found = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if not found:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    return found


def test_a_report_shows_what_is_kept_and_dropped_and_runs_nothing(
    example_corpus: Path, tmp_path: Path, browser: str
) -> None:
    site = tmp_path / "site"
    shutil.copytree(example_corpus / "html", site)
    hostile = HOSTILE.replace("<", "&lt;")
    (site / "hostile.html").write_text(
        f"<title>Odd</title><article><h1>Odd</h1><p>{hostile}"
        f" {prose(1)}</p><p>{prose(2)}</p></article>"
    )
    done = run("report", "site", "-o", "report.html", cwd=tmp_path)
    assert "58 pages -> report.html" in done.stderr
    html = (tmp_path / "report.html").read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", html), "self-contained"
    first, *others = [float(value) for value in re.findall(r"confidence</span> ([\d.]+)<", html)]
    assert others == sorted(others)
    assert first <= others[0]
    page = (tmp_path / "report.html").as_uri()
    common = [
        browser,
        *CHROMIUM,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1200,1600",
    ]
    subprocess.run(
        [*common, f"--screenshot={tmp_path / 'report.png'}", page],
        check=True,
        capture_output=True,
        timeout=TIMEOUT,
    )
    assert png_size(tmp_path / "report.png") == (1200, 1600)
    dom = subprocess.run(
        [*common, "--dump-dom", page], check=True, capture_output=True, text=True, timeout=TIMEOUT
    ).stdout
    assert "<title>contentspider report</title>" in dom, "no script of a page ran"
    assert dom.count("<tr>") > 10
    assert dom.count("<details") == 58


def test_a_crawl_is_reported_by_the_address_that_was_crawled(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    run("crawl", site.url, "--own-site", "--no-sitemaps", cwd=tmp_path)
    done = run("report", site.url, cwd=tmp_path)
    assert "6 pages -> report.html" in done.stderr
    assert f"{site.url}/5" in (tmp_path / "report.html").read_text()
    done = run("report", "http://127.0.0.1:1", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_what_cannot_be_reported_is_said(tmp_path: Path) -> None:
    assert "no such file or folder" in run("report", "nothing", cwd=tmp_path, check=False).stderr
    (tmp_path / "empty").mkdir()
    assert "no pages with text" in run("report", "empty", cwd=tmp_path, check=False).stderr
    site = tmp_path / "blank"
    site.mkdir()
    (site / "index.html").write_text("<html><body> </body></html>")
    done = run("report", "blank", cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no pages with text" in done.stderr


def test_pages_without_text_are_no_report() -> None:
    learner = SiteLearner("e.org")
    page = Page.from_html(f"<article><h1>One</h1><p>{prose(1)}</p></article>", "https://e.org/")
    with pytest.raises(NotEnoughTextError, match="nothing to report"):
        site_report(learner, learner.fit([page]), [Page.from_html("", "https://e.org/")])


def test_a_sample_is_said_to_be_one_and_numbers_are_labelled() -> None:
    learner = SiteLearner("e.org")
    pages = [
        Page.from_html(
            f"<article><h1>One</h1><p>{prose(number)}</p><p>{'x' * 3_000}</p></article>",
            f"https://e.org/{number}",
        )
        for number in range(3)
    ]
    model = learner.fit(pages)
    html = site_report(learner, model, pages, total=313)
    assert "a sample of 3 of the site's 313 pages" in html
    for label in ("confidence", "characters kept", "dropped"):
        assert html.count(f'<span class="label">{label}</span>') == 3
    assert "width=device-width" in html
    assert "sample of" not in site_report(learner, model, pages)


def test_a_report_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    learner = SiteLearner("e.org")
    page = Page.from_html(f"<article><h1>One</h1><p>{prose(1)}</p></article>", "https://e.org/")
    model = learner.fit([page])
    with pytest.raises(ContentSpiderError, match=r"pip install 'contentspider\[report\]'"):
        site_report(learner, model, [page])
