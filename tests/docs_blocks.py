"""The code blocks of README.md and docs/*.md, and what the pages say of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = re.compile(r"<!-- (not run|output)(?:: *(.*?))? *-->")
# How the files of a language are named.
ENDINGS = {"python": r"\w+\.py", "toml": r"\w+\.toml"}


@dataclass(frozen=True, slots=True)
class Block:
    """A code block: *said* is the paragraph before it, *mark* and *reason* are of the comment."""

    page: Path
    line: int
    language: str
    text: str
    said: str
    mark: str
    reason: str

    @property
    def is_doctest(self) -> bool:
        """Tell whether it is a dialogue with Python."""
        return self.language == "pycon" or self.text.startswith(">>> ")

    @property
    def file(self) -> str:
        """Return the file that it is a part of: the last one that is named in the paragraph before,
        if that ends with a colon.
        """
        ending = ENDINGS.get(self.language)
        if self.is_doctest or not ending or not self.said.endswith(":"):
            return ""
        found = re.findall(rf"`([\w./-]*{ending})`", self.said)
        return found[-1] if found else ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page in order, without the directives of Sphinx.

    One that is indented is of the shell.
    """
    found = []
    said, comment = "", None
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            assert token.map
            if not token.info.startswith("{"):
                language = token.info.strip() if token.type == "fence" else "sh"
                mark, reason = comment.groups("") if comment else ("", "")
                line = token.map[0] + 1
                found.append(Block(page, line, language, token.content, said, mark, reason))
            said, comment = "", None
        elif token.type == "html_block":
            comment = MARK.match(token.content)
        elif token.type == "inline":
            said, comment = token.content, None
    return found


def parts_of_a_dialogue(text: str) -> tuple[str, list[str]]:
    """Return the commands of a ``console`` block, as a script, and what it says that they print."""
    commands, output = [], []
    goes_on = False
    for line in text.splitlines():
        if goes_on or line.startswith("$ "):
            commands.append(line.removeprefix("$ "))
            goes_on = line.endswith("\\")
        else:
            output.append(line)
    return "\n".join(commands), output


def without_numbers(line: str) -> str:
    """Return a line with N for its numbers and versions: they depend on the site."""
    line = re.sub(r"\b(?=\w*\d)[0-9a-f]{8,}\b", "N", line)
    return " ".join(re.sub(r"\d[\d,.:-]*\d|\d", "N", line).split())
