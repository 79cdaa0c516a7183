"""Rules as selectors that other tools take: two lists of CSS selectors, and site configs of XPath.

Both have a list of what to take and one of what to take away from that; that the innermost rule
decides cannot be said in them. Where a kept element was seen inside a dropped one (`Rules.nested`),
it is said as far as it can be, and named in a comment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.runtime.contentspider_rules import DROP, KEEP

if TYPE_CHECKING:
    from contentspider.runtime.contentspider_rules import Element, Rule, Rules

# Where a name has a number of two digits or more; other selectors cannot say "any number".
NUMBER = re.compile(r"(?<![0-9])0(?![0-9])")
# A name that is cut at its number must say so much.
MIN_PART_CHARS = 3


class Selectors:
    """Writes rules as selectors; *notes* are what is not exact, *left_out* what cannot be said."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.sayable = [rule for rule in rules.rules if self._can_say(rule)]

    def of(self, action: str) -> list[Rule]:
        """Return the rules of an action that can be said."""
        return [rule for rule in self.sayable if rule.action == action]

    def nested_in(self, rule: Rule) -> list[Rule]:
        """Return the rules that keep what was seen inside of what *rule* drops, or is it."""
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


def to_css(rules: Rules) -> tuple[str, list[str]]:
    """Return the two lists: a selector a line, each list below a comment that names it."""
    selectors = Selectors(rules)
    include = [css_selector(rule) for rule in selectors.of(KEEP)]
    exclude = []
    for rule in selectors.of(DROP):
        besides = ""
        for keep in selectors.nested_in(rule):
            own = css_condition(keep.element)
            if keep.element.tag == rule.element.tag and own and not keep.parent and not keep.place:
                besides += f":not({own})"
            else:
                include.append(f"{css_selector(rule)} {css_selector(keep)}")
                selectors.notes.append(
                    f"'{keep}' inside of '{rule}': what excludes before it includes loses it"
                )
        exclude.append(css_selector(rule) + besides)
    selectors.note_numbers()
    lines = [f"/* {about(rules)} */", *(f"/* not exact: {note} */" for note in selectors.notes)]
    lines += ["/* include */", *dict.fromkeys(include), "/* exclude */", *dict.fromkeys(exclude)]
    return "\n".join([*lines, ""]), selectors.left_out


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


def to_ftr(rules: Rules) -> tuple[str, list[str]]:
    """Return a site config as FiveFilters, graby and wallabag read it: ``body`` with what is kept,
    ``strip`` with what is dropped.
    """
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
            own = [xpath_condition(keep.element) for keep in nested]
            besides = " or ".join(
                f"ancestor-or-self::{one} or descendant::{one}" for one in dict.fromkeys(own)
            )
            strips.append(f"strip: //{xpath(rule)}/descendant-or-self::*[not({besides})]")
        elif NUMBER.search(name) and not rule.parent and not rule.place:
            longest = max(NUMBER.split(name), key=len)
            strips.append(f"strip_id_or_class: {longest}")
        else:
            strips.append(f"strip: //{xpath(rule)}")
    selectors.note_numbers()
    body = " | ".join(f"//{xpath(rule)}" for rule in selectors.of(KEEP))
    lines = [f"# {about(rules)}", *(f"# not exact: {note}" for note in selectors.notes)]
    lines += [f"body: {body}"] if body else []
    # What they would take away and put right by themselves.
    lines += [*dict.fromkeys(strips), "prune: no", "tidy: no"]
    return "\n".join([*lines, ""]), selectors.left_out


def about(rules: Rules) -> str:
    """Return what a comment says of the rules; a site's name is of anybody's making."""
    site = re.sub(r"[^A-Za-z0-9.:_-]", "?", rules.site)[:200] or "a site"
    agreement = "" if rules.agreement is None else f", agreement {rules.agreement:.3f}"
    return f"{site}: learned by contentspider from {rules.pages} pages{agreement}"
