"""A site that is taken out of the file of sites, and what is left of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from contentspider.state.stores.lease import Lease, renewed
from contentspider.state.stores.remote import open_objects
from tests.conftest import Site, run, serve
from tests.run.test_run import STATE, sites_file
from tests.sites import article, small_site

if TYPE_CHECKING:
    from pathlib import Path


def documents(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "all.db")) as index:
        return {crawl for (crawl,) in index.execute("SELECT crawl FROM documents")}


def test_removed_site_is_shown_apart_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with serve() as first, serve() as second:
        for site in (first, second):
            small_site(site, 4)
        file = sites_file(tmp_path, tea=first.url, old=second.url)
        file.write_text(
            file.read_text().replace("[defaults]", "[defaults]\nindex = 'sqlite:all.db'")
        )
        run("run", "sites.toml", cwd=tmp_path)
        assert f"{first.url}/3" in run("search", "page", "3", cwd=tmp_path).stdout
        assert run("remove", "old", cwd=tmp_path, check=False).returncode == 1, "it is planned"
        assert documents(tmp_path) == {"tea", "old"}
        text = file.read_text()
        file.write_text("site = 5\n")
        seen = json.loads(run("status", "--json", cwd=tmp_path).stdout)
        assert not any(each["is_removed"] for each in seen), "a broken file tells nothing"
        file.write_text(text[: text.index("[site.old]")])
        _, row, line = run("status", cwd=tmp_path).stdout.splitlines()
        assert row.startswith("tea ") and "old" in line and " MB" in row
        tea, old = json.loads(run("status", "--json", cwd=tmp_path).stdout)
        assert (old["site"], old["is_removed"], old["due"]) == ("old", True, None)
        assert not tea["is_removed"] and tea["bytes"] > 10_000

        run("remove", "old", cwd=tmp_path)
        assert documents(tmp_path) == {"tea"}
        assert not list((tmp_path / STATE).rglob("old*"))
        key = second.url.removeprefix("http://").replace(":", "-")
        assert key not in run("models", cwd=tmp_path).stdout
        assert (tmp_path / "old.jsonl").exists(), "outputs stay"
        assert "old" not in run("status", cwd=tmp_path).stdout
        assert run("remove", "old", cwd=tmp_path, check=False).returncode == 1, "nothing is left"


def test_site_whose_index_is_elsewhere_now_is_not_removed(tmp_path: Path, site: Site) -> None:
    site.add("/", article(1))
    run("crawl", site.url, "--own-site", "--index", "sqlite:a.db", cwd=tmp_path)
    name = site.url.removeprefix("http://").replace(":", "-")
    (tmp_path / "a.db").rename(tmp_path / "b.db")
    done = run("remove", name, cwd=tmp_path, check=False)
    assert done.returncode == 1 and "a.db does not exist" in done.stderr
    assert not (tmp_path / "a.db").exists()
    (tmp_path / "b.db").rename(tmp_path / "a.db")
    assert "1 document of sqlite" in run("remove", name, cwd=tmp_path).stderr


def test_model_that_another_crawl_uses_is_not_removed(tmp_path: Path, site: Site) -> None:
    small_site(site, 4)
    for name, path in (("all", "/"), ("part", "/3")):
        run("crawl", site.url + path, "--own-site", "--name", name, cwd=tmp_path)
    for name, left in (("all", 1), ("part", 0)):
        run("remove", name, cwd=tmp_path)
        assert len(list((tmp_path / "models").iterdir())) == left


def test_removed_site_leaves_nothing_in_a_store_of_states(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    store = tmp_path / "store"
    state = ("--state", store.as_uri())
    with serve() as first, serve() as second:
        for site in (first, second):
            small_site(site, 4)
        # Both entries of the second site use its model.
        urls = {"tea": first.url, "old": second.url, "part": second.url + "/3"}
        file = sites_file(tmp_path, **urls)
        text = file.read_text().replace("[defaults]", "[defaults]\nindex = 'sqlite:all.db'")
        file.write_text(text)
        run("run", "sites.toml", "--only", "tea,old", *state, cwd=tmp_path)
        run("run", "sites.toml", "--only", "part", *state, cwd=tmp_path)
        assert run("remove", "old", *state, cwd=tmp_path, check=False).returncode == 1
        assert documents(tmp_path) == {"tea", "old"}
        run("pull", "old", *state, cwd=tmp_path)
        file.write_text("[site.tea]" + text.partition("[site.tea]")[2].partition("[site.old]")[0])
        objects = open_objects(store.as_uri())
        lease = Lease(objects, "sites/old/lease.json")
        assert lease.is_free()
        lease.take()
        with renewed([lease], dict, lambda _: None, lambda _: None):
            busy = run("remove", "old", *state, cwd=tmp_path, check=False)
        assert busy.returncode == 1 and (store / "sites/old/objects").exists()
        lease.release()

        before = {path for path in store.rglob("*") if path.is_file()}
        done = run("remove", "old", *state, cwd=tmp_path)
        left = {path for path in store.rglob("*") if path.is_file()}
        gone = len(before - left)
        assert gone > 3 and f"{gone} files of {store.as_uri()}" in done.stderr
        assert {path.name for path in store.rglob("old*")} == {"old.jsonl"}, "outputs stay"
        assert not list((tmp_path / STATE).rglob("*old*")), "nor is what was pulled here"
        assert documents(tmp_path) == {"tea"}
        models = sorted(path.name for path in (store / "models").iterdir())
        assert len(models) == 2, "the other entry still uses it"
        run("remove", "part", *state, cwd=tmp_path)
        assert [path.name for path in (store / "models").iterdir()] == [
            first.url.removeprefix("http://").replace(":", "-")
        ]
        gone_site = run("remove", "old", *state, cwd=tmp_path, check=False)
        assert gone_site.returncode == 1, "nothing is left"
