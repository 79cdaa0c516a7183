"""The tools that agents get: what they answer, how large answers are, and who may ask."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.index.engine import create_engine
from contentspider.index.synonyms import parse_synonyms
from contentspider.site.models.identity import page_id
from contentspider.testing.engines import document, write_own_fields
from tests.conftest import ROOT, run
from tests.embedders import NAME, vectors
from tests.indexes import Crawls
from tests.processes import SERVER, Popen, start_server

pytest.importorskip("mcp")
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from contentspider.web import mcp_server
from contentspider.web.mcp_server import Tools, make_server

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.index.schema import Document

DYEING = (
    '<p>Cloth is dyed in vats.</p><h2 id="red dyes">Red dyes</h2><p>Madder root gives red.</p>'
    '<pre><code>boil(60)\n  stir()</code></pre><h3 id="crimson">Crimson</h3><p>From scale insects.'
    '</p><h3>No anchor</h3><p>Lac.</p><h2 id="blue">Blue dyes</h2><p>Woad gives blue.</p>'
)
LOOM = "\n\n".join(f"Paragraph {number} on the warp." for number in range(2_000))


def dyeing_page(number: int, **fields: Any) -> Document:
    made = document(number, **{"content_markdown": "", **fields})
    return replace(made, id=page_id(made.fields["url"]))


@pytest.fixture
def index(tmp_path: Path) -> str:
    """Return the URL of an index of eight pages on dyeing and weaving."""
    return make_index(
        tmp_path / "cloth.db",
        [
            dyeing_page(
                1,
                title="Dyeing",
                content="Madder root gives red. Woad gives blue.",
                content_html=DYEING,
                author=["Ida Weld"],
            ),
            dyeing_page(2, title="Looms", content="Warp and weft.", content_markdown=LOOM),
            dyeing_page(3, title="Färben", content="Krapp färbt rot, madder.", language="de"),
            *(dyeing_page(number, title="Wool", content="Sheep.") for number in (4, 5)),
            *(
                dyeing_page(number, url=f"http://e.org/tools/{number}", content="A tool.")
                for number in range(6, 9)
            ),
        ],
    )


def make_index(path: Path, documents: list[Document]) -> str:
    with closing(create_engine(f"sqlite:{path}")) as engine:
        engine.open(is_writer=True)
        assert not engine.upsert(documents)
        engine.flush()
    return f"sqlite:{path}"


def ask(tools: Tools, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the package's client gets from tools: {"error": ...} for the error of a tool."""

    async def ask_all() -> list[dict[str, Any]]:
        answers = []
        async with Client(make_server(tools)) as client:
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                text = result.content[0].text
                answers.append({"error": text} if result.is_error else result.structured_content)
        return answers

    with closing(tools):
        return asyncio.run(ask_all())


def test_search_returns_addresses_of_pages_sections_and_copies(index: str) -> None:
    madder, german, wool, none = ask(
        Tools([index]),
        ("search", {"query": "madder"}),
        ("search", {"query": "madder", "language": "de"}),
        ("search", {"query": "sheep", "limit": 5}),
        ("search", {"query": "zebra", "site": "e.org"}),
    )
    assert (madder["total"], madder["cut"]) == (2, False)
    (dyeing,) = (row for row in madder["results"] if row["title"] == "Dyeing")
    assert dyeing["url"] == "http://e.org/1"
    assert "Madder root" in dyeing["snippet"]
    assert [section["url"] for section in dyeing["sections"]] == ["http://e.org/1#red%20dyes"]
    assert [row["url"] for row in german["results"]] == ["http://e.org/3"]
    (sheep,) = wool["results"]
    assert {sheep["url"], *sheep["also_at"]} == {"http://e.org/4", "http://e.org/5"}
    assert none["results"] == []


def test_page_with_route_of_a_script_is_found_by_its_address(tmp_path: Path) -> None:
    pages = {"": "Front.", "#/wool": "Sheep.", "#/flax": "Linen."}
    documents = [
        dyeing_page(number, url=f"http://e.org/{route}", content=text, content_html=text)
        for number, (route, text) in enumerate(pages.items())
    ]
    index = make_index(tmp_path / "routes.db", documents)
    asked = ("#top", "#/wool", "#/flax#top")
    found = ask(Tools([index]), *(("page", {"address": f"http://e.org/{end}"}) for end in asked))
    assert [page["url"] for page in found] == [f"http://e.org/{route}" for route in pages]


