"""Rule files: as XML and JSON, which `standalone` reads, and as selectors that other tools take:
two lists of CSS selectors, and site configs of XPath.

Selectors take some elements and drop others of that; a kept element inside a dropped one
(`Rules.nested`) is written as far as they can say it, and named in a comment.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from contentspider.rules.standalone import DROP, KEEP, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.rules.standalone import Element, Rule, Rules

# A number of two digits or more in a name; selectors cannot say "any number".
NUMBER = re.compile(r"(?<![0-9])0(?![0-9])")
# A name that is cut at its number must say so much.
MIN_PART_CHARS = 3

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


class Selectors:
    """Rules as selectors can say them; *notes*: what is not exact, *left_out*: what is missing."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.sayable = [rule for rule in rules.rules if self._can_say(rule)]

    def of(self, action: str) -> list[Rule]:
        """Return the rules of an action that selectors can say."""
        return [rule for rule in self.sayable if rule.action == action]

    def nested_in(self, rule: Rule) -> list[Rule]:
        """Return the rules that keep something inside of what *rule* drops."""
        rules = self.rules.rules
        keeping = [rules[keep] for keep, drop in self.rules.nested if rules[drop] is rule]
        return [keep for keep in keeping if keep in self.sayable]

    def note_numbers(self) -> None:
        """Note the names whose numbers stand for any."""
        for rule in self.sayable:
            for element in (rule.element, rule.parent):
                if element and NUMBER.search(element.id or element.name):
                    self.notes.append(
                        f"{rule}: 0 is any number, which is not asked for: names that begin or"
                        " end alike match, too"
                    )

    def _can_say(self, rule: Rule) -> bool:
        for element in (rule.element, rule.parent):
            name = (element.id or element.name) if element else ""
            if NUMBER.search(name) and max(map(len, NUMBER.split(name))) < MIN_PART_CHARS:
                self.left_out.append(f"'{rule}' is left out: without its number nothing is named")
                return False
        return True


def css_name(name: str) -> str:
    """Return a name as an identifier of CSS."""
    name = name.replace(":", "\\:")
    if name[0].isdecimal():
        return f"\\{ord(name[0]):x} {name[1:]}"
    return "\\" + name if name[0] == "-" else name


def css_condition(element: Element) -> str:
    """Return what a selector asks of an element beside its tag."""
    name = element.id or element.name
    parts = NUMBER.split(name)
    if len(parts) == 1:
        return ("#" if element.id else ".") + css_name(name) if name else ""
    attribute = "id" if element.id else "class"
    signs = ["*="] * len(parts)
    if element.id:
        signs[0], signs[-1] = "^=", "$="
    return "".join(
        f'[{attribute}{sign}"{part}"]' for sign, part in zip(signs, parts, strict=True) if part
    )


def css_selector(rule: Rule) -> str:
    """Return the selector of what a rule matches."""

    def element(found: Element) -> str:
        return css_name(found.tag) + css_condition(found)

    above = f"{element(rule.parent)} > " if rule.parent else ""
    return above + element(rule.element) + (f":nth-of-type({rule.place})" if rule.place else "")


def to_css(rules: Rules) -> Written:
    """Return the two lists: a selector a line, each list below a comment that names it.

    They are for readers that first remove what is excluded: an element that is dropped stays if one
    in it is kept; what is beside that goes, as far as one step below shows it.
    """
    selectors = Selectors(rules)
    include = [css_selector(rule) for rule in selectors.of(KEEP)]
    exclude = []
    for rule in selectors.of(DROP):
        nested = list(dict.fromkeys(selectors.nested_in(rule)))
        # Selectors within :not() have one step.
        single = [keep for keep in nested if not keep.parent]
        same = [keep for keep in single if keep.element.tag == rule.element.tag]
        dropped = f"{css_selector(rule)}{_besides(same)}"
        holding = "".join(f":not(:has({css_selector(keep)}))" for keep in nested)
        exclude.append(f"{dropped}{holding}")
        if nested and nested == single:
            holders = ", ".join(map(css_selector, nested))
            exclude.append(f"{dropped}:has({holders}) > *{_besides(nested)}{holding}")
        for keep in nested:
            selectors.notes.append(f"'{keep}' inside of '{rule}': some text beside it may stay")
    selectors.note_numbers()
    lines = [f"/* {about(rules)} */", *(f"/* not exact: {note} */" for note in selectors.notes)]
    lines += ["/* include */", *dict.fromkeys(include), "/* exclude */", *dict.fromkeys(exclude)]
    return "\n".join([*lines, ""]), selectors.left_out


