"""Writes rule files in four formats.

XML and JSON files are for `standalone`. Lists of CSS selectors and site configs of XPath are for
other tools. Selectors include some elements and exclude others inside these. They cannot express
all rules for a kept element inside a dropped one (`Rules.nested`): the file has the nearest
selectors, and a comment that names the difference.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from contentspider.ground.counts import counted
from contentspider.rules.standalone import DROP, KEEP, SCHEMA
from contentspider.site.models.selectors import css_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.rules.standalone import Element, Rule, Rules

# The placeholder for a number of two or more digits in a name. Selectors cannot match any number.
NUMBER = re.compile(r"(?<![0-9])0(?![0-9])")
# The shortest part of a name beside its number that a selector is written for.
MIN_PART_CHARS = 3

# A file's text, and a warning for each rule that the format cannot express.
Written = tuple[str, list[str]]


def _header(rules: Rules) -> dict[str, object]:
    """Return the attributes of the rules as a whole in files."""
    header: dict[str, object] = {
        "schema": SCHEMA,
        "site": rules.site,
        "model": rules.model,
        "pages": rules.pages,
    }
    if rules.agreement is not None:
        header["agreement"] = round(rules.agreement, 4)
    return header


def _record(rule: Rule) -> dict[str, object]:
    """Return the attributes of a rule in files, without its action."""
    record: dict[str, object] = {}
    for prefix, element in (("", rule.element), ("parent-", rule.parent)):
        if element:
            names = {"tag": element.tag, "id": element.id, "class": element.name}
            record |= {prefix + name: value for name, value in names.items() if value}
    if rule.place:
        record["place"] = rule.place
    return record | {"pages": rule.pages, "chars": rule.chars}


def to_xml(rules: Rules) -> Written:
    """Return the rules as XML; the schema is docs/rules.xsd."""

    def attributes(record: dict[str, object]) -> str:
        return "".join(f" {name}={quoteattr(str(value))}" for name, value in record.items())

    lines = [f"<rules{attributes(_header(rules))}>"]
    lines += [f"  <{rule.action}{attributes(_record(rule))}/>" for rule in rules.rules]
    return "\n".join([*lines, "</rules>", ""]), []


def to_json(rules: Rules) -> Written:
    """Return the rules as JSON, with the same names and values as in XML."""
    records = [{"action": rule.action, **_record(rule)} for rule in rules.rules]
    text = json.dumps(_header(rules) | {"rules": records}, indent=1, ensure_ascii=False)
    return text + "\n", []


class Selectors:
    """The rules that selectors can express.

    *notes* describe selectors that match more or less than their rule. *left_out* has a warning for
    each rule that selectors cannot express.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.expressible = [rule for rule in rules.rules if self._can_express(rule)]

    def of(self, action: str) -> list[Rule]:
        """Return the expressible rules with the action `KEEP` or `DROP`."""
        return [rule for rule in self.expressible if rule.action == action]

    def nested_in(self, rule: Rule) -> list[Rule]:
        """Return the expressible rules that keep elements inside the elements that *rule* drops."""
        rules = self.rules.rules
        keeping = [rules[keep] for keep, drop in self.rules.nested if rules[drop] is rule]
        return [keep for keep in keeping if keep in self.expressible]

    def note_numbers(self) -> None:
        """Add a note for each name with a placeholder for a number."""
        for rule in self.expressible:
            for element in (rule.element, rule.parent):
                if element and NUMBER.search(element.id or element.name):
                    self.notes.append(
                        f"{rule}: 0 stands for any number, which the selector does not check: all"
                        " names with the same beginning and end match"
                    )

    def _can_express(self, rule: Rule) -> bool:
        """Tell whether selectors can express *rule*; if not, add a warning."""
        for element in (rule.element, rule.parent):
            name = (element.id or element.name) if element else ""
            if NUMBER.search(name) and max(map(len, NUMBER.split(name))) < MIN_PART_CHARS:
                self.left_out.append(
                    f"'{rule}' is left out: the name without its number is too short for a selector"
                )
                return False
        return True


def css_condition(element: Element) -> str:
    """Return the conditions of a CSS selector on an element's id or class."""
    name = element.id or element.name
    parts = NUMBER.split(name)
    if len(parts) == 1:
        return ("#" if element.id else ".") + css_name(name) if name else ""
    attribute = "id" if element.id else "class"
    operators = ["*="] * len(parts)
    if element.id:
        operators[0], operators[-1] = "^=", "$="
    return "".join(
        f'[{attribute}{operator}"{part}"]'
        for operator, part in zip(operators, parts, strict=True)
        if part
    )


def css_selector(rule: Rule) -> str:
    """Return the CSS selector of the elements that a rule matches."""
    selector = _css_element(rule.element)
    if rule.parent:
        selector = f"{_css_element(rule.parent)} > {selector}"
    if rule.place:
        selector += f":nth-of-type({rule.place})"
    return selector


def _css_element(element: Element) -> str:
    """Return the CSS selector of an element's tag, id and class."""
    return css_name(element.tag) + css_condition(element)


