"""Extras: what each installs, and what is said where one is missing."""

from __future__ import annotations

import re
import sys
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from contentspider import cli
from contentspider.ground.extras import EXTRAS, MissingExtraError, is_installed, require

# Modules whose distributions have other names.
DISTRIBUTIONS = {
    "prometheus_client": "prometheus-client",
    "opensearchpy": "opensearch-py",
    "scrapy_playwright": "scrapy-playwright",
    "anydoc": "firecrawl-anydoc",
    "markdown_it": "markdown-it-py",
}
# Extras for working on contentspider, not for using it.
TOOLS = {"all", "docs", "bench", "dev"}
# Extras that `all` leaves out: each of the loaders installs dozens of packages.
NOT_IN_ALL = {"testing", "langchain", "llamaindex", "haystack"}
DISTRIBUTIONS |= {
    "langchain_core": "langchain-core",
    "llama_index": "llama-index-core",
    "haystack": "haystack-ai",
}


def needed_by(extra: str, seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the distributions that an extra installs, with those of the extras that it names."""
    found = set()
    for line in requires("contentspider") or ():
        requirement = Requirement(line)
        if not (requirement.marker and requirement.marker.evaluate({"extra": extra})):
            continue
        if requirement.marker.evaluate({"extra": ""}):
            continue
        if requirement.name == "contentspider":
            for other in requirement.extras - seen:
                found |= needed_by(other, seen | {extra})
        else:
            found.add(requirement.name)
    return found


def test_extras_table_matches_package_metadata() -> None:
    named = set(metadata("contentspider").get_all("Provides-Extra") or ())
    assert set(EXTRAS) == named - TOOLS
    for extra, modules in EXTRAS.items():
        assert {DISTRIBUTIONS.get(module, module) for module in modules} <= needed_by(extra)


@pytest.mark.large
def test_all_extra_includes_every_user_extra() -> None:
    missing = {extra for extra in EXTRAS if not needed_by(extra) <= needed_by("all")}
    assert missing == NOT_IN_ALL


@pytest.mark.parametrize("extra", list(EXTRAS))
def test_missing_extra_error_names_pip_command(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, EXTRAS[extra][-1], None)
    assert not is_installed(extra)
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install 'contentspider[{extra}]'")):
        require(extra, "it")


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [
        ("starlette", ["serve"], "web"),
        ("jinja2", ["report", "x"], "web"),
        ("tomlkit", ["annotate", "x"], "web"),
        ("scrapy_playwright", ["render", "x", "-o", "x.jsonl"], "render"),
        ("fastwarc", ["archive", "x.warc", "-o", "items"], "archive"),
        ("fsspec", ["run", "sites.toml", "--state", "s3://bucket/state"], "remote"),
        ("tantivy", ["search", "tea", "--index", "tantivy:x"], "search"),
    ],
)
def test_command_with_missing_extra_prints_pip_command(
    module: str,
    arguments: list[str],
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: pytest.TempPathFactory,
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with open("sites.toml", "w") as file:  # noqa: PTH123
        file.write('[site.x]\nurls = ["https://example.org"]\n')
    monkeypatch.setitem(sys.modules, module, None)
    assert cli.main(arguments) == 1
    assert f"pip install 'contentspider[{extra}]'\n" in capsys.readouterr().err


def test_file_that_needs_an_extra_ends_with_its_pip_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tea.pdf").write_bytes(b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\n")
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert cli.main(["extract", "tea.pdf"]) == 1
    assert "pip install 'contentspider[documents]'" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.large
def test_every_command_has_help_without_its_extra(capsys: pytest.CaptureFixture[str]) -> None:
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            cli.main([command.name, "--help"])
        assert ended.value.code == 0
        assert f"usage: contentspider {command.name}" in capsys.readouterr().out
