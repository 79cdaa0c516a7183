"""docs/scheduling.md: what it says is what there is, and its recipes run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import build_parser
from contentspider.cli.crawl import RUN_MEANINGS
from contentspider.run.results import SiteResult
from contentspider.run.sitesfile import KEYS
from tests.conftest import ROOT, TIMEOUT, Site, read_jsonl
from tests.sites import small_site

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (ROOT / "docs" / "scheduling.md").read_text()
FOLDER = "/srv/crawls"


def block(kind: str, section: str) -> str:
    """Return the first block of a kind after a heading or line that begins so."""
    found = re.search(rf"^{section}.*?^```{kind}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert found, (kind, section)
    return found[1]


@pytest.fixture
def folder(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the recipes' folder: with the file of sites, and the command of an environment."""
    small_site(site, 3)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items").mkdir()
    command = tmp_path / "venv" / "bin" / "contentspider"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m contentspider "$@"\n')
    command.chmod(0o755)
    (tmp_path / "sites.toml").write_text(
        f"[site.small]\nurls = '{site.url}'\ninterval = '1d'\noutput = 'items/{{site}}.jsonl'\n"
        "own_site = true\n"
    )
    return tmp_path


def test_site_keys_result_fields_and_exit_codes_are_documented(
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys = TEXT.partition("## Keys of a site")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", keys, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(KEYS)
    told = TEXT.partition("| field |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \|", told, re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    assert sorted(named) == sorted(field.name for field in fields(SiteResult))
    with pytest.raises(SystemExit):
        build_parser().parse_args(["run", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for outcome, meaning in RUN_MEANINGS.items():
        assert f"{outcome.value} {meaning}" in shown
        assert f"| {outcome.value} | {meaning} |" in TEXT


@pytest.mark.thorough
def test_cron_line_in_docs_runs(folder: Path, site: Site) -> None:
    line = block("", "## cron").strip()
    assert re.match(r"(\S+ ){5}cd ", line)
    command = line.split(maxsplit=5)[5].replace(FOLDER, str(folder))
    assert "%" not in command, "to cron that is a line's end"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": "/"}
    for crawled in (True, False):
        site.requests.clear()
        subprocess.run(
            ["/bin/sh", "-c", command], cwd="/", env=environment, timeout=TIMEOUT, check=True
        )
        assert bool(site.requests) is crawled, "it is due once a day"
        assert len(read_jsonl(folder / "items" / "small.jsonl")) == 3
    assert "small: complete" in (folder / "run.log").read_text()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not here")
def test_systemd_units_in_docs_are_valid(folder: Path) -> None:
    paths = []
    for name in ("crawls.service", "crawls.timer"):
        text = block("ini", f"`/etc/systemd/system/{name}`")
        paths.append(folder / name)
        # The user of the docs is not on this machine.
        paths[-1].write_text(text.replace(FOLDER, str(folder)).replace("User=crawls\n", ""))
    command = ["systemd-analyze", "verify", "--man=no", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    said = [line for line in done.stderr.splitlines() if "crawls." in line]
    assert (done.returncode, said) == (0, []), done.stderr


@pytest.mark.thorough
def test_systemd_unit_command_in_docs_runs(folder: Path) -> None:
    service = block("ini", "`/etc/systemd/system/crawls.service`")
    (command,) = re.findall(r"^ExecStart=(.*)", service, re.MULTILINE)
    subprocess.run(
        command.replace(FOLDER, str(folder)).split(), cwd=folder, timeout=TIMEOUT, check=True
    )
    assert len(read_jsonl(folder / "items" / "small.jsonl")) == 3