def test_own_fields_narrow_and_order_the_results_of_all_indexes(tmp_path: Path) -> None:
    urls = []
    for name, prices in {"a": (12.0, 3.0), "b": (8.0, 1.0)}.items():
        urls.append(f"sqlite:{tmp_path / name}.db")
        with closing(create_engine(urls[-1])) as engine:
            engine.open(is_writer=True)
            write_own_fields(engine, *({"price": price, "brand": name} for price in prices), {})
    cheap, dear, wrong = ask(
        Tools(urls),
        ("search", {"query": "", "filters": ["price<10"], "sort": "price"}),
        ("search", {"query": "words", "sort": "price:desc"}),
        ("search", {"query": "words", "filters": ["prize<10"]}),
    )
    assert (cheap["total"], [row["fields"]["price"] for row in cheap["results"]]) == (3, [1, 3, 8])
    prices = [row["fields"].get("price") for row in dear["results"]]
    assert prices == [12, 8, 3, 1, None, None]
    assert "price (numbers)" in wrong["error"]


def test_results_of_all_indexes_are_ordered_by_their_dates(tmp_path: Path) -> None:
    urls = []
    for name, days in {"a": ("2026-01-02", ""), "b": ("2026-03-04", "2025-05-06")}.items():
        urls.append(f"sqlite:{tmp_path / name}.db")
        with closing(create_engine(urls[-1])) as engine:
            engine.open(is_writer=True)
            engine.upsert([document(n, published_at=day) for n, day in enumerate(days, 1)])
            engine.flush()
    newest, old = ask(
        Tools(urls),
        ("search", {"query": "words", "sort": "published_at:desc"}),
        ("search", {"query": "", "filters": ["published_at<2026-01-01"]}),
    )
    dates = [row["published_at"][:10] for row in newest["results"]]
    assert dates == ["2026-03-04", "2026-01-02", "2025-05-06", ""]
    assert [row["index"] for row in old["results"]] == ["b"]


def test_search_that_reaches_the_last_offset_says_that_there_is_more(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'a.db'}"
    with closing(create_engine(url)) as engine:
        engine.open(is_writer=True)
        engine.upsert([document(number) for number in range(1_020)])
        engine.flush()
    first, last, end = ask(
        Tools([url]),
        ("search", {"query": "words", "limit": 10, "offset": 990}),
        ("search", {"query": "words", "limit": 10, "offset": 1_000}),
        ("search", {"query": "words", "limit": 50, "offset": 1_000}),
    )
    assert (first["cut"], first["next_offset"], first["note"]) == (True, 1_000, "")
    assert "next_offset" not in last
    assert last["note"]
    assert (end["cut"], end["note"]) == (False, "")


def test_search_says_that_embedder_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTENTSPIDER_EMBEDDER", NAME)
    vectors.reset()
    url = make_index(tmp_path / "hybrid.db", [dyeing_page(1, title="Cars", content="A car.")])
    vectors.fails_at = vectors.calls + 1
    both, words = ask(
        Tools([url]),
        ("search", {"query": "automobile"}),
        ("search", {"query": "car"}),
    )
    assert [row["url"] for row in both["results"]] == ["http://e.org/1"]
    assert (both["note"], words["total"]) == ("", 1)
    assert words["note"]


def test_page_and_search_name_the_copies_that_an_item_lists(tmp_path: Path) -> None:
    copies = ["http://e.org/print"]
    page = dyeing_page(1, title="Cars", content="A car.", also_at=copies)
    url = make_index(tmp_path / "copies.db", [page])
    shown, found = ask(
        Tools([url]), ("page", {"address": "http://e.org/1"}), ("search", {"query": "car"})
    )
    assert shown["also_at"] == found["results"][0]["also_at"] == copies
    assert "also_at" not in shown["metadata"]


def test_address_of_a_copy_leads_to_the_page_that_it_copies(tmp_path: Path) -> None:
    url = make_index(tmp_path / "copies.db", [document(1, title="Cars", content="A car.")])
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / "broken.sqlite").write_bytes(b"no history")
    crawls = Crawls(folder)
    crawls.crawl({1: "Cars"}, copies={"http://e.org/print": 1})
    tools = Tools([url], str(tmp_path / "state"))
    copied, unknown = ask(
        tools, ("page", {"address": "http://e.org/print"}), ("page", {"address": "http://e.org/2"})
    )
    assert copied["url"] == "http://e.org/1"
    assert "error" in unknown


def test_long_page_comes_in_parts_that_say_how_to_go_on(index: str) -> None:
    text, offset = "", 0
    for _ in range(9):
        (part,) = ask(Tools([index]), ("page", {"address": "http://e.org/2", "offset": offset}))
        text += part["text"]
        if not part["cut"]:
            break
        offset = part["next_offset"]
        assert len(part["text"]) == mcp_server.MAX_TEXT_CHARS
    assert text == LOOM
    assert part["chars"] == len(LOOM)


