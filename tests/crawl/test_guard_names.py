"""Names that lead into private networks: what is passed on of a look-up, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from contentspider.crawl.middlewares.guard import GuardedResolver, GuardMiddleware, RefusedError
from contentspider.crawl.spider.spider import SiteSpider
from tests.messages import wording

if TYPE_CHECKING:
    from collections.abc import Callable

PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.1"


class Guarded:
    """The guard of a crawl of a *start*, which asks some hosts."""

    def __init__(self, start: str = "https://e.org/") -> None:
        crawler: Any = get_crawler(SiteSpider)
        crawler.spider = SiteSpider.from_crawler(crawler, url=start)
        self.active: set[Request] = set()
        crawler.engine = SimpleNamespace(downloader=SimpleNamespace(active=self.active))
        self.guard = GuardMiddleware.from_crawler(crawler)
        self.guard._opened()


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


class Receiver:
    """Hears what a look-up finds."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def resolutionBegan(self, resolution: object) -> None:  # noqa: N802 - Twisted's names
        self.heard.append("began")

    def addressResolved(self, address: Any) -> None:
        self.heard.append(address.host)

    def resolutionComplete(self) -> None:
        self.heard.append("complete")


def look_up(guarded: Guarded, name: str, *addresses: str) -> list[str]:
    """Return what is heard of a name with these addresses."""
    asked: list[object] = []

    def resolve(receiver: Any, *args: object, **options: object) -> str:
        asked.append((args, options))
        receiver.resolutionBegan(None)
        for address in addresses:
            receiver.addressResolved(SimpleNamespace(host=address))
        receiver.resolutionComplete()
        return "a resolution"

    names = GuardedResolver(SimpleNamespace(resolveHostName=resolve))
    names.guards.add(guarded.guard)
    receiver = Receiver()
    found = names.resolveHostName(receiver, name, 80, transportSemantics="TCP")
    assert found == "a resolution"
    assert asked == [((name, 80), {"transportSemantics": "TCP"})]
    return receiver.heard


def test_private_addresses_are_removed_from_dns_answers(guarded: Guarded) -> None:
    assert look_up(guarded, "A.org", PRIVATE) == ["began", PRIVATE, "complete"], "it is not asked"
    request = Request("https://a.org/x")
    guarded.active.add(request)
    assert look_up(guarded, "A.org", PRIVATE, PUBLIC) == ["began", PUBLIC, "complete"]
    assert guarded.guard.refusal(request) is None
    assert look_up(guarded, "A.org", PRIVATE) == ["began", "complete"]
    refusal = guarded.guard.refusal(request)
    assert refusal is not None
    assert refusal.kind == "private_address"
    assert str(refusal) == "its host is at a private address, " + wording("crawl.private-address")
    assert guarded.guard.refusal(Request("https://b.org/")) is None
    through = Request("https://a.org/", meta={"proxy": "http://proxy"})
    assert guarded.guard.refusal(through) is None
    look_up(guarded, "a.org")
    assert guarded.guard.refusal(request) is None


def test_start_host_allows_its_own_private_network(guarded: Guarded) -> None:
    guarded.active |= {Request("https://e.org/"), Request("https://a.org/")}
    assert look_up(guarded, "e.org", PRIVATE) == ["began", PRIVATE, "complete"]
    assert look_up(guarded, "a.org", "10.0.0.2") == ["began", "10.0.0.2", "complete"]
    assert look_up(guarded, "a.org", "127.0.0.1") == ["began", "complete"]


def answer(request: Request, address: str | None = PRIVATE) -> Response:
    response: Any = Response(request.url, request=request)
    response.ip_address = address
    return response


def test_response_from_private_network_is_refused_except_by_proxy(
    guarded: Guarded,
) -> None:
    guard = guarded.guard
    request = Request("https://a.org/")
    with pytest.raises(RefusedError) as raised:
        guard.process_response(request, answer(request))
    assert (raised.value.kind, str(raised.value)) == (
        "private_address",
        f"its host is at {PRIVATE}, a private address, " + wording("crawl.private-address"),
    )
    for passing in (answer(request, None), answer(request, PUBLIC)):
        assert guard.process_response(request, passing) is passing
    through = Request("https://a.org/", meta={"proxy": "http://proxy"})
    assert guard.process_response(through, answer(through))
    start = Request("https://e.org/", meta={"proxy": "http://proxy"})
    guard._downloaded(answer(start), start)
    guard._downloaded(answer(request, None), request)
    with pytest.raises(RefusedError):
        guard.process_response(request, answer(request))
    start = Request("https://e.org/")
    guard._downloaded(answer(start), start)
    assert guard.process_response(request, answer(request)), "the start is there, too"


def refused(guarded: Guarded, url: str, **meta: object) -> tuple[str, str]:
    request = Request(url, guarded.guard.crawler.spider.parse, meta=meta)  # type: ignore[union-attr]
    with pytest.raises(RefusedError) as raised:
        guarded.guard.process_request(request)
    return raised.value.kind, str(raised.value)


def test_error_of_refused_request_names_reason(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refused(guarded, "file:///etc/passwd")[0] == "scheme"
    said = (
        "10.0.0.1 is a private address, "
        + wording("crawl.private-address")
        + "; crawl it by itself if it is yours"
    )
    assert refused(guarded, "http://10.0.0.1/") == ("private_address", said)
    moved = {"redirect_urls": ["https://e.org/"]}
    assert refused(guarded, "https://other.org/x", **moved) == (
        "offsite_redirect",
        "it redirects to https://other.org/x",
    )
    process: Callable[[Request], Request | None] = guarded.guard.process_request
    parse = guarded.guard.crawler.spider.parse  # type: ignore[union-attr]
    assert process(Request("https://other.org/x", parse)) is None
    assert process(Request("https://e.org/x", parse, meta=moved)) is None
    cleared = process(Request("https://me:secret@e.org/x", parse))
    assert cleared is not None
    assert cleared.url == "https://e.org/x"
    guarded.guard.crawler.spider = None
    assert process(Request("https://other.org/x", parse, meta=moved)) is None
