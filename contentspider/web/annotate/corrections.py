"""Labels for a slot of the whole site, as CSS selectors in the site's ``overrides.toml``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tomlkit
from tomlkit.exceptions import TOMLKitError

from contentspider.ground.atomic import writing
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.overrides import OVERRIDES, Overrides
from contentspider.page.input.page import Page
from contentspider.page.words.names import step_tag
from contentspider.site.judge.slots import step_names
from contentspider.web.annotate.file_changes import read_bytes, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from contentspider.web.annotate.file_changes import FileChange

KEEP, DROP = "keep", "drop"
ESCAPED = re.compile(r"[^\w-]")
# Stands for a long number in a name of a path, unless the page numbers nearly all of its names.
NUMBER = re.compile(r"(?<!\d)0(?!\d)")


def selectors(slot: str) -> Iterable[str]:
    """Yield CSS selectors for a slot, the shortest first.

    >>> list(selectors("body/div#main/div/p.note"))
    ['div#main p.note', 'div#main > div > p.note']
    """
    steps = [_step(step) for step in slot.split("/")[1:]]
    if not steps:
        return
    named_steps = [index for index, step in enumerate(steps) if re.search(r"[#.]", step)]
    id_steps = [index for index in named_steps if "#" in steps[index]]
    # A selector begins at the last id, else at the first class, else at the body.
    start = max(id_steps, default=min(named_steps, default=0))
    if start < len(steps) - 1:
        yield f"{steps[start]} {steps[-1]}"
    yield " > ".join(steps[start:])
    if start:
        yield " > ".join(steps)


def _step(step: str) -> str:
    names = [name for name in step_names(step) if name[0] in "#." and not NUMBER.search(name)]
    return step_tag(step) + "".join(name[0] + _escaped(name[1:]) for name in names)


def _escaped(name: str) -> str:
    name = ESCAPED.sub(lambda match: "\\" + match[0], name)
    return f"\\{ord(name[0]):x} {name[1:]}" if name[0].isdecimal() else name


def find_exact_selector(slot: str, pages: Sequence[tuple[bytes, set[int]]]) -> str:
    """Return the shortest selector that matches exactly the blocks of a slot, or "".

    *pages* are tuples of a page's HTML and the numbers of the blocks to match.
    """
    for selector in selectors(slot):
        text = tomlkit.dumps({DROP: [selector]})
        try:
            overrides = Overrides.parse(text)
        except ContentSpiderError:
            continue
        if all(_matched_blocks(body, overrides) == blocks for body, blocks in pages):
            return selector
    return ""


def _matched_blocks(body: bytes, overrides: Overrides) -> set[int] | None:
    """Return the numbers of the blocks that overrides drop, or None if they do not apply."""
    corrections = Page.from_html(body, "", overrides=overrides).corrections
    return set(corrections.dropped) if corrections else None


def add_selector(folder: Path, selector: str, action: str) -> FileChange:
    """Add a selector to an action ("keep" or "drop") in a model folder's ``overrides.toml``.

    The selector is removed from the other action. Comments stay.
    """
    path = folder / OVERRIDES
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
    before = read_bytes(path)
    try:
        record = tomlkit.parse(before or b"")
        for name in (KEEP, DROP):
            lines = record.get(name, [])
            if selector in lines and name != action:
                lines.remove(selector)
            elif selector not in lines and name == action:
                lines.append(selector)
                record[name] = lines
    except (TOMLKitError, UnicodeError, AttributeError, TypeError) as error:
        raise ContentSpiderError(
            f"{selector} cannot be added to {path}: correct the file first ({error})"
        ) from error
    text = tomlkit.dumps(record)
    Overrides.parse(text, str(path))
    return replace_file(path, before, text)
