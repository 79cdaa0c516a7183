"""The search page: what it shows, and what it keeps from happening."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from contentspider.index.engine import create_engine
from contentspider.index.schema import Document
from contentspider.index.synonyms import parse_synonyms
from contentspider.site.models.identity import page_id
from contentspider.state.outcome import Outcome
from contentspider.testing.engines import document, write_own_fields
from tests.conftest import Site, run
from tests.embedders import NAME, vectors
from tests.indexes import Crawls
from tests.messages import wording
from tests.processes import Popen
from tests.web.test_report import CHROMIUM, TIMEOUT, browser

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from starlette.testclient import TestClient

from contentspider.state.crawls.entries import last_crawl
from contentspider.state.stores.models import ModelStore
from contentspider.web.app import Access, make_app

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["browser"]
NO_MODELS = ModelStore(Path("no-models"))
# Headless Chromium makes no narrower window.
PHONE = 500
HOSTILE = (
    "<script>alert(1); document.title='ta' + 'ken'</script>\"'><img src=x"
    " onerror=\"document.title='ta' + 'ken'\">"
)


def seen(browser: str, address: str, folder: Path) -> tuple[str, int]:
    """Return a page as a browser has it, and how wide it is on a phone."""
    frame = folder / "frame.html"
    common = [browser, *CHROMIUM, f"--user-data-dir={folder / 'profile'}"]
    dom = subprocess.run(
        [*common, "--dump-dom", address],
        check=True,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    ).stdout
    # The page's own policy lets nobody frame it: its copy, with the style in it, is measured.
    with urlopen(f"{address.split('/?')[0].split('/page')[0]}/style.css", timeout=30) as answer:  # noqa: S310
        style = answer.read().decode()
    measure = "<script>document.title = document.documentElement.scrollWidth</script>"
    frame.write_text(
        dom.replace("</head>", f"<style>{style} body {{ width: {PHONE}px }}</style></head>")
        + measure
    )
    told = subprocess.run(
        [*common, f"--window-size={PHONE},800", "--dump-dom", frame.as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    ).stdout
    return dom, int(told.partition("<title>")[2].partition("<")[0])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Give a browser for an index of 25 pages on the sea, one that is hostile, and a history."""
    url = f"sqlite:{tmp_path / 'pages.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    sea = [
        document(
            number,
            content=f"The sea is wide here, {number} miles." + " And deep." * 99,
            language="en" if number % 2 else "de",
            published_at="2024-05-06",
        )
        for number in range(25)
    ]
    hostile = document(
        99, title=HOSTILE, content=f"storm {HOSTILE}", url="javascript:alert(3)", site=HOSTILE
    )
    tower = document(
        101,
        content="Lighthouse\nThe tower is old.\nKeeper\nThe lighthouse keeper is young.",
        content_html='<p>The tower is old.</p><h2 id="keeper">Keeper</h2><p>The lighthouse keeper',
    )
    assert not engine.upsert(
        [*sea, hostile, tower, document(100, content="東京都で検索エンジンを作る。")]
    )
    engine.flush()
    engine.close()
    crawls = Crawls(tmp_path)
    crawls.crawl({1: "one", 2: "two"})
    crawls.crawl({1: "changed"}, gone=[2], copies={"http://e.org/print": 1})
    (tmp_path / "broken.sqlite").write_bytes(b"no history")
    histories = [crawls.path, tmp_path / "broken.sqlite"]
    app = make_app(url, histories, NO_MODELS, Access(["testserver"]))
    with TestClient(app) as client:
        yield client


