"""Names that lead into private networks: no connection is made there, whatever names them."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from tests.conftest import Site, read_jsonl, run, serve
from tests.processes import run_forked
from tests.sites import article, small_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRIVATE = {
    "db": "10.0.0.5",
    "local": "127.0.0.1",
    "meta": "169.254.169.254",
    "six": "fd00::5",
    "nat": "64:ff9b::7f00:1",
}
# The command line where names lead to addresses of the test, and connections to all other addresses
# than these names' own are those to a server of the test: PLACES gives both.
CRAWL = """
import json, os, socket, sys
from twisted.internet._resolver import GAIResolver

names, servers = json.loads(os.environ["PLACES"])
asked = {}

def look_up(name):
    asked[name] = asked.get(name, 0) + 1
    found = names.get(name, name)
    return found if isinstance(found, str) else found[min(asked[name], len(found)) - 1]

def look_up_all(name, port, *options):
    address = look_up(name)
    if ":" in address:
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))]
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

def connect(self, place):
    with open("connections.txt", "a") as file:
        file.write(place[0] + "\\n")
    host, port = servers[place[0]].rsplit(":", 1)
    return connect_really(self, (host, int(port)))

connect_really = socket.socket.connect_ex
GAIResolver.__init__.__defaults__ = (None, look_up_all)
socket.socket.connect_ex = connect
from contentspider.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def inner() -> Iterator[Site]:
    """Stands for all servers in private networks."""
    with serve("127.0.0.2") as made:
        small_site(made, 3)
        yield made


class World:
    """The *outer* site at the public address 93.184.216.34, and *inner* at all private ones."""

    def __init__(self, folder: Path, outer: Site, inner: Site) -> None:
        self.folder = folder
        self.port = outer.url.rpartition(":")[2]
        self.start = f"http://example.org:{self.port}/"
        self.names: dict[str, str | list[str]] = {"example.org": "93.184.216.34"}
        self.names |= {f"{name}.example.org": address for name, address in PRIVATE.items()}
        self.servers = dict.fromkeys(PRIVATE.values(), inner.url.removeprefix("http://"))
        self.servers["93.184.216.34"] = outer.url.removeprefix("http://")

    def url(self, name: str, path: str = "") -> str:
        return f"http://{name}.example.org:{self.port}/{path}"

    def crawl(self, start: str, *arguments: str) -> dict[str, int]:
        """Crawl with a cookie, and return the stats."""
        (self.folder / "crawl.py").write_text(CRAWL)
        done = run_forked(
            *("crawl.py", "crawl", start, "--own-site", "-H", "Cookie: a=secret"),
            *("--stats", "stats.json", *arguments),
            cwd=self.folder,
            seconds=120,
            PLACES=json.dumps([self.names, self.servers]),
        )
        assert done.returncode in (0, 1, 3), done.stderr[-3000:]
        assert "Traceback" not in done.stderr, done.stderr[-3000:]
        stats: dict[str, int] = json.loads((self.folder / "stats.json").read_text())["stats"]
        return stats

    def connections(self) -> set[str]:
        return set((self.folder / "connections.txt").read_text().split())

    def paths(self) -> list[str]:
        items = read_jsonl(self.folder / "pages.jsonl")
        return sorted(str(item["url"]).partition(f":{self.port}")[2] for item in items)


@pytest.fixture
def world(tmp_path: Path, site: Site, inner: Site) -> World:
    return World(tmp_path, site, inner)


def test_crawl_never_connects_to_names_resolving_to_private_addresses(
    world: World, site: Site, inner: Site
) -> None:
    links = "".join(f"<a href={world.url(name, 'secret')}>{name}</a>" for name in PRIVATE)
    site.add("/", article(0, f"{links}<a href=/1>1</a><a href=/away>2</a>"))
    site.add("/1", article(1))
    site.add("/away", f"<meta http-equiv=refresh content='0; url={world.url('db', '2')}'>")
    site.add(
        "/sitemap.xml",
        f"<urlset><url><loc>{world.url('meta', 'latest/')}</loc></url></urlset>",
        kind="application/xml",
    )
    stats = world.crawl(world.start)
    assert inner.requests == []
    assert world.connections() == {"93.184.216.34"}
    assert world.paths() == ["/", "/1"]
    assert stats["contentspider/pages/skipped/private_address"] == 7
    assert "retry/count" not in stats


def test_hostname_is_checked_at_each_connection(world: World, site: Site, inner: Site) -> None:
    world.names["www.example.org"] = ["93.184.216.34", "10.0.0.5"]
    site.add("/", article(0, f"<a href={world.url('www', '1')}>1</a>"))
    site.add("/1", article(1))
    stats = world.crawl(world.start, "-s", "DNSCACHE_ENABLED=False")
    assert inner.requests == []
    assert stats.get("contentspider/pages/failed", 0) == 0


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_site_with_only_ipv6_is_crawled(tmp_path: Path) -> None:
    with serve("::1") as site:
        small_site(site, 3)
        links = "<a href=/1>1</a><a href='http://[fe80::1]/'>2</a>"
        site.add("/", article(0, links))
        run("crawl", site.url, "--own-site", cwd=tmp_path)
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 2


@pytest.mark.parametrize("number", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_explicit_start_in_private_network_is_crawled(
    world: World, inner: Site, number: bool
) -> None:
    host = "10.0.0.5" if number else "db.example.org"
    world.crawl(f"http://{host}:{world.port}/")
    assert world.connections() == {"10.0.0.5"}
    assert len(world.paths()) == 3


def test_start_in_private_network_allows_links_into_same_network(world: World, inner: Site) -> None:
    world.names["two.example.org"] = "10.0.0.5"
    inner.add(
        "/",
        article(0, f"<a href={world.url('two', '1')}>1</a><a href={world.url('meta', '2')}>2</a>"),
    )
    stats = world.crawl(world.url("db"))
    assert world.connections() == {"10.0.0.5"}
    assert world.paths() == ["/", "/1"]
    assert stats["contentspider/pages/skipped/private_address"] == 1


@pytest.mark.parametrize("host", ["10.0.0.5", "db.example.org"])
def test_no_private_flag_refuses_private_start(world: World, inner: Site, host: str) -> None:
    world.crawl(f"http://{host}:{world.port}/", "--no-private")
    assert inner.requests == []
    assert not (world.folder / "connections.txt").exists()
