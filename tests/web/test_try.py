"""A page that is tried: alone and with its site, in the browser and by the API."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider import extract_html
from tests.conftest import Site, serve
from tests.officefiles import FILES, TEXT
from tests.pdffiles import make_pdf
from tests.sites import prose

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from starlette.testclient import TestClient

from contentspider.ground.fetch import Fetched
from contentspider.state.stores.models import ModelStore
from contentspider.web import guards, trial_pages
from contentspider.web.app import Access, make_app
from contentspider.web.trials import extract_fetched

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_MODELS = ModelStore(Path("no-models"))
LOOPBACK = "http://127.0.0.1"
HOSTILE = """<title>Tea</script><script>parent.taken = 1</script></title>
<base href=http://127.0.0.1:9/><meta http-equiv=refresh content='0;url=/away'>
<style>* {display: none}</style>
<link rel=stylesheet href=/x.css><body onload=alert(1)>
<p onclick=alert(1) style='position: fixed'>
<a href='javascript:alert(1)' accesskey=c autofocus>Tea</a> is made of leaves and of hot
water, every day.</p><iframe src=/frame></iframe><form action=/send>
<input autofocus><button formaction=/x>Go</button></form>
<svg><script>alert(1)</script><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>
<img src=/x.png onerror=alert(1)><object data=/o></object><video src=/v></video>"""


def page(number: int, links: str = "") -> str:
    return (
        f"<title>{prose(number, 'title', words=5)}</title><body><div class=top><a href=/>Home</a>"
        f" <a href=/all>All</a> {links}</div><div class=text><h1>{prose(number, 'title', words=5)}"
        f"</h1><p>{prose(number)}</p><p>{prose(number, 2)}</p></div>"
    )


@pytest.fixture
def site() -> Iterator[Site]:
    with serve() as made:
        links = "".join(f"<a href=/{number}>{number}</a> " for number in range(1, 14))
        for number in range(14):
            made.add(f"/{number or ''}", page(number, links))
        yield made


@pytest.fixture
def client() -> Iterator[TestClient]:
    app = make_app("", [], NO_MODELS, Access(["127.0.0.1", "testserver"], is_private_allowed=True))
    with TestClient(app, base_url=LOOPBACK) as made:
        yield made


def tried(client: TestClient, address: str, pages: int) -> tuple[str, str]:
    """Return the path of a job, and its page when it is done."""
    answer = client.post("/try", data={"url": address, "pages": str(pages)}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    path = answer.headers["location"]
    said = client.get(f"{path}/events")
    assert said.headers["content-type"].startswith("text/event-stream")
    assert said.text.endswith("event: done\ndata: {}\n\n")
    return path, client.get(path).text


def test_single_page_result_equals_extract_html(client: TestClient, site: Site) -> None:
    path, shown = tried(client, f"{site.url}/3", 0)
    expected = extract_html(page(3), f"{site.url}/3").text
    assert all(line in shown for line in expected.splitlines())
    item = client.get(f"{path}/alone/item.json").json()
    assert item["content"] == expected
    assert "With" not in shown and client.get(f"{path}/site/item.json").status_code == 404


def test_page_is_shown_beside_result_of_its_site_model(client: TestClient, site: Site) -> None:
    path, shown = tried(client, f"{site.url}/3", 10)
    # /all, which is not there, is one of those that are asked for.
    assert re.search("With (9|10) more pages of its site", shown)
    assert "on this site F1 0." in shown and "(predicted;" in shown
    item = client.get(f"{path}/site/item.json").json()
    assert item["content"].splitlines()[-2:] == [prose(3), prose(3, 2)]
    assert len({line for line in site.requests if line != "/robots.txt"}) >= 11
    rows = list(csv.DictReader(io.StringIO(client.get(f"{path}/site/blocks.csv").text)))
    assert [row["text"] for row in rows if row["kept"] == "True"] == item["content"].splitlines()
    painted = client.get(f"{path}/site/page")
    assert painted.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert painted.text.count('data-contentspider="kept"') == 3
    assert 'data-contentspider="dropped"' in painted.text
    rules = {
        form: client.get(f"{path}/site/rules.{form}") for form in ("xml", "json", "css", "ftr")
    }
    assert "/* include */" in rules["css"].text and "<keep " in rules["xml"].text
    assert {rule["action"] for rule in rules["json"].json()["rules"]} >= {"keep"}
    assert "body: //" in rules["ftr"].text and "/* include */" in shown
    assert client.get(f"{path}/alone/rules.css").status_code == 404
    assert client.get(f"{path}/site/rules.exe").status_code == 404
    alone = set(client.get(f"{path}/alone/item.json").json()["content"].splitlines())
    different = alone ^ set(item["content"].splitlines())
    assert shown.count("<mark>") == len(different) + bool(different), "one more is in the legend"


def test_blocks_csv_has_no_formulas(client: TestClient, site: Site) -> None:
    site.add(
        "/sums", f"<article><h1>Sums</h1><p>=1+1 {prose(1)}</p><p>@SUM {prose(2)}</p></article>"
    )
    path, _ = tried(client, f"{site.url}/sums", 0)
    rows = list(csv.DictReader(io.StringIO(client.get(f"{path}/alone/blocks.csv").text)))
    assert [row["text"][:5] for row in rows] == ["Sums", "'=1+1", "'@SUM"]


@pytest.mark.thorough
def test_site_of_one_page_is_reported_as_unlearnable(client: TestClient, site: Site) -> None:
    site.pages = {
        "/": site.pages["/"],
        "/robots.txt": (200, "text/plain", b"User-agent: *\nDisallow: /"),
    }
    _, shown = tried(client, f"{site.url}/", 10)
    assert "the site could not be learned" in shown and "The page alone" in shown


@pytest.mark.parametrize(
    ("address", "said"),
    [("", "give the address"), ("file:///etc/passwd", "give the address"), ("http://", "give")],
)
def test_invalid_url_is_reported_in_form(client: TestClient, address: str, said: str) -> None:
    answer = client.post("/try", data={"url": address})
    assert answer.status_code == 400 and said in answer.text


def test_unreachable_or_empty_page_is_reported(client: TestClient, site: Site) -> None:
    _, shown = tried(client, f"{site.url}/none", 0)
    assert "the server answered 404" in shown
    site.add("/empty", "<div id=app></div><script src=app.js></script>")
    _, shown = tried(client, f"{site.url}/empty", 0)
    assert "--render auto" in shown
    assert client.get("/try/other").status_code == 404


def test_private_networks_are_refused_unless_allowed(site: Site) -> None:
    app = make_app("", [], NO_MODELS, Access(["127.0.0.1"]))
    with TestClient(app, base_url=LOOPBACK) as client:
        answer = client.post("/try", data={"url": f"{site.url}/3"})
        assert answer.status_code == 400 and "is a loopback address" in answer.text
        answer = client.get("/api/extract", params={"url": f"{site.url}/3"})
        assert answer.status_code == 400 and "is a loopback address" in answer.json()["error"]
    assert not site.requests


def test_client_has_one_job_at_a_time(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def for_ever(*_: Any) -> Any:
        import asyncio

        await asyncio.Event().wait()

    monkeypatch.setattr(trial_pages, "try_page", for_ever)
    form = {"url": "http://example.org/"}
    first = client.post("/try", data=form, follow_redirects=False)
    assert first.status_code == 303
    second = client.post("/try", data=form)
    assert second.status_code == 429 and "one page at a time" in second.text
    assert int(second.headers["retry-after"]) > 0
    assert "Reading the page" in client.get(first.headers["location"]).text


def test_running_job_names_its_page_and_can_be_cancelled(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def for_ever(*_: Any) -> Any:
        import asyncio

        await asyncio.Event().wait()

    monkeypatch.setattr(trial_pages, "try_page", for_ever)
    form = {"url": "http://example.org/tea"}
    path = client.post("/try", data=form, follow_redirects=False).headers["location"]
    assert "http://example.org/tea" in client.get(path).text
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert client.post(f"{path}/cancel", headers=foreign).status_code == 403
    cancelled = client.post(f"{path}/cancel")
    assert 'value="http://example.org/tea"' in cancelled.text, "the form has the address again"
    assert client.post("/try", data=form, follow_redirects=False).status_code == 303


def test_pdf_file_is_read(client: TestClient, site: Site) -> None:
    pytest.importorskip("pypdfium2")
    site.add("/report.pdf", make_pdf([["Green tea grows in Uji."]]), kind="application/pdf")
    path, shown = tried(client, f"{site.url}/report.pdf", 0)
    assert "Green tea" in client.get(f"{path}/alone/item.json").json()["content"]
    assert "<iframe" not in shown, "a document has no page to show"
    site.add("/broken.pdf", b"%PDF-1.4 broken", kind="application/pdf")
    assert "no text can be read" in tried(client, f"{site.url}/broken.pdf", 0)[1]


def test_office_file_is_read_and_unknown_file_is_no_page(client: TestClient, site: Site) -> None:
    pytest.importorskip("anydoc")
    site.add("/tea.docx", FILES["docx"], kind="application/octet-stream")
    path, shown = tried(client, f"{site.url}/tea.docx", 0)
    item = client.get(f"{path}/alone/item.json").json()
    assert item["page_type"] == "document"
    assert TEXT in item["content"]
    assert "Sencha" in item["content"]
    assert "<iframe" not in shown
    site.add("/data", bytes(range(256)) * 9, kind="application/octet-stream")
    assert "is not a page" in tried(client, f"{site.url}/data", 0)[1]


def test_api_has_same_limits_as_form(
    client: TestClient, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def for_ever(*_: Any) -> Any:
        import asyncio

        await asyncio.Event().wait()

    other = {"Sec-Fetch-Site": "cross-site"}
    given = {"url": f"{site.url}/3"}
    assert client.get("/api/extract", params=given, headers=other).status_code == 403
    assert client.post("/api/extract", content=page(3), headers=other).status_code == 403
    assert site.requests == []
    for _ in range(3):  # each is done before the next
        assert client.get("/api/extract", params=given).status_code == 200
    monkeypatch.setattr(trial_pages, "try_page", for_ever)
    client.post("/try", data=given, follow_redirects=False)
    answer = client.get("/api/extract", params=given)
    assert answer.status_code == 429 and "one page at a time" in answer.json()["error"]


def test_cross_site_and_oversized_forms_are_rejected(client: TestClient) -> None:
    other = {"Origin": "http://evil.example"}
    assert client.post("/try", data={"url": "http://e.org/"}, headers=other).status_code == 403
    assert client.post("/try", data={"url": "x" * 30_000}).status_code == 413


def test_api_accepts_html_and_urls(client: TestClient, site: Site) -> None:
    item = client.get("/api/extract", params={"url": f"{site.url}/3"}).json()
    sent = client.post("/api/extract", params={"url": f"{site.url}/3"}, content=page(3)).json()
    assert item["url"] == sent["url"] == f"{site.url}/3"
    assert prose(3) in item["content"] and prose(3) in sent["content"]
    assert client.post("/api/extract", content=b"").status_code == 400
    described = client.get("/api/openapi.json").json()
    assert set(described["paths"]["/api/extract"]) == {"get", "post"}


def test_api_is_documented_by_openapi(client: TestClient) -> None:
    shown = client.get("/api").text
    described = client.get("/api/openapi.json").json()
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            assert f"{method.upper()} {path}" in shown and about["summary"] in shown
    form = client.get("/try").text
    assert 'href="/api"' in form
    assert "href=\"javascript:location.href='http://127.0.0.1/try?url='" in form.replace(
        "&#39;", "'"
    )


def test_remote_access_requires_token() -> None:
    app = make_app("", [], NO_MODELS, Access(["testserver"], token="secret"))  # noqa: S106
    with TestClient(app) as client:
        for path in ("/try", "/api/openapi.json", "/style.css"):
            assert client.get(path).status_code == 401
        assert client.get("/try?token=wrong").status_code == 401
        bearer = {"Authorization": "Bearer secret"}
        assert client.get("/api/openapi.json", headers=bearer).status_code == 200
        opened = client.get("/try?token=secret", follow_redirects=False)
        assert opened.status_code == 303 and "token" not in opened.headers["location"]
        assert client.get("/try").status_code == 200


def test_token_in_an_address_is_for_browsers_that_open_a_page() -> None:
    app = make_app("", [], NO_MODELS, Access(["testserver"], token="secret"))  # noqa: S106
    for scheme, is_secure in (("http", False), ("https", True)):
        with TestClient(app, base_url=f"{scheme}://testserver") as client:
            assert client.get("/api/openapi.json?token=secret").status_code == 401
            assert client.post("/try?token=secret", data={"url": "x"}).status_code == 401
            opened = client.get("/try?token=secret", follow_redirects=False)
            assert ("; secure" in opened.headers["set-cookie"].lower()) is is_secure
            assert client.get("/try").status_code == client.get("/api").status_code == 200


def test_bodies_are_limited_in_all(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MAX_HELD_BYTES", 1_000)
    html = page(3) + "<p>more</p>" * 100
    refused = client.post("/api/extract", content=html)
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    for _ in range(3):  # what is done is held no more
        assert client.post("/api/extract", content=page(3)[:900]).status_code == 200


def test_hostile_page_is_displayed_without_active_content() -> None:
    shown = extract_fetched(Fetched("http://e.org/", HOSTILE.encode(), "text/html")).preview
    body = shown.partition("</style>")[2].lower()
    for word in (
        "<script",
        "onload",
        "onclick",
        "onerror",
        "javascript:",
        "<iframe",
        "<base",
        "refresh",
    ):
        assert word not in body, word
    for word in (
        "href=",
        "src=",
        "action=",
        "accesskey",
        "autofocus",
        "<object",
        "<video",
        "<link",
        "fixed",
    ):
        assert word not in body, word
    assert 'data-contentspider="kept"' in body


def test_api_returns_valid_json_for_any_page_text(client: TestClient) -> None:
    body = "<p>" + prose("half") + ' \\ud83d &#xD83D; "</p>'
    item = json.loads(client.post("/api/extract", content=body).content)
    assert prose("half") in item["content"]
