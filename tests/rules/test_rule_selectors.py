"""Rules as selectors of CSS, and as site configs: what other tools make of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from lxml import etree
from lxml import html as lxml_html
from parsel import Selector

from contentspider.page.input.page import Page
from contentspider.rules.extraction import learn_rules
from contentspider.rules.files import WRITERS, write_rules
from contentspider.rules.standalone import Rules
from contentspider.site.learn.learner import SiteLearner
from tests.conftest import token_f1
from tests.rules.test_standalone import parsed
from tests.sites import prose

if TYPE_CHECKING:
    from lxml.html import HtmlElement


def words(nodes: list[HtmlElement]) -> str:
    return " ".join(" ".join(node.itertext()) for node in nodes)


def read_css(text: str) -> tuple[list[str], list[str]]:
    """Return the two lists of a file."""
    assert not re.search(r"/\*(?:(?!\*/).)*$", text)
    about, include, exclude = re.split(r"/\* (?:include|exclude) \*/\n", text)
    assert about.startswith("/* ")
    return include.splitlines(), exclude.splitlines()


def by_css(text: str, body: str) -> str:
    """Return what a tool makes of a page: what is excluded goes, then what is included is taken."""
    include, exclude = read_css(text)
    page = Selector(body, type="html")
    for selector in exclude:
        for found in page.css(selector):
            if found.root.getparent() is not None:
                found.drop()
    return words(outermost([found.root for found in page.css(", ".join(include))]))


def outermost(nodes: list[HtmlElement]) -> list[HtmlElement]:
    return [node for node in nodes if not any(above in nodes for above in node.iterancestors())]


def by_records(rules: list[dict[str, str]], body: str) -> str:
    """Return what the rules of an XML or JSON file keep: the innermost element that one matches
    decides, the last of those that match it.
    """
    tree = lxml_html.document_fromstring(body)
    deciding: dict[HtmlElement, str] = {}
    for rule in rules:
        above = path_of(rule, "parent-")
        place = f"[{rule['place']}]" if "place" in rule else ""
        path = f"//{above + '/' if above else ''}{path_of(rule, '', place)}"
        deciding |= dict.fromkeys(tree.xpath(path), rule["action"])
    kept = []
    for text in tree.xpath("//text()"):
        at = text.getparent() if text.is_text else text.getparent().getparent()
        while at is not None and at not in deciding:
            at = at.getparent()
        if at is not None and deciding[at] == "keep":
            kept.append(str(text))
    return " ".join(kept)


def path_of(rule: dict[str, str], prefix: str, place: str = "") -> str:
    """Return the path to the elements that a rule names."""
    if f"{prefix}tag" not in rule:
        return ""
    asked = f"[@id='{rule[f'{prefix}id']}']" if f"{prefix}id" in rule else ""
    if name := rule.get(f"{prefix}class"):
        # A long number stands for any: what is around it is asked for.
        parts = [part for part in re.split("(?<![0-9])0(?![0-9])", name) if part]
        asked += "".join(f"[contains(concat(' ', @class, ' '), '{part}')]" for part in parts)
    return f"{rule[f'{prefix}tag']}{place}{asked}"


def by_xml(text: str, body: str) -> str:
    """Return what lxml makes of a page by a file of XML."""
    return by_records(
        [{"action": rule.tag, **rule.attrib} for rule in etree.fromstring(text)], body
    )


def by_json(text: str, body: str) -> str:
    """Return what lxml makes of a page by a file of JSON."""
    rules = json.loads(text)["rules"]
    return by_records([{name: str(value) for name, value in rule.items()} for rule in rules], body)


def by_config(text: str, body: str) -> str:
    """Return what graby makes of a page by a site config: it strips, then takes the body."""
    tree = lxml_html.document_fromstring(body)
    bodies = []
    for line in text.splitlines():
        if not line or line[0] == "#":
            continue
        name, _, value = line.partition(":")
        assert name in ("body", "strip", "strip_id_or_class", "prune", "tidy"), line
        value = value.strip()
        if name == "body":
            bodies.append(value)
        elif name.startswith("strip"):
            if name != "strip":
                assert not re.search("['\"]", value)
                value = f"//*[contains(@class, '{value}') or contains(@id, '{value}')]"
            for node in tree.xpath(value):
                if node.getparent() is not None:
                    node.drop_tree()
    return words(outermost([node for value in bodies for node in tree.xpath(value)]))


READERS = {"css": by_css, "ftr": by_config, "xml": by_xml, "json": by_json}

PAGE = (
    "<title>Page</title><nav><p>menu</p></nav><main><div id=main-1 class='post post-123'><h1>one"
    "</h1><p>two<p class=note>three</p><ul class=more><li>four</ul><div class=ad-77>five</div>"
    "</div></main><table><tr><td>six<td>seven<td>eight</table>"
)


@pytest.mark.parametrize(
    "rules",
    [
        ["keep div.post", "drop ul.more"],
        ["keep div.post-0", "drop div.ad-0", "drop ul"],
        ["keep div#main-1", "drop div > p.note"],
        ["keep main > div", "keep td:2", "drop p"],
        ["keep body", "drop nav", "drop td:3", "drop table"],
        ["keep p", "keep h1"],
    ],
)
def test_other_tools_keep_same_text_as_rules(rules: list[str]) -> None:
    found = parsed(*rules)
    text = found.text(PAGE)
    assert text
    for form, read in READERS.items():
        written, left_out = write_rules(found, form)
        assert left_out == []
        tree = PAGE.replace("<title>Page</title>", "")
        assert read(written, tree).split() == text.split(), form


def test_inexact_nested_rules_are_named_in_comments() -> None:
    rules = parsed("keep main", "drop ul", "keep li", "drop p", "keep p.note")
    rules.nested = [(2, 1), (4, 3)]
    css, _ = write_rules(rules, "css")
    assert "/* not exact: 'keep li' inside of 'drop ul':" in css
    include, exclude = read_css(css)
    assert include == ["main", "li", "p.note"]
    assert exclude == [
        "ul:not(:has(li))",
        "ul:has(li) > *:not(li):not(:has(li))",
        "p:not(p.note):not(:has(p.note))",
        "p:not(p.note):has(p.note) > *:not(p.note):not(:has(p.note))",
    ]
    page = "<main>a<ul><li>b</li><b>x</b></ul><p>c</p><p class=note>d</p><ul><b>e</b></ul></main>"
    assert by_css(css, page).split() == ["a", "b", "d"]
    ftr, _ = write_rules(rules, "ftr")
    assert "# not exact: 'keep li' inside of 'drop ul': text beside" in ftr
    kept = by_config(ftr, "<main>a<ul><li>b</li></ul><p>c</p><p class=note>d</p><ul><b>e</b></ul>")
    assert kept.split() == ["a", "b", "d"]


def test_elements_containing_kept_content_are_not_excluded() -> None:
    """Whole folders were empty by ``div:not(#text)``, which excludes what #text stands in."""
    rules = parsed("drop div", "keep div#text", "keep section > p")
    rules.nested = [(1, 0), (2, 0)]
    css, _ = write_rules(rules, "css")
    page = (
        "<div class=page><div>menu</div><div class=column><div id=text>one <div>ad</div>two</div>"
        "<section><p>three</p></section><div>more</div></div></div>"
    )
    assert by_css(css, page).split() == ["one", "two", "three"]
    assert by_config(write_rules(rules, "ftr")[0], page).split() == ["one", "two", "three"]
    assert rules.text(page).split() == ["one", "two", "three"]


def test_zero_in_name_matches_any_number() -> None:
    rules = parsed("keep div.post-0", "keep div#main-0-b", "drop p.x", "keep h1.0")
    css, left_out = write_rules(rules, "css")
    assert read_css(css)[0] == ['div[class*="post-"]', 'div[id^="main-"][id$="-b"]']
    assert "not exact: keep div.post-0: " in css
    assert len(left_out) == 1 and left_out[0].startswith("'keep h1.0' is left out")


def test_names_are_quoted_for_css_and_site_configs() -> None:
    rules = parsed("keep div.-5a", "drop p.9-b")
    rules.rules += [*parsed("keep p.--x", "drop my-tag.a").rules]
    odd = Rules.parse(
        '<rules schema="1"><keep tag="div" class="a:b"/><drop tag="p" id="-"/></rules>'
    )
    body = (
        "<div class='a:b'>one<p id='-'>two</p></div><div class='-5a'>three<p class=9-b>four</p>"
        "</div><p class=--x>five</p>"
    )
    assert by_css(write_rules(odd, "css")[0], body).split() == ["one"]
    assert by_css(write_rules(rules, "css")[0], body).split() == ["three", "five"]
    assert by_config(write_rules(odd, "ftr")[0], body).split() == ["one"]


def test_site_name_cannot_end_comment() -> None:
    rules = Rules(parsed("keep p").rules, "*/ x {\nbody: //script")
    css, ftr = (write_rules(rules, form)[0] for form in ("css", "ftr"))
    assert read_css(css) == (["p"], [])
    assert by_config(ftr, "<p>a</p><script>b</script>") == "a"


BODIES = """
<article class=story-{1}><h1>Page {0}</h1><p>{2}</p><p>{3}</p></article>
<div id=content><h2>Page {0}</h2><p>{2}</p><div class=x><a href=/x>Share</a></div><p>{3}</p></div>
<section class=text><p>{2}</p><blockquote>{3}</blockquote></section>
<div class='post full'><p>{2}</p><p>{3}</p><aside class=more><a href=/y>More</a></aside></div>
<main><div class=lead><p>{2}</p></div><p>{3}</p></main>
""".strip().split("\n")


@pytest.mark.parametrize("number", range(5))
def test_all_formats_of_learned_rules_keep_same_text(number: int) -> None:
    top = "<title>Page {0}</title><header class=top><a href=/>Home</a> <a href=/b>B</a></header>"
    html = top + BODIES[number] + "<footer><p>© 2024 All rights reserved</p></footer>"
    bodies = [html.format(n, 100 + n, prose(n, 1), prose(n, 2)) for n in range(10)]
    pages = [Page.from_html(body, f"/{n}") for n, body in enumerate(bodies)]
    rules = learn_rules(SiteLearner("e.org").fit(pages), pages)
    text = rules.text(bodies[3])
    assert token_f1(text, f"Page 3 {prose(3, 1)} {prose(3, 2)}") > 0.97
    for form in WRITERS:
        written, left_out = write_rules(rules, form)
        assert left_out == []
        if form in ("xml", "json"):
            assert Rules.parse(written).text(bodies[3]) == text
        body = bodies[3].replace(f"<title>Page {3}</title>", "")
        assert READERS[form](written, body).split() == text.split(), written
