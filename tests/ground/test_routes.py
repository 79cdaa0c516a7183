"""Addresses with the route of a script in their fragment (``#/tea``) are pages of their own."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from contentspider.crawl.queue.requests import OrderedFingerprinter
from contentspider.crawl.spider.duplicates import plain_form
from contentspider.ground.address_keys import address_key
from contentspider.ground.addresses import page_address, route_of, section_address
from contentspider.ground.robots import RobotsTxt
from contentspider.ground.scope import Scope
from contentspider.ground.sites import SiteKeys
from contentspider.site.models.identity import page_id

ROOT = "https://e.org/"
NO_ROUTES = ("", "#", "#top", "#/", "#!/", "#!", "#!top", "?a=#b/c")


@pytest.mark.parametrize("identity", [page_address, page_id, plain_form, address_key])
def test_routes_tell_pages_apart_and_other_fragments_do_not(identity: object) -> None:
    assert callable(identity)
    routes = ("#/tea", "#!/tea", "#/tea/black", "#/tea?kind=black")
    forms = {identity(ROOT + route) for route in routes}
    assert len(forms) == len(routes)
    assert identity(ROOT) not in forms
    assert identity(ROOT + "#/tea#brewing") == identity(ROOT + "#/tea")
    for fragment in NO_ROUTES[:-1]:
        assert identity(ROOT + fragment) == identity(ROOT)


def test_route_is_the_same_in_each_spelling() -> None:
    assert not any(map(route_of, NO_ROUTES))
    for route in ("#/tea pot/é|[x]", "#/a%20b?c='d'&e=(f)"):
        asked = Request(ROOT + route).url
        assert route_of(asked) == route_of(ROOT + route)
        assert page_id(asked) == page_id(ROOT + route)
    route_of("#/\udcff")  # what a broken page may have


def test_sections_of_page_with_route_have_its_address() -> None:
    assert section_address(ROOT + "#/tea", "brewing") == ROOT + "#/tea"


def test_robots_and_scope_do_not_see_routes() -> None:
    rules = RobotsTxt("User-agent: *\nDisallow: /*tea\nDisallow: /$\nAllow: /shop$")
    assert rules.allows(ROOT + "shop#/tea", "bot")
    assert not rules.allows(ROOT + "#/shop", "bot")
    line = rules.forbidding_line(ROOT + "#/shop", "bot")
    assert line is not None and line[0] == 3
    scope = Scope([ROOT + "docs/#/a"], SiteKeys("domain"), "path", exclude=["*tea*"])
    assert scope.has(ROOT + "docs/#/tea")
    assert not scope.has(ROOT + "#/docs/")


@pytest.mark.parametrize("render", ["never", "learn", "auto", "always"])
def test_routes_have_requests_of_their_own_where_a_browser_reads_them(render: str) -> None:
    crawler = get_crawler(settings_dict={"CONTENTSPIDER_RENDER": render})
    fingerprint = OrderedFingerprinter(crawler).fingerprint
    prints = {fingerprint(Request(ROOT + end)) for end in ("", "#top", "#/", "#/tea", "#/ferry")}
    assert len(prints) == (3 if render in ("auto", "always") else 1)
