"""How a page changed is decided from its facts and from the knowledge of other pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contentspider.recrawl.judge import NEW_PAGE, Change, Facts, Knowledge, judge
from contentspider.recrawl.template import TemplateLines

VIEWS = "div/span\tViews: 0"
NOTICE = "+notice@"
TEMPLATE = TemplateLines()
for _ in range(5):
    TEMPLATE.add([NOTICE], is_remodelled=False)
SAME = Facts("")
FILTERED = Facts("model", 0.3)
EDITED = Facts("page", 0.3, lines=("+edit@",))
COUNTED = Facts("page", 0.1, numbered=(VIEWS,))
RECUT = Facts("page", 0.1, numbered=(VIEWS,), recut=("q",))
CHOSEN = Facts("model", 0.1, recut=("q",))
NOTICED = Facts("page", 0.2, lines=(NOTICE,))
QUOTED = Facts("page", 0.1, has_ages=True, numbered=(VIEWS,), slots=("q",))
EACH = "ages, counters, alternating texts"
EITHER = "counters, alternating texts"
CHANGED, REFILTERED = ("changed", "page", 0.1), ("refiltered", "model", 0.1)
PRICE = (("price", 12.9, 11.5),)
ALL = Knowledge({VIEWS}, TEMPLATE)


@pytest.mark.parametrize(
    ("facts", "change"),
    [
        (NEW_PAGE, ("new", "page", 1.0)),
        (SAME, ("unchanged", "", 0.0)),
        (FILTERED, ("refiltered", "model", 0.3)),
        (EDITED, ("changed", "page", 0.3)),
        (COUNTED, ("changed", "page", 0.1)),
        (RECUT, ("changed", "page", 0.1)),
        (NOTICED, ("changed", "page", 0.2)),
        (
            Facts("page", 0.1, numbered=(VIEWS,), is_caption=True),
            ("unchanged", "", 0.0, "counters"),
        ),
        (Facts("page", 0.1, has_ages=True), ("unchanged", "", 0.0, "ages")),
        (Facts("page", 0.1, has_ages=True, slots=("q",)), ("changed", "page", 0.1)),
        (Facts("page", 0.1, has_ages=True, numbered=(VIEWS,)), ("changed", "page", 0.1)),
        (Facts("page", 0.1, has_ages=True, recut=("q",)), ("refiltered", "model", 0.1)),
        (Facts("page", 0.3, is_caption=True), ("changed", "page", 0.3)),
        (Facts("", is_moved=True), ("moved", "", 0.0)),
        (Facts("model", 0.3, is_moved=True), ("moved", "model", 0.3)),
        (Facts("page", 0.3, is_moved=True), ("moved", "page", 0.3)),
        (Facts("", fields=PRICE), ("changed", "fields", 0.0)),
        (Facts("model", 0.3, fields=PRICE), ("changed", "fields", 0.3)),
        (Facts("page", 0.3, fields=PRICE), ("changed", "page", 0.3)),
        (Facts("", is_moved=True, fields=PRICE), ("moved", "fields", 0.0)),
    ],
)
def test_change_is_judged_by_page_alone_without_knowledge(
    facts: Facts, change: tuple[Any, ...]
) -> None:
    assert judge(facts) == Change(*change)


@pytest.mark.parametrize(
    ("facts", "knowledge", "change"),
    [
        (COUNTED, ALL, ("unchanged", "", 0.0, "counters")),
        (COUNTED, Knowledge({"div/span"}), ("unchanged", "", 0.0, "counters")),
        (QUOTED, Knowledge({VIEWS}, alternating={"q"}), ("unchanged", "", 0.0, EACH)),
        (QUOTED, Knowledge({VIEWS}, alternating={"r"}), ("changed", "page", 0.1)),
        (QUOTED, Knowledge((), alternating={"q"}), ("changed", "page", 0.1)),
        (replace(QUOTED, slots=("p", "q")), Knowledge({VIEWS}, None, {"q"}), CHANGED),
        (replace(QUOTED, has_prices=True), Knowledge({VIEWS}, None, {"q"}), CHANGED),
        (COUNTED, Knowledge({"div/b"}), ("changed", "page", 0.1)),
        (RECUT, ALL, ("refiltered", "model", 0.1)),
        (NOTICED, ALL, ("refiltered", "model", 0.2)),
        (RECUT, Knowledge({VIEWS}, None, {"q"}), ("unchanged", "", 0.0, EITHER)),
        (replace(RECUT, is_remodelled=True), Knowledge({VIEWS}, None, {"q"}), REFILTERED),
        (CHOSEN, ALL, ("refiltered", "model", 0.1)),
        (CHOSEN, Knowledge(alternating={"q"}), ("unchanged", "", 0.0, "alternating texts")),
        (replace(CHOSEN, recut=("", "q")), Knowledge(alternating={"q"}), REFILTERED),
        (replace(CHOSEN, is_remodelled=True), Knowledge(alternating={"q"}), REFILTERED),
        (EDITED, ALL, ("changed", "page", 0.3)),
        (Facts("page", 0.3, lines=(NOTICE, "+edit@")), ALL, ("changed", "page", 0.3)),
        (Facts("page", 0.3), ALL, ("changed", "page", 0.3)),
        (FILTERED, ALL, ("refiltered", "model", 0.3)),
        (SAME, ALL, ("unchanged", "", 0.0)),
        (NEW_PAGE, ALL, ("new", "page", 1.0)),
        (Facts("page", 1.0, is_new=True, is_moved=True), ALL, ("moved", "page", 1.0)),
        (Facts("page", 0.1, is_moved=True, numbered=(VIEWS,)), ALL, ("moved", "", 0.0)),
        (Facts("page", 0.2, is_moved=True, lines=(NOTICE,)), ALL, ("moved", "page", 0.2)),
    ],
)
def test_knowledge_of_other_pages_changes_judgement(
    facts: Facts, knowledge: Knowledge, change: tuple[Any, ...]
) -> None:
    assert judge(facts, knowledge) == Change(*change)