def _besides(rules: list[Rule]) -> str:
    """Return the condition that an element is none that a rule matches."""
    return "".join(f":not({css_selector(rule)})" for rule in rules)


def xpath_condition(element: Element) -> str:
    """Return what a path asks of an element, its tag included, as a condition on ``self``."""
    name = element.id or element.name
    if not name:
        return element.tag
    attribute = "@id" if element.id else "@class"
    parts = NUMBER.split(name)
    if len(parts) > 1:
        asked = [f"contains({attribute}, '{part}')" for part in parts if part]
    elif element.id:
        asked = [f"@id='{name}'"]
    else:
        asked = [f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"]
    return f"{element.tag}[{' and '.join(asked)}]"


def xpath(rule: Rule) -> str:
    """Return the path of what a rule matches, without the ``//`` before it."""
    own = xpath_condition(rule.element)
    if rule.place:  # among its siblings of the tag, before anything else is asked
        own = own.replace(rule.element.tag, f"{rule.element.tag}[{rule.place}]", 1)
    return f"{xpath_condition(rule.parent)}/{own}" if rule.parent else own


def to_ftr(rules: Rules) -> Written:
    """Return a site config as FiveFilters, graby and wallabag read it."""
    selectors = Selectors(rules)
    strips = []
    for rule in selectors.of(DROP):
        nested = selectors.nested_in(rule)
        name = rule.element.id or rule.element.name
        if nested:
            for keep in nested:
                selectors.notes.append(
                    f"'{keep}' inside of '{rule}': text beside its elements stays, too"
                )
            own = dict.fromkeys(xpath_condition(keep.element) for keep in nested)
            is_kept, holds, within = (
                " or ".join(f"{axis}::{one}" for one in own)
                for axis in ("self", "descendant", "ancestor-or-self")
            )
            dropped = f"//{xpath(rule)}[not({is_kept})]"
            strips.append(f"strip: {dropped}[not({holds})]")
            strips.append(f"strip: {dropped}[{holds}]/descendant::*[not({within} or {holds})]")
        elif NUMBER.search(name) and not rule.parent and not rule.place:
            longest = max(NUMBER.split(name), key=len)
            strips.append(f"strip_id_or_class: {longest}")
        else:
            strips.append(f"strip: //{xpath(rule)}")
    selectors.note_numbers()
    body = " | ".join(f"//{xpath(rule)}" for rule in selectors.of(KEEP))
    lines = [f"# {about(rules)}", *(f"# not exact: {note}" for note in selectors.notes)]
    lines += [f"body: {body}"] if body else []
    # Else they clean up by themselves.
    lines += [*dict.fromkeys(strips), "prune: no", "tidy: no"]
    return "\n".join([*lines, ""]), selectors.left_out


def about(rules: Rules) -> str:
    """Return a comment on the rules; a site's name may be hostile."""
    site = re.sub(r"[^A-Za-z0-9.:_-]", "?", rules.site)[:200] or "a site"
    agreement = "" if rules.agreement is None else f", agreement {rules.agreement:.3f}"
    return f"{site}: learned by contentspider from {rules.pages} pages{agreement}"


WRITERS: dict[str, Callable[[Rules], Written]] = {
    "xml": to_xml,
    "json": to_json,
    "css": to_css,
    "ftr": to_ftr,
}


def write_rules(rules: Rules, form: str) -> Written:
    """Return a rule file in a format of `WRITERS`, and warnings of what it lacks."""
    return WRITERS[form](rules)
