"""The groups and rules of a robots.txt, by the sections of RFC 9309."""

from __future__ import annotations

import pytest

from contentspider.ground.robots import RobotsTxt

US = "contentspider/2.0 (+https://e.org/bot)"


def allowed(text: str, path: str = "/tea", agent: str = US) -> bool:
    return RobotsTxt(text).allows(f"https://e.org{path}", agent)


OURS = "Disallow: /tea\n\nUser-agent: *\nDisallow: /cake\n"


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("contentspider", True),
        ("ContentSpider", True),
        ("contentspider/2.0", True),
        ("contentspider*", True),
        ("contentspider of ours", True),
        ("contentspider# us", True),
        ("contentspider2", True),
        ("content", False),
        ("c", False),
        ("contentspider-news", False),
        ("contentspiders", False),
        ("spider", False),
        ("org", False),
        ("bot", False),
        ("", False),
    ],
)
def test_group_is_ours_only_by_whole_name(name: str, is_ours: bool) -> None:
    """RFC 9309, 2.2.1: the product token matches, without regard to case."""
    text = f"User-agent: {name}\n{OURS}"
    assert allowed(text, "/tea") is not is_ours
    assert allowed(text, "/cake") is is_ours, "else the rules for all"


@pytest.mark.parametrize(
    ("agent", "names"),
    [
        ("Mozilla/5.0 (compatible; Tea-Bot/1.2; +http://e.org/cake/2)", {"Mozilla", "tea-bot"}),
        ("tea_bot", {"TEA_BOT"}),
        ("teabot2000/1", {"teabot2000"}),
    ],
)
def test_names_of_user_agent_are_products(agent: str, names: set[str]) -> None:
    for name in ("Mozilla", "tea-bot", "TEA_BOT", "teabot2000", "teabot", "cake", "http", "org"):
        text = f"User-agent: {name}\nDisallow: /\n"
        assert allowed(text, agent=agent) is (name not in names)


def test_records_between_agents_end_no_group() -> None:
    """RFC 9309, 2.2.4: other records must not interfere with the defined ones."""
    for record in ("Crawl-delay: 9", "Sitemap: /s.xml", "Host: e.org", "Noindex: /", "tea", ""):
        text = f"User-agent: contentspider\n{record}\nUser-agent: other\nDisallow: /tea\n"
        assert not allowed(text)
        assert not allowed(text, agent="other")
    rules = RobotsTxt("User-agent: other\nCrawl-delay: 9\nUser-agent: *\nCrawl-delay: 2\n")
    assert (rules.crawl_delay("other"), rules.crawl_delay(US)) == (2, 2)
    alone = RobotsTxt("User-agent: other\nCrawl-delay: 9\nUser-agent: *\nDisallow: /\n")
    assert (alone.crawl_delay("other"), alone.crawl_delay(US)) == (9, 0)


def test_groups_of_one_name_are_one_group() -> None:
    text = (
        "Disallow: /lost\n"
        "User-agent: other\nUser-agent: contentspider\nDisallow: /tea\n\n"
        "User-agent: *\nDisallow: /\n"
        "User-agent: contentspider\nDisallow: /cake\nAllow: /tea/green\n"
    )
    paths = ("/tea", "/tea/green", "/cake", "/lost", "/other")
    assert [allowed(text, path) for path in paths] == [False, True, False, True, True]
    assert allowed("User-agent: *\nDisallow: /\nUser-agent: contentspider\n"), "a group, no rules"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_read_as_crawlers_read_them(end: str) -> None:
    for lines in (
        ("\ufeffUser-agent: *", "Disallow: /tea"),
        (" USER-AGENT :*", "  disallow:/tea  # of ours"),
        ("user agent: *", "dissallow: /tea"),
        ("useragent *", "disallow /tea"),
        ("\ufffd\ufffdUser-agent: *", "Disallow: /tea"),
        ("User-agent: * of all", "Disallow: /*ea$"),
    ):
        assert not allowed(end.join(lines)), lines
        assert allowed(end.join(lines), "/cake"), lines


@pytest.mark.parametrize(
    ("rules", "path", "may"),
    [
        # 2.2.2: the longest match counts, and of two alike the one that allows.
        ("Disallow: /tea\nAllow: /tea/green", "/tea/green/1", True),
        ("Allow: /tea\nDisallow: /tea/green", "/tea/green/1", False),
        ("Disallow: /tea\nAllow: /tea", "/tea", True),
        ("Disallow: /Tea", "/tea", True),
        ("Disallow:", "/tea", True),
        ("Allow: /t\nDisallow: /*.pdf", "/t.pdf", False),
        # 2.2.2, the table of encodings: reserved and other octets, and unreserved ones.
        ("Disallow: /foo/bar?baz=http://foo.bar", "/foo/bar?baz=http://foo.bar", False),
        ("Disallow: /foo/bar/\u30c4", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", False),
        ("Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        # 2.2.3: special characters, and their octets.
        ("Disallow: /this/path/exactly$", "/this/path/exactly", False),
        ("Disallow: /this/path/exactly$", "/this/path/exactly/not", True),
        ("Disallow: /this/*/exactly", "/this/path/exactly?x", False),
        ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-*.html", False),
        ("Disallow: /path/foo-%24", "/path/foo-$", False),
        ("Disallow: /tea # cake", "/tea", False),
    ],
)
def test_rules_match_as_rfc_says(rules: str, path: str, may: bool) -> None:
    assert allowed(f"User-agent: contentspider\n{rules}\n", path) is may


def test_examples_of_rfc() -> None:
    """RFC 9309, 5.1 and 5.2: the simple example, and the longest match."""
    simple = (
        "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n"
        "User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n"
        "User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n"
        "User-Agent: quxbot\n"
    )
    paths = ("/example/page.html", "/example/allowed.gif", "/publications/1", "/1.gif", "/")
    found = {
        name: "".join("+-"[not allowed(simple, path, name)] for path in paths)
        for name in ("teabot", "foobot", "barbot", "bazbot", "quxbot")
    }
    assert found == {
        "teabot": "--+-+",
        "foobot": "++---",
        "barbot": "-++++",
        "bazbot": "-++++",
        "quxbot": "+++++",
    }
    longest = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    assert allowed(longest, "/example/page/1", "foobot")
    assert not allowed(longest, "/example/page/disallowed.gif", "foobot")


def test_forbidding_line_is_of_our_group() -> None:
    text = "User-agent: other\nDisallow: /\nUser-agent: *\nAllow: /t\nDisallow: /\nDisallow: /tea"
    assert RobotsTxt(text).forbidding_line("https://e.org/tea", US) == (6, "Disallow: /tea")
    assert RobotsTxt(text).forbidding_line("https://e.org/x", US) == (5, "Disallow: /")
    assert RobotsTxt(text).forbidding_line("https://e.org/t", US) is None
    assert RobotsTxt("").forbidding_line("https://e.org/t", US) is None


def test_sitemaps_are_of_no_group() -> None:
    text = "Sitemap: /1.xml\nUser-agent: x\nsitemap: https://e.org/2.xml\nDisallow: /\n"
    assert RobotsTxt(text).sitemaps == ("/1.xml", "https://e.org/2.xml")