def test_page_has_title_metadata_sections_and_addresses_of_copies(index: str) -> None:
    dyeing, wool = ask(
        Tools([index]),
        ("page", {"address": "http://e.org/1#blue"}),
        ("page", {"address": "http://e.org/5"}),
    )
    assert (dyeing["title"], dyeing["text"]) == (
        "Dyeing",
        "Madder root gives red. Woad gives blue.",
    )
    assert dyeing["metadata"]["author"] == ["Ida Weld"]
    assert "content_html" not in dyeing["metadata"]
    assert [section["heading"] for section in dyeing["sections"]] == [
        *("Red dyes", "Crimson", "Blue dyes")
    ]
    assert dyeing["sections"][0]["url"] == "http://e.org/1#red%20dyes"
    assert (dyeing["also_at"], wool["also_at"]) == ([], ["http://e.org/4"])


def test_section_is_markdown_with_the_sections_below_it(index: str) -> None:
    red, blue = ask(
        Tools([index]),
        ("section", {"address": "http://e.org/1#red%20dyes"}),
        ("section", {"address": "http://e.org/1#blue"}),
    )
    assert red["text"] == (
        "## Red dyes\n\nMadder root gives red.\n\n```\nboil(60)\n  stir()\n```\n\n### Crimson\n\n"
        "From scale insects.\n\n### No anchor\n\nLac."
    )
    assert blue["text"] == "## Blue dyes\n\nWoad gives blue."


def test_broken_and_long_texts_of_pages_are_made_valid_and_short(tmp_path: Path) -> None:
    broken = dyeing_page(
        1,
        title="Felt \ud800",
        content="felt",
        content_markdown="Felt \udfff.",
        keywords=["wool" * 9_000],
        shop={"prices": list(range(9_000))},
        reviews=["felt" * 900] * 90,
    )
    page, search, listing = ask(
        Tools([make_index(tmp_path / "cloth.db", [broken])]),
        ("page", {"address": "http://e.org/1"}),
        ("search", {"query": "felt"}),
        ("pages", {}),
    )
    assert page["text"] == "Felt ?."
    assert page["metadata"]["keywords"] == ["wool" * 500 + "…"]
    assert len(page["metadata"]["shop"]["prices"]) == 100
    assert page["left_out"] == ["reviews"]
    assert search["results"][0]["title"] == listing["pages"][0]["title"] == page["title"]


@pytest.mark.parametrize("scanned", [2_000, 3])
def test_pages_are_listed_by_prefix_in_parts(
    index: str, scanned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "MAX_SCANNED", scanned)
    urls: list[str] = []
    offset, is_cut = 0, True
    while is_cut:
        arguments = {"prefix": "http://e.org/tools/", "limit": 2, "offset": offset}
        (answer,) = ask(Tools([index]), ("pages", arguments))
        assert len(answer["pages"]) <= 2
        urls += [page["url"] for page in answer["pages"]]
        is_cut, offset = answer["cut"], answer.get("next_offset", 0)
    assert sorted(urls) == [f"http://e.org/tools/{number}" for number in (6, 7, 8)]


def test_changes_are_those_of_the_last_crawl_or_since_a_date(index: str, tmp_path: Path) -> None:
    crawls = Crawls(tmp_path)
    crawls.crawl({1: "Vats", 2: "Looms", 3: "Felt"})
    crawls.crawl({1: "Deeper vats"}, gone=[3])
    last, everything, future, first, second = ask(
        Tools([index], str(tmp_path)),
        ("changes", {}),
        ("changes", {"since": "2020-01-01", "crawl": "e.org"}),
        ("changes", {"since": "2999-01-01"}),
        ("changes", {"since": "0", "limit": 3}),
        ("changes", {"since": "3", "limit": 3}),
    )
    assert [(row["change"], row["url"]) for row in last["changes"]] == [
        ("changed", "http://e.org/1"),
        ("gone", "http://e.org/3"),
    ]
    assert (len(everything["changes"]), future["changes"]) == (5, [])
    assert (first["cut"], first["next_since"], second["cut"]) == (True, "3", False)
    assert first["changes"] + second["changes"] == everything["changes"]
    assert second["changes"] == last["changes"]


def test_several_indexes_are_searched_together_or_by_name(index: str, tmp_path: Path) -> None:
    knots = make_index(tmp_path / "knots.db", [dyeing_page(1, title="Knots", content="Madder.")])
    both, named, listing = ask(
        Tools([index, knots]),
        ("search", {"query": "madder", "limit": 1}),
        ("search", {"query": "madder", "index": "knots"}),
        ("pages", {}),
    )
    assert [row["index"] for row in both["results"]] == ["cloth", "knots"]
    assert both["cut"]
    assert [row["title"] for row in named["results"]] == ["Knots"]
    assert "cloth, knots" in listing["error"]


