"""The docs say what the code does."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from contentspider.cli import build_parser
from contentspider.crawl.hold.items import ContentItem
from contentspider.crawl.options import SETTINGS
from tests.conftest import ROOT


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    for setting in SETTINGS:
        assert (
            f"| `{setting.name}` | `{setting.default!r}` | {type(setting.default).__name__} |"
            f" {setting.meaning} |" in text
        )
    used = {
        name
        for path in (ROOT / "contentspider").rglob("*.py")
        for name in re.findall(r"CONTENTSPIDER_[A-Z_]+", path.read_text())
    }
    assert used == {setting.name for setting in SETTINGS}


def test_every_item_field_is_documented() -> None:
    assert re.findall(
        r"^\| `(\w+)`", (ROOT / "docs" / "items.md").read_text(), re.MULTILINE
    ) == list(ContentItem.__dataclass_fields__)


def test_every_stat_is_documented() -> None:
    documented = re.sub(r"\{\w+\}", "", (ROOT / "docs" / "stats.md").read_text())
    source = "".join(path.read_text() for path in (ROOT / "contentspider" / "crawl").glob("*.py"))
    counted = set(re.findall(r'"(contentspider/[\w/]+)', source))
    assert len(counted) > 12
    assert not {name for name in counted if name not in documented}


def test_every_command_is_documented_and_helps(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    for command in (
        "crawl",
        "run",
        "status",
        "replay",
        "report",
        "extract",
        "models",
        "rules",
        "evaluate",
        "experiment",
        "train-prior",
        "index",
        "search",
        "serve",
    ):
        assert f"contentspider {command}" in text
        with pytest.raises(SystemExit) as stopped:
            build_parser().parse_args([command, "--help"])
        assert stopped.value.code == 0
        assert "usage: contentspider" in capsys.readouterr().out


def test_the_package_has_no_site_names_or_machine_paths() -> None:
    for path in (ROOT / "contentspider").rglob("*.py"):
        assert not re.search(r"/(?:work|root|home|tmp)/", path.read_text()), path


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("contentspider", ["scrapy", "sklearn", "pylcs", "numpy"]),
        (
            "contentspider.page.document, contentspider.site.learner, contentspider.extract",
            ["scrapy", "twisted"],
        ),
        ("contentspider.evaluation.tables", ["scrapy", "twisted"]),
    ],
)
def test_the_core_loads_without_the_shell(modules: str, absent: list[str]) -> None:
    code = f"import sys, {modules}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_only_the_shell_imports_scrapy() -> None:
    # (itemadapter, which the ledger uses, loads it by itself if it is there.)
    for path in (ROOT / "contentspider").rglob("*.py"):
        if path.parent.name not in (
            "crawl",
            "contentspider",
            "cli",
        ):  # the command line and the public names know every room
            assert not re.search(
                r"^\s*(?:from|import) (?:scrapy|twisted|contentspider\.crawl)\b",
                path.read_text(),
                re.MULTILINE,
            ), path
