"""The reference in docs/python.md is readable without Sphinx: it has the signatures of functions,
while their docstrings stand only in the code.
"""

from __future__ import annotations

import inspect
import pydoc
import re
from pathlib import Path

import contentspider

PYTHON = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
DIRECTIVE = re.compile(r"^ *\.\. auto(class|function|method):: ([\w.]+)(.*)$", re.MULTILINE)
# The fields of items are in docs/items.md; others are made by functions, not by users.
NOT_CALLED = {"Addon", "Extraction", "Overrides", "Page", "Prior", "SiteModel"}
NOT_CALLED |= {"TaggedBlock", "TaggedPage"}


def signature(function: object) -> str:
    """Return the signature of a function as one would write it."""
    assert callable(function)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
    return text.replace("(self, ", "(").replace("(self)", "()")


def test_reference_has_the_signatures_of_the_code() -> None:
    """Those of a few leave out the last parameters, which are for the package itself."""
    home: object = contentspider
    seen = set()
    for kind, name, written in DIRECTIVE.findall(PYTHON):
        if kind != "method":
            home = getattr(contentspider, name.removeprefix("contentspider."))
            seen.add(name.removeprefix("contentspider."))
        found = getattr(home, name) if kind == "method" else home
        if kind == "class" and not written:
            assert name.removeprefix("contentspider.") in NOT_CALLED
            continue
        assert written, f"{name} has no signature"
        right = signature(found)
        beginning = written.removesuffix(")")
        assert written == right or right.startswith((f"{beginning},", f"{beginning})")), right
    assert seen == set(dir(contentspider))


def test_help_says_what_is_public() -> None:
    shown = pydoc.render_doc(contentspider, renderer=pydoc.plaintext)
    assert "extract_html" in shown.partition("PACKAGE CONTENTS")[0]
    for name in dir(contentspider):
        documented = inspect.getdoc(getattr(contentspider, name))
        assert documented and len(documented) > 20, name
