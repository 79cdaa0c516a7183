"""Codes of errors, and the wordings that tests quote: the docs and the package have them."""

from __future__ import annotations

import ast
import pickle
import re

import pytest

from contentspider.ground.errors import ContentSpiderError, StateError
from tests.conftest import ROOT
from tests.messages import WORDINGS


def text_of(part: ast.expr) -> str:
    """Return a part of an f-string, with "\\0" for a value, and the noun of a counted one."""
    match part:
        case ast.Constant(str(text)):
            return text
        case ast.FormattedValue(ast.Call(ast.Name("counted"), [_, ast.Constant(str(nouns))])):
            return f"\0 {nouns}"
    return "\0"


def texts_of_package() -> list[str]:
    """Return all texts in the package's code, with "\\0" for each value that is put in."""
    texts = []
    for path in (ROOT / "contentspider").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(map(text_of, node.values)))
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
def test_package_has_each_message_of_snapshot_file(key: str, package: str) -> None:
    parts = map(re.escape, WORDINGS[key].split("{}"))
    assert re.search("[^\n]*".join(parts), package), "mend tests/messages.toml"


@pytest.mark.parametrize("key", WORDINGS)
def test_each_message_of_snapshot_file_is_quoted_by_a_test(key: str, tests: str) -> None:
    assert f'wording("{key}"' in tests, "no test quotes it: remove it from tests/messages.toml"


def codes_of_package() -> dict[str, set[str]]:
    """Return the classes of the errors that have each code."""
    codes: dict[str, set[str]] = {}
    for path in (ROOT / "contentspider").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                for line in node.body:
                    if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "code":
                        codes.setdefault(ast.literal_eval(line.value), set()).add(node.name)
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
                for keyword in node.keywords:
                    if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                        name = ast.unparse(node.func)
                        codes.setdefault(ast.literal_eval(keyword.value), set()).add(name)
    return codes


def test_each_code_belongs_to_one_error_and_is_documented() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| `(\w+Error)` \| .+ \|$", page, re.MULTILINE)
    assert len(dict(rows)) == len(rows)
    assert codes_of_package() == {code: {name} for code, name in rows}


def test_every_public_error_has_its_own_code() -> None:
    classes = [ContentSpiderError]
    for error in classes:
        classes.extend(error.__subclasses__())
    ours = [error for error in classes if error.__module__.startswith("contentspider.")]
    public = [error for error in ours if not error.__name__.startswith("_")]
    assert len({error.code for error in public}) == len(public)


def test_error_may_have_code_of_its_reason() -> None:
    assert (StateError("x").code, StateError("x", code="damaged").code) == ("state", "damaged")
    again = pickle.loads(pickle.dumps(StateError("x", code="damaged")))  # noqa: S301 - our own
    assert (again.code, str(again)) == ("damaged", "x")