def to_css(rules: Rules) -> Written:
    """Return a list of selectors to include and a list of selectors to exclude, one per line. A
    comment before each list names it.

    The lists are for tools that first remove the excluded elements. An excluded element that
    contains a kept element is therefore not removed as a whole, only its other children are.
    """
    selectors = Selectors(rules)
    include = [css_selector(rule) for rule in selectors.of(KEEP)]
    exclude: list[str] = []
    for rule in selectors.of(DROP):
        nested = list(dict.fromkeys(selectors.nested_in(rule)))
        exclude += _css_exclusions(rule, nested)
        for keep in nested:
            selectors.notes.append(f"'{keep}' inside of '{rule}': some text beside it may stay")
    selectors.note_numbers()
    lines = [f"/* {about(rules)} */", *(f"/* not exact: {note} */" for note in selectors.notes)]
    lines += ["/* include */", *dict.fromkeys(include), "/* exclude */", *dict.fromkeys(exclude)]
    return "\n".join([*lines, ""]), selectors.left_out


def _css_exclusions(rule: Rule, nested: list[Rule]) -> list[str]:
    """Return the selectors of the elements to exclude for *rule*, which drops elements that contain
    the kept elements of the rules *nested*.
    """
    # A selector within :not() is limited to one element, without its parent.
    single = [keep for keep in nested if not keep.parent]
    same_tag = [keep for keep in single if keep.element.tag == rule.element.tag]
    dropped = css_selector(rule) + _css_not(same_tag)
    without_kept = "".join(f":not(:has({css_selector(keep)}))" for keep in nested)
    exclusions = [dropped + without_kept]
    if nested and nested == single:
        kept_elements = ", ".join(map(css_selector, nested))
        exclusions.append(f"{dropped}:has({kept_elements}) > *{_css_not(nested)}{without_kept}")
    return exclusions


def _css_not(rules: list[Rule]) -> str:
    """Return the condition that no rule matches an element."""
    return "".join(f":not({css_selector(rule)})" for rule in rules)


def xpath_condition(element: Element) -> str:
    """Return the XPath step of an element: its tag, with a condition on its id or class."""
    name = element.id or element.name
    if not name:
        return element.tag
    attribute = "@id" if element.id else "@class"
    parts = NUMBER.split(name)
    if len(parts) > 1:
        conditions = [f"contains({attribute}, '{part}')" for part in parts if part]
    elif element.id:
        conditions = [f"@id='{name}'"]
    else:
        conditions = [f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"]
    return f"{element.tag}[{' and '.join(conditions)}]"


def xpath(rule: Rule) -> str:
    """Return the XPath of the elements that a rule matches, without the ``//`` at its beginning."""
    step = xpath_condition(rule.element)
    if rule.place:  # the place counts all siblings with the tag, so it precedes other conditions
        step = step.replace(rule.element.tag, f"{rule.element.tag}[{rule.place}]", 1)
    return f"{xpath_condition(rule.parent)}/{step}" if rule.parent else step


def to_ftr(rules: Rules) -> Written:
    """Return a site config for FiveFilters, graby and wallabag."""
    selectors = Selectors(rules)
    strips: list[str] = []
    for rule in selectors.of(DROP):
        nested = selectors.nested_in(rule)
        strips += _ftr_strips(rule, nested)
        for keep in nested:
            selectors.notes.append(
                f"'{keep}' inside of '{rule}': text beside its elements stays, too"
            )
    selectors.note_numbers()
    body = " | ".join(f"//{xpath(rule)}" for rule in selectors.of(KEEP))
    lines = [f"# {about(rules)}", *(f"# not exact: {note}" for note in selectors.notes)]
    if body:
        lines.append(f"body: {body}")
    # By default the tools remove more elements by their own rules.
    lines += [*dict.fromkeys(strips), "prune: no", "tidy: no"]
    return "\n".join([*lines, ""]), selectors.left_out


def _ftr_strips(rule: Rule, nested: list[Rule]) -> list[str]:
    """Return the lines of a site config that remove the elements of *rule*, but not the elements of
    the rules *nested* inside them.
    """
    if nested:
        steps = dict.fromkeys(xpath_condition(keep.element) for keep in nested)
        is_kept, has_kept, is_in_kept = (
            " or ".join(f"{axis}::{step}" for step in steps)
            for axis in ("self", "descendant", "ancestor-or-self")
        )
        dropped = f"//{xpath(rule)}[not({is_kept})]"
        return [
            f"strip: {dropped}[not({has_kept})]",
            f"strip: {dropped}[{has_kept}]/descendant::*[not({is_in_kept} or {has_kept})]",
        ]
    name = rule.element.id or rule.element.name
    if NUMBER.search(name) and not rule.parent and not rule.place:
        return [f"strip_id_or_class: {max(NUMBER.split(name), key=len)}"]
    return [f"strip: //{xpath(rule)}"]


def about(rules: Rules) -> str:
    """Return a comment on the rules. A site's name is untrusted, so special characters are
    replaced.
    """
    site = re.sub(r"[^A-Za-z0-9.:_-]", "?", rules.site)[:200] or "a site"
    agreement = "" if rules.agreement is None else f", agreement {rules.agreement:.3f}"
    return f"{site}: learned by contentspider from {counted(rules.pages, 'pages')}{agreement}"


WRITERS: dict[str, Callable[[Rules], Written]] = {
    "xml": to_xml,
    "json": to_json,
    "css": to_css,
    "ftr": to_ftr,
}


def write_rules(rules: Rules, form: str) -> Written:
    """Return a rule file in a format of `WRITERS`, and warnings of the rules that it lacks."""
    return WRITERS[form](rules)
