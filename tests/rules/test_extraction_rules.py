"""Rules that say what a site's model keeps: how they are learned, and the files they are in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from lxml import etree

from contentspider.ground.errors import NotEnoughTextError
from contentspider.page.input.page import Page
from contentspider.rules import standalone
from contentspider.rules.extraction import _nested, learn_rules, rules_of_manifest
from contentspider.rules.files import write_rules
from contentspider.rules.standalone import Element, Rule, Rules
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models import places as of_models
from contentspider.site.models.places import Decisions, Keys, Places, elements
from contentspider.site.models.rule_search import MAX_PAGES, _needed, learn
from tests.conftest import ROOT, token_f1
from tests.messages import raises
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.site.models.model import SiteModel

PAGE = (
    "<title>Page {0}</title><nav><ul><li><a href=/>Home</a><li><a href=/all>All</a></ul></nav>"
    "<div class='post post-{1}'><h1>Page {0}</h1><p>{2}</p><p>{3}</p>"
    "<div class='related'><h2>Related pages</h2><p><a href=/1>One page</a> and <a href=/2>two"
    "</a></p></div></div><footer><p>© 2024 All rights reserved by us</p></footer>"
)


def html(number: int) -> str:
    return PAGE.format(number, 100 + number, prose(number, 1), prose(number, 2))


def site(count: int) -> tuple[SiteModel, list[Page]]:
    pages = [Page.from_html(html(number), f"/{number}") for number in range(count)]
    return SiteLearner("e.org").fit(pages), pages


def test_rules_match_pages_that_number_nearly_all_of_their_names() -> None:
    """Models keep these numbers, since they belong to the template."""
    page = (
        "<title>Page {0}</title><div class=b-306><p class=b-401>Home<p class=b-401>All</div>"
        "<div class=b-103><p class=b-205>{1}</p><p class=b-205>{2}</p><p class=b-205>{3}</p></div>"
        "<div class=b-104><p class=b-206>More of our pages<p class=b-206>Read them all</div>"
        "<div class=b-307><p class=b-402>All rights reserved by us</p></div>"
    )
    texts = [page.format(n, prose(n, 1), prose(n, 2), prose(n, 3)) for n in range(12)]
    pages = [Page.from_html(text, f"/{number}") for number, text in enumerate(texts)]
    assert any("103" in block.path for block in pages[0].content.blocks)
    model = SiteLearner("e.org").fit(pages)
    rules = learn_rules(model, pages)
    for text, read in zip(texts, pages, strict=True):
        assert token_f1(rules.text(text), model.extract(read).text) > 0.95


def learned(places: Sequence[tuple[str, bool]], particular: bool = False) -> list[str]:
    """Return the rules of a site whose blocks, of 100 characters, are at *places*: a path with the
    places of its steps behind ``:``.
    """
    keys, found = laid_out(places, particular)
    return [
        str(Rule("keep" if keeps else "drop", *keys.keys[key]))
        for key, keeps in learn(keys, found, 0.002, 15)
    ]


def laid_out(places: Sequence[tuple[str, bool]], particular: bool = False) -> tuple[Keys, Places]:
    paths = [
        tuple(
            (step.partition(":")[0], int(step.partition(":")[2] or 0)) for step in path.split("/")
        )
        for path, _ in places
    ]
    numbers, hundred = np.arange(len(places)), np.full(len(places), 100)
    kept = np.array([is_kept for _, is_kept in places])
    ones = np.ones_like(numbers)
    found = Places(paths, 1, np.zeros_like(numbers), numbers, hundred, hundred, kept, ones)
    return Keys(paths, particular), found


def test_few_rules_describe_what_model_keeps() -> None:
    model, pages = site(12)
    rules = learn_rules(model, pages)
    assert 1 <= len(rules.rules) <= 3
    assert (rules.site, rules.model, rules.pages) == ("e.org", model.version, 12)
    assert rules.agreement == pytest.approx(1)
    first = next(rule for rule in rules.rules if str(rule).startswith("keep div.post"))
    assert first.pages == 12
    assert first.chars > 12 * 500
    for number in (3, 77):
        page = Page.from_html(html(number), f"/{number}")
        assert rules.text(html(number)) == model.extract(page).text


def test_agreement_is_measured_on_pages_beyond_first_ones() -> None:
    model, pages = site(MAX_PAGES + 2)
    rules = learn_rules(model, pages)
    assert rules.pages == MAX_PAGES
    assert rules.agreement == pytest.approx(1)


def test_few_pages_give_no_agreement() -> None:
    model, pages = site(3)
    assert learn_rules(model, pages).agreement is None


def test_rules_without_pages_are_learned_from_manifest() -> None:
    model, _ = site(12)
    rules = rules_of_manifest(model)
    assert rules.agreement is None
    assert rules.pages == 12
    assert [rule.pages for rule in rules.rules] == [0] * len(rules.rules)
    page = Page.from_html(html(77), "/77")
    assert token_f1(rules.text(html(77)), model.extract(page).text) > 0.97


def test_pages_without_content_raise_not_enough_text_error() -> None:
    model, _ = site(3)
    with raises(NotEnoughTextError, "no-text"):
        learn_rules(model, [Page.from_html("<p>", "/")])
    with pytest.raises(NotEnoughTextError, match=r"e\.org: on 1 page "):
        learn_rules(model, [Page.from_html("<nav><a href=/>Home</a></nav>", "/x")])


def test_innermost_rule_decides() -> None:
    body = [("body/div.a/p", True)] * 9
    assert learned([*body, ("body/p", False)]) == ["keep div.a"]
    assert learned([*body, ("body/nav/p", False)] * 2 + [("body/div", False)] * 3) == ["keep div.a"]
    items = [("body/div.a/ul/li", False)] * 3 + [("body/div.a/ul/li.b", True)]
    nested = [*body, *items, *[("body/p", False)] * 3]
    assert learned(nested) == ["keep div.a", "drop ul", "keep li.b"]


def test_keep_rules_inside_drop_rules_are_recorded() -> None:
    body = [("body/div.a/p", True)] * 9
    items = [("body/div.a/ul/li", False)] * 3 + [("body/div.a/ul/li.b", True)]
    paths = [path for path, _ in [*body, *items, *[("body/p", False)] * 3]]
    keys, found = laid_out([*body, *items, *[("body/p", False)] * 3])
    chosen = learn(keys, found, 0.002, 15)
    state = Decisions(keys, len(paths), chosen)
    # keep div.a, drop ul, keep li.b
    assert _nested(keys, chosen, state, np.arange(len(paths))) == [(2, 1)]


def test_redundant_rule_is_left_out() -> None:
    keys = Keys([(("body", 0), ("div", 0), ("p", 0)), (("body", 0), ("div", 0))], False)
    names = [str(key[0]) for key in keys.keys]
    div, p = (names.index("div"), True), (names.index("p"), True)
    content, noise = np.array([2.0, 1.0]), np.zeros(2)
    assert _needed(keys, [p, div], content, noise) == [div]
    assert _needed(keys, [p], content, noise) == [p]


def test_parents_and_positions_are_used_only_in_particular_rules() -> None:
    by_parent = [("body/main/p", True), ("body/aside/p", False), ("body/main/div", False)] * 3
    assert learned(by_parent, particular=True) == ["keep main > p"]
    assert all(">" not in rule for rule in learned(by_parent))
    by_place = [("body/td:2", True), ("body/td:1", False), ("body/td:3", False)] * 3
    assert learned(by_place, particular=True) == ["keep td:2"]


def test_names_invalid_in_rules_are_left_out() -> None:
    found = elements("div#a'b.c.d\"e.f-0[main]")
    assert list(map(str, found)) == ["div", "div.c", "div.f-0"]
    assert elements("o'p.c") == []


RULES = Rules(
    [
        Rule("keep", Element("div", "", "post-0"), pages=3, chars=900),
        Rule("drop", Element("td", "a:b"), Element("table", "", "x"), 2, pages=1, chars=5),
    ],
    "e.org",
    "a1b2c3",
    4,
    0.98766,
)


def test_written_rules_files_load_unchanged() -> None:
    xml, warnings = write_rules(RULES, "xml")
    assert warnings == []
    assert xml == (
        '<rules schema="1" site="e.org" model="a1b2c3" pages="4" agreement="0.9877">\n'
        '  <keep tag="div" class="post-0" pages="3" chars="900"/>\n'
        '  <drop tag="td" id="a:b" parent-tag="table" parent-class="x" place="2" pages="1"'
        ' chars="5"/>\n'
        "</rules>\n"
    )
    for form in ("xml", "json"):
        read = Rules.parse(write_rules(RULES, form)[0])
        assert read.rules == RULES.rules
        assert (read.site, read.model, read.pages) == ("e.org", "a1b2c3", 4)
        assert read.agreement == pytest.approx(0.9877)
    assert json.loads(write_rules(RULES, "json")[0])["rules"][0]["class"] == "post-0"
    odd = Rules(RULES.rules, site='"><keep tag="body"/>')
    assert Rules.parse(write_rules(odd, "xml")[0]).site == odd.site
    assert Rules.parse(write_rules(odd, "xml")[0]).agreement is None


def test_xml_rules_conform_to_schema() -> None:
    schema = etree.XMLSchema(file=ROOT / "docs" / "rules.xsd")
    schema.assertValid(etree.fromstring(write_rules(RULES, "xml")[0]))
    assert not schema.validate(etree.fromstring('<rules schema="1"><keep tag="a b"/></rules>'))


def test_rule_limits_equal_those_of_standalone_file() -> None:
    for name in ("VALUE", "MAX_PLACE", "PLACED_TAGS"):
        assert getattr(of_models, name) == getattr(standalone, name)
