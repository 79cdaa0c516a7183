"""Rule files: rules as XML and JSON, which the runtime reads, and as other tools take them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from contentspider.runtime.contentspider_rules import SCHEMA
from contentspider.site.rules.selectors import to_css, to_ftr

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.runtime.contentspider_rules import Rule, Rules

# A file's text, and warnings of what could not be written.
Written = tuple[str, list[str]]


def _about(rules: Rules) -> dict[str, object]:
    about: dict[str, object] = {
        "schema": SCHEMA,
        "site": rules.site,
        "model": rules.model,
        "pages": rules.pages,
    }
    if rules.agreement is not None:
        about["agreement"] = round(rules.agreement, 4)
    return about


def _record(rule: Rule) -> dict[str, object]:
    """Return the attributes of a rule, as files have them, without its action."""
    record: dict[str, object] = {}
    for prefix, element in (("", rule.element), ("parent-", rule.parent)):
        if element:
            names = {"tag": element.tag, "id": element.id, "class": element.name}
            record |= {prefix + name: value for name, value in names.items() if value}
    if rule.place:
        record["place"] = rule.place
    return record | {"pages": rule.pages, "chars": rule.chars}


def to_xml(rules: Rules) -> Written:
    """Return the rules as XML (docs/rules.xsd is its schema)."""

    def attributes(record: dict[str, object]) -> str:
        return "".join(f" {name}={quoteattr(str(value))}" for name, value in record.items())

    lines = [f"<rules{attributes(_about(rules))}>"]
    lines += [f"  <{rule.action}{attributes(_record(rule))}/>" for rule in rules.rules]
    return "\n".join([*lines, "</rules>", ""]), []


def to_json(rules: Rules) -> Written:
    """Return the rules as JSON: the objects that XML has."""
    found = [{"action": rule.action, **_record(rule)} for rule in rules.rules]
    text = json.dumps(_about(rules) | {"rules": found}, indent=1, ensure_ascii=False)
    return text + "\n", []


WRITERS: dict[str, Callable[[Rules], Written]] = {
    "xml": to_xml,
    "json": to_json,
    "css": to_css,
    "ftr": to_ftr,
}


def write_rules(rules: Rules, form: str) -> Written:
    """Return the text of a rule file in a format of `WRITERS`, and warnings of what it lacks."""
    return WRITERS[form](rules)