def test_search_page_shows_hits_snippets_and_facets(client: TestClient) -> None:
    assert 'name="q"' in client.get("/").text
    style = client.get("/style.css")
    assert (style.headers["Content-Type"], "mark {" in style.text) == (
        "text/css; charset=utf-8",
        True,
    )
    page = client.get("/", params={"q": "wide sea"}).text
    assert "25 pages for “wide sea”" in page
    assert "<mark>sea</mark> is <mark>wide</mark>" in page
    assert '<time datetime="2024-05-06T00:00:00+00:00">2024-05-06</time>' in page
    assert page.count("<li>\n<h2 ") == 10
    assert 'href="/?q=wide+sea&amp;from=10" rel="next"' in page
    last = client.get("/", params={"q": "wide sea", "from": 20}).text
    assert last.count("<li>\n<h2 ") == 5
    assert ('rel="next"' in last, 'rel="prev"' in last) == (False, True)
    german = client.get("/", params={"q": "sea", "language": "de"}).text
    assert "13 pages" in german
    assert 'href="/?q=sea"' in german, "the way back to all languages"
    assert "No page was found" in client.get("/", params={"q": "zebra"}).text
    assert "<mark>検索</mark>" in client.get("/", params={"q": "検索"}).text


def test_page_offers_only_what_narrows_or_orders_in_plain_words(client: TestClient) -> None:
    page = client.get("/", params={"q": "wide sea"}).text
    aside = page.partition("<aside")[2].partition("</aside>")[0]
    assert "language=de" in aside and "language=en" in aside
    assert "site=" not in aside and "page_type=" not in aside, "each has one value"
    texts = re.findall(r"<(?:h2|a [^>]*)>([^<]*)", aside)
    assert "sort=published_at" in aside and not [text for text in texts if "_" in text]
    assert page.index('id="filters"') < page.index("<aside"), "a button for narrow windows"


