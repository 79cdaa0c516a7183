"""The docs say what the code does."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import build_parser
from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.base.options import (
    DEFAULTS,
    FILES,
    MOST_USED,
    PAGES,
    REQUESTS,
    RUNS,
    SETTINGS,
)
from contentspider.crawl.spider.spider import SiteSpider
from contentspider.index.operations import open_index
from contentspider.run.flags import CRAWL_FLAGS, FLAGS
from contentspider.site.models.item import RecordFields
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def settings_table() -> str:
    """Return the table of docs/settings.md."""
    lines = ["| setting | default | as a flag | what it does |", "|---|---|---|---|"]
    for one in SETTINGS:
        flag = f"`{one.flag}`" if one.group else ""
        lines.append(f"| `{one.setting}` | `{one.default!r}` | {flag} | {one.help} |")
    return "\n".join(lines)


def flags_table() -> str:
    """Return the table of flags in docs/commands.md."""
    lines = ["| flag | in `sites.toml` | setting | meaning |", "|---|---|---|---|"]
    for title in (MOST_USED, PAGES, FILES, REQUESTS, RUNS):
        for one in (option for option in CRAWL_FLAGS if option.group == title):
            flags = ", ".join(
                f"`{flag} {one.metavar}`".replace(" `", "`") for flag in one.flags.split()
            )
            key, setting = (
                f"`{name}`" if name else "" for name in (one.in_sites and one.key, one.setting)
            )
            lines.append(f"| {flags} | {key} | {setting} | {one.flag_help} |")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("page", "table"), [("settings.md", settings_table()), ("commands.md", flags_table())]
)
def test_option_tables_in_docs_match_code(page: str, table: str) -> None:
    assert table in (ROOT / "docs" / page).read_text(), f"docs/{page} should have:\n{table}"


# Environment variables that are no settings, because they are secrets.
VARIABLES = {
    "CONTENTSPIDER_WEBHOOK_SECRET",
    "CONTENTSPIDER_EMBEDDER",
    "CONTENTSPIDER_EMBEDDER_MODEL",
    "CONTENTSPIDER_EMBEDDER_KEY",
}


def test_package_mentions_only_existing_settings() -> None:
    used = {
        name
        for path in (ROOT / "contentspider").rglob("*.py")
        for name in re.findall(r"CONTENTSPIDER_[A-Z_]+", path.read_text())
    }
    assert used <= set(DEFAULTS) | VARIABLES


def test_spider_arguments_match_option_table() -> None:
    taken = inspect.signature(SiteSpider).parameters
    assert {one.name: one.default or () for one in FLAGS if one.in_spider} == {
        name: one.default or () for name, one in taken.items() if name not in ("url", "kwargs")
    }


def test_picture_of_readme_is_of_this_version() -> None:
    from picture import picture

    drawn = (ROOT / "docs" / "before-after.svg").read_text("utf-8")
    assert drawn == picture(), "python examples/picture.py docs/before-after.svg"
    assert (
        drawn.count("line-through") > 10
        and "docs/before-after.svg" in (ROOT / "README.md").read_text()
    )


def test_links_in_readme_and_docs_point_to_existing_files() -> None:
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
            assert (path.parent / link).exists(), f"{path.name}: {link}"


def test_every_item_field_is_documented() -> None:
    assert re.findall(
        r"^\| `(\w+)`", (ROOT / "docs" / "items.md").read_text(), re.MULTILINE
    ) == list(ContentItem.__dataclass_fields__)


def test_documented_record_of_a_listing_has_the_fields_of_records() -> None:
    page = (ROOT / "docs" / "items.md").read_text()
    section = page.partition("## Records of listings")[2]
    (record,) = re.findall(r"^(\{.*\})$", section.partition("\n## ")[0], re.MULTILINE)
    assert list(json.loads(record)) == list(RecordFields.__annotations__)


def test_every_stat_is_documented() -> None:
    documented = re.sub(r"\{\w+\}", "", (ROOT / "docs" / "stats.md").read_text())
    source = "".join(path.read_text() for path in (ROOT / "contentspider").rglob("*.py"))
    counted = set(re.findall(r'"(contentspider/[\w/]+)', source))
    assert len(counted) > 12
    assert not {name for name in counted if name not in documented}


def test_every_command_is_documented_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    for command in (
        "crawl",
        "run",
        "status",
        "pull",
        "replay",
        "report",
        "extract",
        "models",
        "evaluate",
        "index",
        "search",
        "serve",
        "mcp",
        "schema",
    ):
        assert f"contentspider {command}" in text
        with pytest.raises(SystemExit) as stopped:
            build_parser().parse_args([command, "--help"])
        assert stopped.value.code == 0
        assert "usage: contentspider" in capsys.readouterr().out


def test_package_contains_no_machine_paths() -> None:
    for path in (ROOT / "contentspider").rglob("*.py"):
        assert not re.search(r"/(?:work|root|home|tmp)/", path.read_text()), path


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("contentspider", ["scrapy", "sklearn", "pylcs", "numpy"]),
        ("contentspider.site.learn.learner, contentspider.extract", ["scrapy", "twisted"]),
        ("contentspider.evaluation.predict", ["scrapy", "twisted"]),
    ],
)
def test_core_modules_do_not_import_scrapy_or_sklearn(modules: str, absent: list[str]) -> None:
    code = f"import sys, {modules}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments", ["--help", "crawl --help", "models list", "search WORD --index sqlite:pages.db"]
)
def test_quick_commands_import_no_heavy_modules(arguments: str, tmp_path: Path) -> None:
    with open_index(f"sqlite:{tmp_path}/pages.db", is_writer=True):
        pass
    slow = ["scrapy", "twisted", "sklearn", "scipy", "numpy", "lxml", "tldextract"]
    code = (
        "import sys, atexit; from contentspider.cli import main; atexit.register(lambda:"
        f" print('loaded:', [name for name in {slow!r} if name in sys.modules]));"
        f" sys.exit(main({arguments.split()!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.endswith("loaded: []\n")


def test_only_shell_packages_import_scrapy() -> None:
    # (itemadapter, which the book uses, loads it by itself if it is there.)
    # The command line and the public names know every room.
    package = ROOT / "contentspider"
    for path in package.rglob("*.py"):
        shell = ("crawl", "run", "render", "cli", "__init__.py")
        if path.relative_to(package).parts[0] not in shell:
            assert not re.search(
                r"^\s*(?:from|import) (?:scrapy|twisted|contentspider\.crawl)\b",
                path.read_text(),
                re.MULTILINE,
            ), path
