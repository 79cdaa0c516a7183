"""What is said of a place on the whole site, as a selector in its ``overrides.toml``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tomlkit
from tomlkit.exceptions import TOMLKitError

from contentspider.ground.atomic import replacing, writing
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.overrides import OVERRIDES, Overrides
from contentspider.page.input.page import Page
from contentspider.page.words.names import step_tag
from contentspider.site.judge.slots import step_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

KEEP, DROP = "keep", "drop"
ESCAPED = re.compile(r"[^\w-]")
NUMBER = "0"  # long numbers are that in a path


def selectors(slot: str) -> Iterable[str]:
    """Yield selectors for a slot of the template, the plainest first.

    >>> list(selectors("body/div#main/div/p.note"))
    ['div#main p.note', 'div#main > div > p.note']
    """
    steps = [_step(step) for step in slot.split("/")[1:]]
    named = [at for at, step in enumerate(steps) if re.search(r"[#.]", step)]
    if not steps:
        return
    from_ = max((at for at in named if "#" in steps[at]), default=min(named, default=0))
    if 0 <= from_ < len(steps) - 1:
        yield f"{steps[from_]} {steps[-1]}"
    yield " > ".join(steps[from_:])
    if from_:
        yield " > ".join(steps)


def _step(step: str) -> str:
    names = [name for name in step_names(step) if name[0] in "#." and NUMBER not in name]
    return step_tag(step) + "".join(name[0] + _escaped(name[1:]) for name in names)


def _escaped(name: str) -> str:
    name = ESCAPED.sub(lambda match: "\\" + match[0], name)
    return f"\\{ord(name[0]):x} {name[1:]}" if name[0].isdecimal() else name


def exact_selector(slot: str, pages: Sequence[tuple[bytes, set[int]]]) -> str:
    """Return the first selector of a slot that matches just some blocks of *pages* (their bytes,
    and the numbers of the blocks); "" if none does.
    """
    for selector in selectors(slot):
        text = tomlkit.dumps({DROP: [selector]})
        try:
            overrides = Overrides.parse(text)
        except ContentSpiderError:
            continue
        found = [(Page.from_html(body, "", overrides=overrides), wanted) for body, wanted in pages]
        if all(page.corrections and set(page.corrections.dropped) == want for page, want in found):
            return selector
    return ""


def add_selector(folder: Path, selector: str, action: str) -> tuple[str | None, str]:
    """Add a selector to the corrections in a model's folder, and take it from those of the other
    action. Return what the file was (None: there was none), and what it is. Comments stay.
    """
    path = folder / OVERRIDES
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8") if path.is_file() else None
    try:
        record = tomlkit.parse(before or "")
        for name in (KEEP, DROP):
            lines = record.get(name, [])
            if selector in lines and name != action:
                lines.remove(selector)
            elif selector not in lines and name == action:
                lines.append(selector)
                record[name] = lines
    except (TOMLKitError, AttributeError, TypeError) as error:
        raise ContentSpiderError(f"{path} cannot be added to: {error}") from error
    text = tomlkit.dumps(record)
    Overrides.parse(text, str(path))
    with replacing(path) as file:
        file.write(text.encode())
    return before, text


def restore(folder: Path, before: str | None, text: str) -> None:
    """Make the file of corrections what it was, if it is what `add_selector` made of it."""
    path = folder / OVERRIDES
    with writing(path):
        if not path.is_file() or path.read_text("utf-8") != text:
            return
        if before is None:
            path.unlink(missing_ok=True)
            return
    with replacing(path) as file:
        file.write(before.encode())
