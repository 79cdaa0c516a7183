"""How a page changed is decided from its facts and from the knowledge of other pages."""

from __future__ import annotations

from dataclasses import fields

import pytest

from contentspider.recrawl.judge import Change, Facts, Knowledge, judge, refiltered
from contentspider.recrawl.template import TemplateLines
from contentspider.state.ledger.visits import Visit

VIEWS = "div/span\tViews: 0"
NOTICE = "+notice@"
TEMPLATE = TemplateLines([[NOTICE]] * 5, 5)
SAME = Facts("")
FILTERED = Facts("model", 0.3)
EDITED = Facts("page", 0.3, lines=("+edit@",))
COUNTED = Facts("page", 0.1, numbered=(VIEWS,))
RECUT = Facts("page", 0.1, numbered=(VIEWS,), is_recut=True)
NOTICED = Facts("page", 0.2, lines=(NOTICE,))
NEW = Facts("page", 1.0, is_new=True)
ALL = Knowledge({VIEWS}, TEMPLATE)


@pytest.mark.parametrize(
    ("facts", "change"),
    [
        (NEW, ("new", "page", 1.0)),
        (SAME, ("unchanged", "", 0.0)),
        (FILTERED, ("changed", "model", 0.3)),
        (EDITED, ("changed", "page", 0.3)),
        (COUNTED, ("changed", "page", 0.1)),
        (RECUT, ("changed", "page", 0.1)),
        (NOTICED, ("changed", "page", 0.2)),
        (Facts("page", 0.1, numbered=(VIEWS,), is_caption=True), ("unchanged", "", 0.0)),
        (Facts("page", 0.3, is_caption=True), ("changed", "page", 0.3)),
        (Facts("", is_moved=True), ("moved", "", 0.0)),
        (Facts("model", 0.3, is_moved=True), ("moved", "model", 0.3)),
        (Facts("page", 0.3, is_moved=True), ("moved", "page", 0.3)),
    ],
)
def test_change_is_judged_by_page_alone_without_knowledge(
    facts: Facts, change: tuple[str, str, float]
) -> None:
    assert judge(facts) == Change(*change)


@pytest.mark.parametrize(
    ("facts", "knowledge", "change"),
    [
        (COUNTED, ALL, ("unchanged", "", 0.0)),
        (COUNTED, Knowledge({"div/span"}), ("unchanged", "", 0.0)),
        (COUNTED, Knowledge({"div/b"}), ("changed", "page", 0.1)),
        (RECUT, ALL, ("changed", "model", 0.1)),
        (NOTICED, ALL, ("changed", "model", 0.2)),
        (EDITED, ALL, ("changed", "page", 0.3)),
        (Facts("page", 0.3, lines=(NOTICE, "+edit@")), ALL, ("changed", "page", 0.3)),
        (Facts("page", 0.3), ALL, ("changed", "page", 0.3)),
        (FILTERED, ALL, ("changed", "model", 0.3)),
        (SAME, ALL, ("unchanged", "", 0.0)),
        (NEW, ALL, ("new", "page", 1.0)),
        (NEW, Knowledge(is_moved=True), ("moved", "page", 1.0)),
        (Facts("page", 0.1, is_moved=True, numbered=(VIEWS,)), ALL, ("moved", "", 0.0)),
        (Facts("page", 0.2, is_moved=True, lines=(NOTICE,)), ALL, ("moved", "page", 0.2)),
    ],
)
def test_knowledge_of_other_pages_changes_judgement(
    facts: Facts, knowledge: Knowledge, change: tuple[str, str, float]
) -> None:
    assert judge(facts, knowledge) == Change(*change)


@pytest.mark.parametrize(
    ("facts", "is_same", "change"),
    [
        (EDITED, True, ("unchanged", "", 0.0)),
        (EDITED, False, ("changed", "page", 0.5)),
        (SAME, False, ("changed", "model", 0.5)),
        (FILTERED, False, ("changed", "model", 0.5)),
        (FILTERED, True, ("unchanged", "", 0.0)),
        (NEW, False, ("new", "page", 1.0)),
        (Facts("", is_moved=True), False, ("moved", "", 0.0)),
    ],
)
def test_page_that_another_model_filters_differs_because_of_it(
    facts: Facts, is_same: bool, change: tuple[str, str, float]
) -> None:
    assert judge(refiltered(facts, is_same, 0.5, ())) == Change(*change)


def test_counters_of_refiltered_page_are_places_of_its_new_content() -> None:
    other = "p\tPosts: 0"
    facts = refiltered(COUNTED, False, 0.5, (other,))
    assert judge(facts, ALL) == Change("changed", "page", 0.5)
    assert judge(facts, Knowledge({other})) == Change("changed", "model", 0.5)


@pytest.mark.parametrize(
    "facts",
    [NEW, SAME, FILTERED, EDITED, COUNTED, RECUT, NOTICED, Facts("model", 0.3, False, True)],
)
def test_visit_stores_facts_that_judge_needs_again(facts: Facts) -> None:
    texts = {field.name: "" for field in fields(Visit) if field.type == "str"}
    visit = Visit(**texts, ratio=0.0).with_facts(facts).with_change(judge(facts))
    assert visit.facts == facts
    assert judge(visit.facts, ALL) == judge(facts, ALL)