def test_sites_are_shown_by_the_titles_of_their_front_pages(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'named.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    fronts = {8701: "Harbour News", 8702: "", 8703: "W" * 99}
    for port, title in fronts.items():
        address, site = f"http://127.0.0.1:{port}/", f"127.0.0.1-{port}"
        fields = {"url": address, "site": site, "title": title, "content": "A wide sea."}
        engine.upsert([Document(page_id(address), site, 1, "h", fields)])
    engine.flush()
    engine.close()
    app = make_app(url, [], NO_MODELS, Access(["testserver"]))
    with TestClient(app) as client:
        page = client.get("/", params={"q": "sea"}).text
        aside = page.partition("<aside")[2].partition("</aside>")[0]
        links = re.findall(r'<a href="([^"]*site=[^"]*)"[^>]*>(.*?)</a>', aside)
        assert {address.partition("site=")[2]: shown for address, shown in links} == {
            "127.0.0.1-8701": 'Harbour News<span class="note">127.0.0.1:8701</span>',
            "127.0.0.1-8702": "127.0.0.1:8702",
            "127.0.0.1-8703": "127.0.0.1:8703",
        }
        chosen = client.get("/", params={"q": "sea", "site": "127.0.0.1-8701"}).text
        assert 'aria-label="Not only Harbour News"' in chosen


def test_search_page_names_corrected_words(client: TestClient) -> None:
    page = client.get("/", params={"q": "wide mlies", "language": "en"}).text
    assert "<strong>wide miles</strong>" in page
    assert "<mark>miles</mark>" in page


def test_results_lead_to_the_site_and_to_sections(client: TestClient) -> None:
    page = client.get("/", params={"q": "lighthouse keeper"}).text
    assert '<a href="http://e.org/101" rel=' in page
    assert '<a href="http://e.org/101#keeper" rel=' in page
    assert f'<a href="/page/{101:032x}?q=lighthouse%20keeper">' in page


def test_result_page_shows_clean_text_and_link_to_original(client: TestClient) -> None:
    page = client.get(f"/page/{7:032x}", params={"q": "sea"}).text
    assert 'href="http://e.org/7" rel="noreferrer noopener nofollow external"' in page
    assert "The sea is wide here, 7 miles." in page
    assert 'value="sea"' in page
    missing = client.get("/page/none")
    assert (missing.status_code, "no such page" in missing.text) == (404, True)


def test_sites_page_shows_counts_and_last_crawl(client: TestClient) -> None:
    page = client.get("/sites").text
    assert '<a href="/?site=e.org">e.org</a> <span class="count">27 pages</span>' in page
    assert "broken" in page and "/sites/e.org/report" in page
    told = client.get("/api/sites").json()
    assert told["sites"]["e.org"] == 27
    (crawl,) = told["crawls"]
    assert (crawl["name"], crawl["pages"], crawl["changes"]) == (
        "e.org",
        1,
        {"changed": 1, "gone": 1},
    )


def test_first_crawl_without_an_item_is_among_the_last_crawls(site: Site, tmp_path: Path) -> None:
    site.answer = lambda _: (404, "text/html", b"")
    done = run("crawl", site.url, "--own-site", "--no-sitemaps", cwd=tmp_path, check=False)
    assert done.returncode == Outcome.NOTHING_READ
    (book,) = tmp_path.rglob("*.sqlite")
    crawl = last_crawl(book)
    assert crawl is not None
    assert (crawl["pages"], crawl["outcome"]) == (0, "nothing_read")


def test_json_api_returns_results_facets_and_pages(client: TestClient) -> None:
    found = client.get("/api/search", params={"q": "sea", "limit": 3, "from": 2}).json()
    assert (found["total"], [one["rank"] for one in found["results"]]) == (25, [3, 4, 5])
    assert set(found["results"][0]) == {
        *("rank", "score", "id", "url", "title", "snippet", "sections", "also_at"),
        *("fields", "published_at", "modified_at"),
    }
    assert found["corrected"] == ""
    assert client.get("/api/search", params={"q": "wide mlies"}).json()["corrected"] == "wide miles"
    for one in found["results"]:
        number = int(one["id"], 16)
        assert (one["url"], one["title"]) == (f"http://e.org/{number}", f"Page number {number}")
    assert found["facets"]["language"] == {"de": 13, "en": 12}
    assert client.get(f"/api/page/{7:032x}").json()["url"] == "http://e.org/7"
    copy_id = page_id("http://e.org/print")
    assert client.get(f"/api/page/{copy_id}").json()["url"] == "http://e.org/1"
    missing = client.get("/api/page/none")
    assert (missing.status_code, missing.json()) == (
        404,
        {"error": wording("web.no-such-page")},
    )


def test_openapi_describes_search_and_its_answers(client: TestClient) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    description = client.get("/api/openapi.json").json()
    for path, query, schema in (
        ("/api/search", {"q": "lighthouse keeper"}, "Results"),
        ("/api/search", {"q": "sea", "site": "e.org", "limit": 3}, "Results"),
        ("/api/page/none", {}, "Error"),
    ):
        answer = client.get(path, params=query).json()
        jsonschema.validate(answer, {**description, "$ref": f"#/components/schemas/{schema}"})
    parameters = description["paths"]["/api/search"]["get"]["parameters"]
    assert {parameter["name"] for parameter in parameters} == {
        "typing",
        *("q", "site", "language", "page_type", "limit", "from", "filter", "sort", "facet"),
    }
    sites = description["paths"]["/api/sites"]["get"]["responses"]["200"]["content"]
    (schema,) = (kind["schema"] for kind in sites.values())
    jsonschema.validate(client.get("/api/sites").json(), schema)
    assert "GET /api/search" in client.get("/api").text
    with TestClient(make_app("", [], NO_MODELS, Access(["testserver"]))) as alone:
        assert "/api/search" not in alone.get("/api/openapi.json").json()["paths"]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[TestClient]:
    """Give a search page of three products."""
    url = f"sqlite:{tmp_path / 'shop.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    write_own_fields(
        engine,
        {"price": 12.9, "brand": "Acme <b>", "sku": "a1"},
        {"price": 8.0, "brand": ["Acme <b>", "Bolt"], "sku": "a2"},
        {"price": "free", "sku": "a3"},
    )
    engine.close()
    with TestClient(make_app(url, [], NO_MODELS, Access(["testserver"]))) as client:
        yield client


def test_own_fields_narrow_and_order_the_results_of_the_api(shop: TestClient) -> None:
    params: dict[str, str | list[str]] = {"filter": ["price>1", "brand=Acme <b>"], "sort": "price"}
    answer = shop.get("/api/search", params=params | {"facet": ["brand", "price"]}).json()
    prices = [result["fields"]["price"] for result in answer["results"]]
    assert (answer["total"], prices) == (2, [8.0, 12.9])
    assert answer["facets"]["fields.brand"] == {"Acme <b>": 2, "Bolt": 1}
    assert "fields.sku" not in answer["facets"]
    for wrong in ("prize<2", "price<x", "price", "<2"):
        refusal = shop.get("/api/search", params={"filter": wrong})
        assert (refusal.status_code, refusal.json()["code"]) == (400, "index-filter")
    assert shop.get("/api/search", params={"sort": "brand"}).status_code == 400