def test_search_finds_synonyms(index: str) -> None:
    tools = Tools([index], synonyms=parse_synonyms("turkey red => madder"))
    (found,) = ask(tools, ("search", {"query": "Turkey red"}))
    assert found["total"] == 2


@pytest.mark.parametrize(
    ("tool", "arguments", "part"),
    [
        ("search", {"query": "madder", "limit": 999}, "less than or equal to 50"),
        ("search", {}, "query"),
        ("search", {"query": "madder", "index": "silk"}, "the indexes are cloth"),
        ("page", {"address": "http://e.org/none"}, "http://e.org/none"),
        ("page", {"address": "http://[e.org"}, "http://[e.org"),
        ("section", {"address": "http://e.org/1#violet"}, "`page` lists the sections"),
        ("pages", {"offset": -1}, "greater than or equal to 0"),
        ("changes", {}, "--state-dir"),
    ],
)
def test_bad_requests_get_errors_that_say_what_to_do(
    index: str, tool: str, arguments: dict[str, Any], part: str, tmp_path: Path
) -> None:
    (answer,) = ask(Tools([index], str(tmp_path)), (tool, arguments))
    assert part in answer["error"]
    assert "Traceback" not in answer["error"]


def test_damaged_index_and_unknown_date_are_errors_of_the_tool(tmp_path: Path) -> None:
    (tmp_path / "pages.db").write_bytes(b"no database " * 99)
    Crawls(tmp_path).crawl({1: "Vats"})
    search, changes = ask(
        Tools([f"sqlite:{tmp_path}/pages.db"], str(tmp_path)),
        ("search", {"query": "madder"}),
        ("changes", {"since": "last week"}),
    )
    assert "damaged" in search["error"]
    assert "2026-11-22" in changes["error"]


def test_command_speaks_by_standard_input_and_output(index: str, tmp_path: Path) -> None:
    command = [str(ROOT / "tests" / "docs_client.py"), "contentspider", "mcp", "--index", index]
    variables = {SERVER: os.environ.get(SERVER) or start_server()}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-SE", *command], env=variables, cwd=tmp_path
    )

    async def ask_process() -> tuple[list[Any], dict[str, Any]]:
        async with Client(stdio_client(parameters)) as client:
            tools = (await client.list_tools()).tools
            result = await client.call_tool("search", {"query": "woad"})
            return tools, result.structured_content

    tools, answer = asyncio.run(ask_process())
    assert {tool.name for tool in tools} == {"search", "page", "section", "pages", "changes"}
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description for tool in tools)
    assert answer["results"][0]["url"] == "http://e.org/1"


def test_command_answers_http_requests_with_its_token_only(index: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "contentspider", "mcp", "--index", index]
    options = ["--http", "127.0.0.1:0", "--token", "indigo"]
    process = Popen([*command, *options], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    assert "Bearer indigo" in process.stderr.readline()
    address = process.stderr.readline().split()[0]

    async def ask_process() -> tuple[dict[str, Any], list[int]]:
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer indigo"}) as http:
            async with Client(streamable_http_client(address, http_client=http)) as client:
                result = await client.call_tool("search", {"query": "woad"})
            refused = [
                (await http.post(address, json={}, headers=headers)).status_code
                for headers in (
                    {"Authorization": ""},
                    {"Host": "evil.example"},
                    {"Origin": "http://evil.example"},
                )
            ]
            # An address is kept in logs, so no token is accepted there.
            with_token = f"{address}?token=indigo"
            without_header = {"Authorization": ""}
            refused.append((await http.post(with_token, headers=without_header)).status_code)
            refused.append((await http.post(address, content=b" " * 1_100_000)).status_code)
            return result.structured_content, refused

    answer, refused = asyncio.run(ask_process())
    assert answer["results"][0]["url"] == "http://e.org/1"
    assert refused == [401, 400, 403, 401, 413]
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(30) in (0, 1, -signal.SIGINT)


@pytest.mark.parametrize("address", ["127.0.0.1:no", "127.0.0.1:99999", "user@host:1", "host/x"])
def test_wrong_address_to_listen_at_is_an_error_of_usage(
    index: str, address: str, tmp_path: Path
) -> None:
    done = run("mcp", "--index", index, "--http", address, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert address in done.stderr.replace("***@", "user@")


def test_missing_index_is_reported_before_the_server_starts(tmp_path: Path) -> None:
    done = run("mcp", "--index", "sqlite:none.db", cwd=tmp_path, check=False)
    assert (done.returncode, "does not exist" in done.stderr) == (1, True)
    done = run("mcp", cwd=tmp_path, check=False)
    assert (done.returncode, "--index" in done.stderr) == (1, True)
