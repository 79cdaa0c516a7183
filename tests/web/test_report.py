"""The report, and how it looks in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from lxml import html as lxml_html

from contentspider.ground.errors import NotEnoughTextError
from contentspider.page.input.overrides import OVERRIDES
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.web.report import site_report
from tests import conftest
from tests.conftest import TIMEOUT, Site, run
from tests.messages import wording
from tests.site.test_images import page as pictured
from tests.sites import NOTICE_SLOT, article, bylined, noticed, prose, small_site

if TYPE_CHECKING:
    from pathlib import Path

example_corpus, site = conftest.example_corpus, conftest.site
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


def test_report_shows_kept_and_dropped_blocks_and_runs_no_scripts(
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


def test_report_finds_crawl_by_start_url(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    run("crawl", site.url, "--own-site", "--no-sitemaps", cwd=tmp_path)
    done = run("report", site.url, cwd=tmp_path)
    assert "6 pages -> report.html" in done.stderr
    assert f"{site.url}/5" in (tmp_path / "report.html").read_text()
    done = run("report", "http://127.0.0.1:1", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_report_errors_print_message(tmp_path: Path) -> None:
    assert wording("cli.no-such-file") in run("report", "nothing", cwd=tmp_path, check=False).stderr
    (tmp_path / "empty").mkdir()
    assert "no pages with text" in run("report", "empty", cwd=tmp_path, check=False).stderr
    site = tmp_path / "blank"
    site.mkdir()
    (site / "index.html").write_text("<html><body> </body></html>")
    done = run("report", "blank", cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "no pages with text" in done.stderr


def test_report_on_pages_without_text_raises_not_enough_text_error() -> None:
    learner = SiteLearner("e.org")
    page = Page.from_html(f"<article><h1>One</h1><p>{prose(1)}</p></article>", "https://e.org/")
    with pytest.raises(NotEnoughTextError, match="nothing to report"):
        site_report(learner, learner.fit([page]), [Page.from_html("", "https://e.org/")])


def test_report_states_sample_size_and_labels_numbers() -> None:
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
    assert "<span>3 articles</span>" in html
    for label in ("confidence", "characters kept", "dropped"):
        assert html.count(f'<span class="label">{label}</span>') == 3
    assert "width=device-width" in html
    assert "sample of" not in site_report(learner, model, pages)


def test_report_shows_doubtful_templates_with_example_pages() -> None:
    pages = [
        Page.from_html(noticed(number) if number < 7 else article(number), f"http://e.org/{number}")
        for number in range(14)
    ]
    learner = SiteLearner("e.org")
    model = learner.fit(pages)
    html = site_report(learner, model, pages)
    section = html[html.index("<h2>Doubtful templates") : html.index("<h2>Clusters")]
    assert f"7 pages with most text at {NOTICE_SLOT}; " in section
    assert section.count("Kept by the site's model only:") == 4
    assert "3 more pages of this template" in section
    assert prose(8, 1)[:100] not in section, "both keep it"
    assert "<h2>Doubtful templates" not in site_report(learner, learner.fit(pages[7:]), pages)


def test_report_lists_kept_and_dropped_images() -> None:
    picture, aside = "<p><img src=/cup.jpg alt=Cup></p>", "<img src=/other.jpg alt=Other>"
    pages = [Page.from_html(pictured(n, picture), f"http://e.org/{n}") for n in range(12)]
    pages.append(
        Page.from_html(
            pictured(99, "<p><img src=/own.jpg alt=Own></p>", aside=aside), "http://e.org/99"
        )
    )
    learner = SiteLearner("e.org")
    shown = site_report(learner, learner.fit(pages), pages)
    assert 'class="kept">kept: <a rel="noreferrer" href="http://e.org/own.jpg">' in shown
    assert 'class="dropped">dropped: <a rel="noreferrer" href="http://e.org/other.jpg">' in shown
    assert "flag.png" not in shown and "cup.jpg" not in shown, "the template's"


def test_report_shows_effect_of_overrides(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    name = site.url.removeprefix("http://").replace(":", "-")
    path = tmp_path / "models" / name / OVERRIDES
    path.parent.mkdir(parents=True)
    path.write_text('keep = ["footer"]\n[[rule]]\npattern = "re:/[1-9]$"\ndrop = ["article p"]\n')
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    (tmp_path / name).mkdir()
    for number in range(1, 4):
        (tmp_path / name / str(number)).write_text("<html>" + article(number))
    for source, blocks in ((name + ".sqlite", 10), (name, 6)):
        run("report", source, "-o", "r.html", cwd=tmp_path)
        text = (tmp_path / "r.html").read_text()
        assert "<h2>Corrections by people</h2>" in text
        cells = rf"<code>article p</code></td><td>re:/\[1-9\]\$</td>\s*<td[^>]*>{blocks}</td>"
        assert re.search(cells, text)
    path.write_text("keep = ['<']")
    done = run("report", name, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "overrides.toml:1: '<' is not a valid CSS selector" in done.stderr
    path.unlink()
    run("report", name, "-o", "r.html", cwd=tmp_path)
    assert "Corrections by people" not in (tmp_path / "r.html").read_text()


def test_report_shows_places_and_values_of_fields() -> None:
    pages = [Page.from_html(bylined(number), f"https://e.org/{number}") for number in range(40)]
    learner = SiteLearner("e.org")
    report = site_report(learner, learner.fit(pages), pages)
    tree = lxml_html.fromstring(report)
    rows = {row[0].text: row for row in tree.xpath("//h2[.='Fields']/following::table[1]/tbody/tr")}
    assert list(rows) == ["title", "published_at", "author", "section", "keywords"]
    assert [cell.text_content() for cell in rows["author"]][1:3] == ["40", "30 of 30"]
    assert "div.who" in rows["author"][3].text_content()
    assert "Ada Byron" in rows["author"][4].text_content()
