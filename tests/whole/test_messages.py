"""The wordings that tests quote: each is in the package, and a test uses it."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conftest import ROOT
from tests.messages import WORDINGS


def texts_of_package() -> list[str]:
    """Return all texts in the package's code, with "\\0" for each value that is put in."""
    texts = []
    for path in (ROOT / "contentspider").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (getattr(part, "value", "") for part in node.values)
                texts.append("".join(part if isinstance(part, str) else "\0" for part in parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(re.sub("%[sdr]", "\0", node.value))
    return texts


@pytest.fixture(scope="module")
def package() -> str:
    return "\n\n".join(texts_of_package())


@pytest.fixture(scope="module")
def tests() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("key", WORDINGS)
def test_wording_is_in_package(key: str, package: str) -> None:
    parts = map(re.escape, WORDINGS[key].split("{}"))
    assert re.search("[^\n]*".join(parts), package), "mend tests/messages.toml"


@pytest.mark.parametrize("key", WORDINGS)
def test_wording_is_used_by_test(key: str, tests: str) -> None:
    assert f'wording("{key}"' in tests, "no test quotes it: remove it from tests/messages.toml"
