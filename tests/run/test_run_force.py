"""``contentspider run`` of a site that has lost most of its pages."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.run.results import read_result
from contentspider.state.outcome import Outcome
from tests.conftest import Site, run
from tests.run.test_run import sites_file
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 12


def status(folder: Path) -> Any:
    """Return how the only site is."""
    (told,) = json.loads(run("status", "--json", cwd=folder).stdout)
    return told


@pytest.mark.parametrize(
    ("options", "setting", "gone"),
    [
        ((), "", 0),
        pytest.param(("--force",), "", COUNT - 1, marks=pytest.mark.thorough),
        pytest.param((), "CONTENTSPIDER_FORCE = true", COUNT - 1, marks=pytest.mark.thorough),
    ],
)
def test_mass_loss_of_pages_is_accepted_only_with_force(
    tmp_path: Path, site: Site, options: tuple[str, ...], setting: str, gone: int
) -> None:
    links = "".join(f"<a href=/{number}>x</a>" for number in range(1, COUNT))
    site.add("/", article(0, links))
    for number in range(1, COUNT):
        site.add(f"/{number}", article(number))
    file = sites_file(tmp_path, good=site.url)
    file.write_text(file.read_text() + f"[site.good.settings]\n{setting}\n")
    file.write_text(file.read_text().replace("[site.good]", "[site.good]\nindex = 'sqlite:all.db'"))
    # The reason of the second address stays, after the doubt is gone.
    file.write_text(file.read_text().replace(site.url, f"{site.url}', '{site.url}/missing"))
    run("run", "sites.toml", cwd=tmp_path)
    for number in range(1, COUNT):
        del site.pages[f"/{number}"]
    done = run("run", "sites.toml", *options, cwd=tmp_path, check=False)
    assert done.returncode == (Outcome.COMPLETE if gone else Outcome.GONE_DOUBTED), done.stderr

    def gone_now(*options: str) -> int:
        lines = run("changes", "good", *options, cwd=tmp_path).stdout.splitlines()
        return sum(json.loads(line)["change"] == "gone" for line in lines)

    assert gone_now() == gone
    before = status(tmp_path)
    assert gone_now("--accept-gone") == COUNT - 1
    after = status(tmp_path)
    if not gone:
        assert (before["outcome"], after["outcome"]) == ("gone_doubted", "complete")
        assert (len(before["reasons"]), after["reasons"]) == (2, before["reasons"][:1])
        result = read_result(tmp_path / ".scrapy/contentspider/logs/good.result.json")
        assert result is not None and result.exit_code == Outcome.COMPLETE
        assert (before["pages"], after["pages"], after["changes"]["gone"]) == (COUNT, 1, COUNT - 1)
    kept = ("f1", "doubtful", "due")
    assert [after[name] for name in kept] == [before[name] for name in kept]
    assert after["f1"] is not None
    assert "--accept-gone" not in run("status", "good", cwd=tmp_path).stdout
    run("run", "sites.toml", cwd=tmp_path)
    with closing(sqlite3.connect(tmp_path / "all.db")) as index:
        assert index.execute("SELECT count(*) FROM documents").fetchone() == (1,)
    log = (tmp_path / ".scrapy/contentspider/logs/good.previous.log").read_text()
    assert ("would be gone" in log) is not bool(gone)
