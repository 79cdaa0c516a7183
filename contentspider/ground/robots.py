"""The rules of a robots.txt for one crawler, by RFC 9309."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property

from protego import Protego

# The lines that decide about groups, with the misspellings and missing colons that crawlers accept.
AGENT_LINE = re.compile(
    r"\s*user[ -]?agent(?:\s*:\s*|\s+(?=\S+\s*(?:#|$)))(\*(?!\S)|[\w-]*)", re.ASCII | re.IGNORECASE
)
RULE_LINE = re.compile(r"\s*(?:allow|d[a-z]*l[ao]w)\b", re.IGNORECASE)
DISALLOW_LINE = re.compile(r"\s*d[a-z]*l[ao]w\b", re.IGNORECASE)
LINE_END = re.compile(r"\r\n?|\n")
# A name of a user agent: its first word, and words with a version, except in addresses.
NAME = re.compile(r"^[\w-]+|(?<![\w./:@-])[\w-]+(?=/[\d.])", re.ASCII)
NO_TOKEN = re.compile(r"[^a-z_-]")
EVERY_AGENT = "*"


class RobotsTxt:
    """A robots.txt. Protego compares addresses with its rules; which of them are a crawler's is
    decided here, as Protego 0.7 takes a group for ours whose name begins ours, and lets other
    records end a group.
    """

    def __init__(self, text: str) -> None:
        # A byte order mark, or its remains.
        self._lines = LINE_END.split(text.lstrip("\ufeff\ufffd"))
        self._rules: dict[str, Protego] = {}

    @cached_property
    def sitemaps(self) -> tuple[str, ...]:
        """The addresses of the sitemaps, as the file writes them."""
        return tuple(Protego.parse("\n".join(self._lines)).sitemaps)

    def allows(self, url: str, agent: str) -> bool:
        """Tell whether the user agent *agent* may fetch an address."""
        return self._rules_of(agent).can_fetch(url.partition("#")[0], EVERY_AGENT)

    def crawl_delay(self, agent: str) -> float:
        """Return the ``Crawl-delay`` of the groups of a user agent in seconds, 0 without one."""
        return float(self._rules_of(agent).crawl_delay(EVERY_AGENT) or 0)

    def forbidding_line(self, url: str, agent: str) -> tuple[int, str] | None:
        """Return the number and the text of the line that forbids an address: the first one without
        which, and without all later ones that forbid, it would be allowed; None if no line does.
        """
        url = url.partition("#")[0]
        own_lines = self._lines_of(agent)
        rules = [number for number, line in enumerate(own_lines) if DISALLOW_LINE.match(line)]

        def forbids(count: int) -> bool:
            later = set(rules[count + 1 :])
            lines = ["" if number in later else line for number, line in enumerate(own_lines)]
            return not _rules(lines).can_fetch(url, EVERY_AGENT)

        if not rules or self.allows(url, agent):
            return None
        number = rules[bisect_left(range(len(rules) - 1), 1, key=forbids)]
        return number + 1, own_lines[number].strip()

    def _rules_of(self, agent: str) -> Protego:
        if agent not in self._rules:
            self._rules[agent] = _rules(self._lines_of(agent))
        return self._rules[agent]

    def _lines_of(self, agent: str) -> list[str]:
        """Return the lines of the groups of a user agent, or else of those for every agent. The
        other lines are empty.
        """
        names = {name.lower() for name in NAME.findall(agent)}
        agents = map(AGENT_LINE.match, self._lines)
        is_named = any(not names.isdisjoint(_names(match)) for match in agents if match)
        wanted = names if is_named else {EVERY_AGENT}
        own_lines, group, has_rules = [], set[str](), False
        for line in self._lines:
            if agent_line := AGENT_LINE.match(line):
                group = set() if has_rules else group
                group |= _names(agent_line)
                has_rules = False
            has_rules = has_rules or RULE_LINE.match(line) is not None
            is_own = not agent_line and not wanted.isdisjoint(group)
            own_lines.append(line if is_own else "")
        return own_lines


def _names(agent_line: re.Match[str]) -> set[str]:
    """Return the names that the rules below a ``User-agent`` line apply to, in lower case: the name
    in the line, and its product token (RFC 9309, 2.2.1).
    """
    name = agent_line[1].lower()
    return {name, NO_TOKEN.split(name)[0] if name != EVERY_AGENT else name}


def _rules(lines: list[str]) -> Protego:
    """Return the rules of lines that have no groups."""
    return Protego.parse("\n".join([f"User-agent: {EVERY_AGENT}", *lines]))