def test_alternatives_are_filters_of_page_and_api(shop: TestClient) -> None:
    params = {"q": "words", "filter": "sku=a1|a3", "sort": "first_seen"}
    answer = shop.get("/api/search", params=params).json()
    assert [row["fields"]["sku"] for row in answer["results"]] == ["a1", "a3"]
    page = shop.get("/", params=params).text
    assert "2 pages" in page
    assert 'name="filter" value="sku=a1|a3"' in page
    (without,) = re.findall(r'href="([^"]*)" aria-label', page)
    assert unescape(without) == "/?q=words&sort=first_seen"


def test_pages_are_filtered_and_ordered_by_their_dates(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'news.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    days = ("2026-01-02", "2026-03-04", "2025-05-06")
    engine.upsert([document(number, published_at=day) for number, day in enumerate(days, 1)])
    engine.upsert([document(4)])
    engine.flush()
    engine.close()
    with TestClient(make_app(url, [], NO_MODELS, Access(["testserver"]))) as client:
        params = {"filter": "published_at>=2026-01-01", "sort": "published_at:desc"}
        answer = client.get("/api/search", params=params).json()
        dates = [row["published_at"][:10] for row in answer["results"]]
        assert dates == ["2026-03-04", "2026-01-02"]
        page = client.get("/", params={"q": "words"}).text
        links = [unescape(link) for link in re.findall(r'href="(/\?q=words&amp;sort[^"]*)"', page)]
        assert links == ["/?q=words&sort=published_at%3Adesc", "/?q=words&sort=published_at"]
        assert "2026-03-04" in client.get(links[0]).text


def test_long_texts_are_filters_without_links(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'recipes.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    step = "Stir the soup. " * 60 + "Serve."
    write_own_fields(engine, {"steps": [step, "Serve."]}, {"steps": [step, "Serve."]})
    engine.close()
    with TestClient(make_app(url, [], NO_MODELS, Access(["testserver"]))) as client:
        links = re.findall(r'href="(/\?q=words&amp;filter[^"]*)"', client.get("/?q=words").text)
        assert [unescape(link) for link in links] == ["/?q=words&filter=steps%3DServe."]
        assert client.get("/api/search", params={"filter": f"steps={step}"}).json()["total"] == 2


def test_search_page_offers_filters_and_orders_of_own_fields(shop: TestClient) -> None:
    page = shop.get("/", params={"q": "words", "filter": "price<10", "sort": "price:desc"}).text
    assert "1 page for" in page
    assert "brand Acme &lt;b&gt;, Bolt" in page
    assert 'name="filter" value="price&lt;10"' in page
    assert 'name="sort" value="price:desc"' in page
    everything = shop.get("/", params={"q": "words"}).text
    links = re.findall(r'href="(/\?q=words&amp;[^"]*)"', everything)
    addresses = [unescape(link) for link in links]
    assert "/?q=words&filter=brand%3DAcme+%3Cb%3E" in addresses
    assert {"/?q=words&sort=price", "/?q=words&sort=price%3Adesc"} <= set(addresses)
    assert not [address for address in addresses if "sku" in address]
    for address in addresses:
        assert shop.get(address).status_code == 200
    (without,) = re.findall(r'href="([^"]*)" aria-label', page)
    assert unescape(without) == "/?q=words&sort=price%3Adesc"
    assert "3 pages" in shop.get("/", params={"sort": "price"}).text


def test_search_page_says_that_embedder_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTENTSPIDER_EMBEDDER", NAME)
    vectors.reset()
    url = f"sqlite:{tmp_path / 'hybrid.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    engine.upsert([document(1, content="A car.")])
    engine.flush()
    engine.close()
    with TestClient(make_app(url, [], NO_MODELS, Access(["testserver"]))) as client:
        answer = client.get("/api/search?q=automobile").json()
        assert (answer["total"], answer["note"]) == (1, "")
        vectors.fails_at = vectors.calls
        note = client.get("/api/search?q=car").json()["note"]
        assert note
        vectors.fails_at = vectors.calls
        page = client.get("/?q=car").text
    assert note in page
    assert "out of memory" not in page


def test_search_page_runs_no_scripts_of_indexed_pages(client: TestClient) -> None:
    for path in ("/?q=storm", f"/page/{99:032x}", "/sites", f"/?q={HOSTILE}", f"/?site={HOSTILE}"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.text.count("<script") == 1, "the search box"
        assert "<img" not in answer.text
        assert 'href="javascript:' not in answer.text
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "storm &lt;script&gt;" in client.get("/?q=zzz storm").text.replace("<mark>", "").replace(
        "</mark>", ""
    )


@pytest.mark.parametrize(
    "path",
    [
        *("/?q=%00", "/?q=%ff", "/?q=a&from=-1", "/?q=a&from=x&limit=0", "/?q=a&limit=9999999999"),
        *(
            "/?q=" + "a" * 5_000,
            "/?q=sea&from=999999",
            "/page/%00",
            "/page/%2e%2e%2fx",
            "/?site=",
        ),
    ],
)
def test_malformed_requests_get_response_without_server_error(
    client: TestClient, path: str
) -> None:
    assert client.get(path).status_code in (200, 404)


def test_saved_text_is_formatted_and_harmless(tmp_path: Path) -> None:
    content_html = (
        '<h2 id="uji">Uji</h2><table><tr><td>tea</td></tr></table><pre>x = 1</pre>'
        '<a href="javascript:alert(1)">go</a><img src="http://e.org/spy.png"><script>alert(2)</script>'
    )
    url = f"sqlite:{tmp_path / 'pages.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    engine.upsert([document(1, content="Uji", content_html=content_html)])
    engine.flush()
    engine.close()
    with TestClient(make_app(url, [], NO_MODELS, Access(["testserver"]))) as client:
        page = client.get(f"/page/{1:032x}").text
    assert "<h2>Uji</h2>" in page and "<td>tea</td>" in page and "<pre>x = 1</pre>" in page
    for danger in ("javascript:alert", "spy.png", "alert(2)"):
        assert danger not in page


ORIGIN = "https://shop.example"


@pytest.fixture
def public_client(tmp_path: Path) -> Iterator[TestClient]:
    """Give a client of a server with a token, whose search box pages of `ORIGIN` may have."""
    url = f"sqlite:{tmp_path / 'pages.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    engine.upsert([document(1, title="Ferries", content="Ferries cross the sea.")])
    engine.flush()
    engine.close()
    access = Access(["testserver"], token="secret", origins=[ORIGIN])  # noqa: S106
    with TestClient(make_app(url, [], NO_MODELS, access)) as client:
        yield client


def test_pages_of_allowed_origins_may_search(public_client: TestClient) -> None:
    box = public_client.get("/search-box.js")
    assert box.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    found = public_client.get("/api/search?q=ferr&typing=1", headers={"Origin": ORIGIN})
    assert found.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert [row["title"] for row in found.json()["results"]] == ["Ferries"]
    assert "Ferries" in public_client.get("/?q=sea").text, "the results of a form, too"
    assert public_client.get(f"/page/{1:032x}").status_code == 200
    foreign = public_client.get("/api/search?q=sea", headers={"Origin": "https://evil.example"})
    assert "Access-Control-Allow-Origin" not in foreign.headers
    for path in ("/try", "/sites", "/api/sites", "/api/extract?url=http://e.org", "/metrics"):
        answer = public_client.get(path, headers={"Origin": ORIGIN})
        assert answer.status_code == 401, path
        assert "Access-Control-Allow-Origin" not in answer.headers
    assert public_client.get("/?token=secret").status_code == 200
    assert public_client.get("/sites").status_code == 200, "the token is in a cookie now"


def test_without_allowed_origins_no_other_page_may_search(client: TestClient) -> None:
    answer = client.get("/api/search?q=sea", headers={"Origin": ORIGIN})
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("origin", ["shop.example", "https://shop.example/", "*", "https://a@b"])
def test_invalid_origin_is_refused(origin: str, tmp_path: Path) -> None:
    done = run("serve", "--allow-origin", origin, cwd=tmp_path, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_serve_command_runs_until_interrupted(tmp_path: Path, browser: str) -> None:
    engine = create_engine(f"sqlite:{tmp_path / 'pages.db'}")
    engine.open(is_writer=True)
    hostile = document(2, title=HOSTILE, content=f"sea {HOSTILE} {'wide' * 200}")
    engine.upsert([document(1, content="sea"), hostile])
    engine.flush()
    engine.close()
    command = [sys.executable, "-m", "contentspider", "serve", "--index", "sqlite:pages.db"]
    process = Popen([*command, "--port", "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    address = process.stderr.readline().split()[0]
    assert address.startswith("http://127.0.0.1:")
    with urlopen(f"{address}?q=sea", timeout=30) as answer:  # noqa: S310 - our own server
        assert "<mark>sea</mark>" in answer.read().decode()
    for path in ("?q=sea", f"page/{2:032x}"):
        dom, width = seen(browser, f"{address}{path}", tmp_path)
        assert "alert(1)" in dom, "it is shown"
        assert "<title>taken" not in dom, "and does not run"
        assert width == PHONE, "nothing is wider than a phone"
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(30) in (0, 1, -signal.SIGINT)
    done = run("serve", "--index", "sqlite:none.db", cwd=tmp_path, check=False)
    assert (done.returncode, "does not exist" in done.stderr) == (1, True)


def test_searches_find_synonyms(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'pages.db'}"
    engine = create_engine(url)
    engine.open(is_writer=True)
    engine.upsert([document(1, content="The ferry is late.")])
    engine.flush()
    engine.close()
    synonyms = parse_synonyms("boat, ferry")
    with TestClient(make_app(url, [], NO_MODELS, Access(["testserver"]), synonyms)) as client:
        assert client.get("/api/search?q=boats").json()["total"] == 1
    (tmp_path / "words.txt").write_text("boat, ferry\n")
    command = ["search", "boat", "--index", url, "--synonyms", "words.txt", "--json"]
    assert "ferry" in run(*command, cwd=tmp_path).stdout
    (tmp_path / "words.txt").write_text("boat\n")
    for name in ("search boat", "serve", "mcp"):
        arguments = [*name.split(), "--index", url, "--synonyms", "words.txt"]
        refused = run(*arguments, cwd=tmp_path, check=False)
        assert refused.returncode == 1
        assert "words.txt:1" in refused.stderr


def test_request_with_foreign_host_header_is_rejected(client: TestClient) -> None:
    answer = client.get("/?q=sea", headers={"Host": "evil.example"})
    assert (answer.status_code, "sea" in answer.text) == (400, False)


def test_server_at_an_ipv6_address_answers_its_own_address() -> None:
    with TestClient(
        make_app("", [], NO_MODELS, Access(["::1"])), base_url="http://[::1]:8080"
    ) as client:
        assert client.get("/try").status_code == 200
        assert client.get("/try", headers={"Host": "[::2]:8080"}).status_code == 400


def test_missing_index_is_reported_until_it_exists(tmp_path: Path) -> None:
    app = make_app(f"sqlite:{tmp_path / 'none.db'}", [], NO_MODELS, Access(["testserver"]))
    with TestClient(app) as client:
        answer = client.get("/?q=sea")
        assert (answer.status_code, "does not exist" in answer.text) == (500, True)
        error = client.get("/api/search?q=sea").json()
        assert ("does not exist" in error["error"], error["code"]) == (True, "engine")
        engine = create_engine(f"sqlite:{tmp_path / 'none.db'}")
        engine.open(is_writer=True)
        engine.upsert([document(1, content="sea")])
        engine.flush()
        engine.close()
        assert "1 page for" in client.get("/?q=sea").text, "no restart is needed"
