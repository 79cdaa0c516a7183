"""``contentspider run`` of sites whose pages have moved away from people's corrections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contentspider.ground.sites import SiteKeys
from tests.conftest import Site, run, serve
from tests.run.test_run import sites_file, told
from tests.sites import article, small_site

COUNT = 6
EVERYWHERE = 'drop = ["nav"]\n'


def correct(folder: Path, site: Site, text: str) -> Path:
    """Write corrections of a site."""
    file = folder / "models" / SiteKeys().key(site.url) / "overrides.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def night(folder: Path) -> tuple[str, list[str]]:
    """Run the crawls; return the outcome of the site *tea*, and its warnings."""
    run("run", "sites.toml", "--summary", "s.json", cwd=folder)
    found = told(folder / "s.json")[1]["tea"]
    return found["outcome"], found["warnings"]


@pytest.mark.parametrize("has_new_file", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_corrections_of_a_site_that_moved_to_another_port_are_told(
    has_new_file: bool, tmp_path: Path
) -> None:
    with serve() as old, serve() as new:
        for site in (old, new):
            small_site(site, COUNT)
        sites_file(tmp_path, tea=old.url)
        file = correct(tmp_path, old, f'{EVERYWHERE}[[rule]]\npattern = "{old.url}/*"\n')
        assert night(tmp_path) == ("complete", [])
        sites_file(tmp_path, tea=new.url)
        if has_new_file:  # a person has thought of it
            correct(tmp_path, new, EVERYWHERE)
            assert night(tmp_path) == ("complete", [])
            return
        outcome, (warning,) = night(tmp_path)
        assert night(tmp_path) == (outcome, [warning]), "it is told until a person has mended it"
        (status,) = json.loads(run("status", "--json", cwd=tmp_path).stdout)
        assert status["warnings"] == [warning]
        target = correct(tmp_path, new, EVERYWHERE)
        places = (str(path.relative_to(tmp_path)) for path in (file, target))
        assert outcome == "complete" and all(place in warning for place in places)
        assert night(tmp_path) == ("complete", [])


def test_patterns_whose_pages_have_all_moved_are_told(tmp_path: Path, site: Site) -> None:
    sites_file(tmp_path, tea=site.url)
    folders = {n: "old" if n < COUNT else "both" for n in range(2 * COUNT)}

    def publish() -> None:
        links = "".join(f"<a href=/{folder}/{n}>{n}</a> " for n, folder in folders.items())
        site.add("/", article(99, links))
        for n, folder in folders.items():
            site.add(f"/{folder}/{n}", article(n))

    publish()
    rules = "".join(f'[[rule]]\npattern = "/{name}/*"\ntitle = "h1"\n' for name in ("old", "both"))
    correct(tmp_path, site, EVERYWHERE + rules)
    assert night(tmp_path) == ("complete", [])
    for n in range(COUNT + 1):  # one of them leaves pages behind
        before, folders[n] = folders[n], "new"
        refresh = f'<meta http-equiv="refresh" content="0; url=/new/{n}">'
        site.add(f"/{before}/{n}", f"<title>Moved</title>{refresh}")
        moved = site.pages[f"/{before}/{n}"]
        publish()
        site.pages[f"/{before}/{n}"] = moved
    outcome, (warning,) = night(tmp_path)
    assert outcome == "complete"
    assert "'/old/*'" in warning and "'/both/*'" not in warning
