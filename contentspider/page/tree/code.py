"""Finds the programming language of code in the classes of its markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.page.tree.containers import DIAGRAMS

if TYPE_CHECKING:
    from collections.abc import Sequence

# ``language-x`` (HTML's own), ``lang-x`` (prettify), ``highlight-x`` (Sphinx),
# ``highlight-source-x`` (GitHub), ``mw-highlight-lang-x`` (MediaWiki), and ``brush: x``
# (SyntaxHighlighter); ``hl-x`` (nbconvert).
PREFIXED = re.compile(
    r"(?:^|\s)(?:mw-highlight-lang-|language-|lang-|highlight-source-|highlight-text-|highlight-"
    r"|hl-|brush:\s*)(?P<name>[\w+#.-]+)"
)
# Beside these classes, a class without a prefix is the language: ``highlight js`` (Hexo),
# ``sourceCode python`` (Pandoc), ``hljs python``, ``python geshi``, ``rust item-decl``
# (rustdoc).
BESIDE = frozenset(
    "highlight hljs sourceCode geshi prettyprint code codehilite rust-example-rendered"
    " item-decl".split()
)
NAME = re.compile(r"[\w+#.-]+\Z")
# Names of tools that colour code, and of parts of their markup.
NO_LANGUAGE = frozenset(
    "coderay rouge pygments chroma prism shiki hljs highlightjs vp-code myst-ansi"
    " none default nohighlight no-highlight plain null undefined wrapper source code container"
    " numbers lines block line-numbers linenums notranslate copy copyable wrap nowrap dark light"
    " theme toolbar body content main inline table example console-output".split()
)
MAX_NAME_CHARS = 30
OTHER_NAMES = {"ipython3": "python", "ipython": "python"}


def code_language(classes: Sequence[str]) -> str:
    """Return the first language that *classes* name, "" if they name no language.

    *classes* has the class attributes of a preformatted element, of the code in it, and of the
    elements around it, in this order.

    >>> code_language(["", "hljs language-python"]), code_language(["highlight js"])
    ('python', 'js')
    """
    bare = ""
    for names in filter(None, classes):
        for match in PREFIXED.finditer(names):
            if name := _language(match["name"]):
                return name
        bare = bare or _bare_language(names.split())
    return bare


def _bare_language(words: list[str]) -> str:
    """Return the language among class names without a prefix, "" if there is none."""
    if not DIAGRAMS.isdisjoint(words):
        return min(DIAGRAMS.intersection(words))
    if len(words) > 1 and not BESIDE.isdisjoint(words):
        bare = [word for word in words if word not in BESIDE and "-" not in word]
        if len(bare) == 1:
            return _language(bare[0])
    return ""


def _language(name: str) -> str:
    if len(name) > MAX_NAME_CHARS or not NAME.match(name) or name.lower() in NO_LANGUAGE:
        return ""
    return OTHER_NAMES.get(name, name)
