"""Crawls on several machines that share models and histories by way of a store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.state.stores.models import open_models
from contentspider.state.stores.remote import RemoteError
from tests.conftest import Site, read_jsonl, run
from tests.messages import wording
from tests.sites import article

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("fsspec")

COUNT = 12
PATHS = {f"/{number}" for number in range(1, COUNT)}


class Machines:
    """Machines (a folder each) that crawl the same site, and share what is below *url*."""

    def __init__(self, site: Site, folder: Path, url: str) -> None:
        self.site, self.folder, self.url = site, folder, url
        site.pages = {
            path: (200, "text/html; charset=utf-8", article(int(path[1:])).encode())
            for path in PATHS
        }
        links = "".join(f"<a href={path}>Page {path}</a> " for path in sorted(PATHS))
        site.pages["/"] = (200, "text/html; charset=utf-8", article(0, links).encode())

    def crawl(self, machine: str, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        folder = self.folder / machine
        folder.mkdir(exist_ok=True)
        done = run(
            *("crawl", self.site.url, "--own-site", "--no-sitemaps", "-o", "pages.jsonl"),
            *("--models", f"{self.url}/models", "--books", f"{self.url}/histories"),
            *options,
            cwd=folder,
            check=False,
        )
        assert done.returncode == code, done.stderr[-3000:]
        return done

    def changes(self, machine: str) -> dict[str, str]:
        """Return how the pages changed by the items of a machine's last crawl."""
        return {
            str(item["url"]).removeprefix(self.site.url): str(item["change"])
            for item in read_jsonl(self.folder / machine / "pages.jsonl")
        }


@pytest.fixture
def machines(site: Site, tmp_path: Path) -> Machines:
    return Machines(site, tmp_path, f"file://{tmp_path}/store")


def pointer(machines: Machines, kind: str) -> Path:
    """Return the pointer of the models or of the history in a store that is a folder."""
    (found,) = machines.folder.glob(f"store/*/*/{kind}.json")
    return found


def during(machines: Machines, path: str, act: Callable[[], object]) -> None:
    """Do something when a page is asked for."""
    pages = machines.site.pages
    acts = [act]

    def answer(asked: str) -> tuple[int, str, bytes]:
        if asked == path and acts:
            acts.pop()()
        return pages.get(asked, (404, "text/html", b"<p>none</p>"))

    machines.site.answer = answer


def test_second_machine_continues_crawl_of_first(machines: Machines) -> None:
    assert "(1 learned" in machines.crawl("first").stderr
    assert set(machines.changes("first").values()) == {"new"}
    machines.site.pages["/3"] = (200, "text/html", article(300).encode())
    assert "1 loaded" in machines.crawl("second").stderr
    changed = {path: change for path, change in machines.changes("second").items() if path in PATHS}
    assert changed == {**dict.fromkeys(PATHS, "unchanged"), "/3": "changed"}
    # And back again.
    machines.crawl("first")
    assert machines.changes("first")["/3"] == "unchanged"


def test_unavailable_store_is_reported_before_crawling(machines: Machines) -> None:
    (machines.folder / "store").write_text("no folder")
    said = machines.crawl("first", code=1).stderr
    assert "/store/" in said
    assert "cannot be" in said
    assert machines.site.requests == []


def test_second_writer_keeps_its_history_and_reports_conflict(machines: Machines) -> None:
    machines.crawl("first")
    found = pointer(machines, "history")
    told = json.loads(found.read_bytes())
    others = json.dumps({**told, "id": "another", "by": "elsewhere:7"})
    machines.site.pages["/3"] = (200, "text/html", article(300).encode())
    during(machines, "/3", lambda: found.write_text(others))
    said = machines.crawl("first", code=4).stderr
    assert "another writer (elsewhere:7, " in said
    assert "not sent to their store" in said
    assert found.read_text() == others
    # The next run begins with what is in the store: the change is one again.
    said = machines.crawl("first").stderr
    assert "are moved to" in said
    assert machines.changes("first")["/3"] == "changed"
    state = machines.folder / "first/.scrapy/contentspider"
    assert len(list(state.glob("unsent-*/*.sqlite"))) == 1


def test_history_unsent_after_store_failure_is_sent_by_next_run(machines: Machines) -> None:
    machines.crawl("first")
    machines.site.pages["/3"] = (200, "text/html", article(300).encode())
    objects = pointer(machines, "history").with_name("objects")
    aside = objects.with_name("aside")

    def break_store() -> None:
        objects.rename(aside)
        objects.write_text("no folder")

    during(machines, "/3", break_store)
    said = machines.crawl("first", code=4).stderr
    assert wording("crawl.uploaded-by-next-run") in said
    objects.unlink()
    aside.rename(objects)
    machines.crawl("first")
    assert machines.changes("first")["/3"] == "unchanged"
    machines.crawl("second")
    assert machines.changes("second")["/3"] == "unchanged"


def test_overrides_are_read_from_store_beside_model(machines: Machines) -> None:
    machines.crawl("first")
    path = pointer(machines, "model").with_name("overrides.toml")
    path.write_text('keep = ["["]\n')
    assert "overrides.toml" in machines.crawl("second", code=1).stderr
    path.write_text('title = "h1"\n')
    machines.crawl("second")
    path.unlink()
    machines.crawl("second")
    assert not list(machines.folder.glob("second/**/overrides.toml"))


def test_models_command_works_on_store(machines: Machines) -> None:
    machines.crawl("first")
    site = pointer(machines, "model").parent.name

    def models(machine: str, *arguments: str) -> str:
        folder = machines.folder / machine
        folder.mkdir(exist_ok=True)
        return run("models", "--models", f"{machines.url}/models", *arguments, cwd=folder).stdout

    assert models("second", "list") == f"{site}\n"
    models("second", "export", site, "model.zip")
    assert "1" in models("second", "list", site)
    machines.site.pages["/3"] = (200, "text/html", article(300).encode())
    run(
        *("crawl", machines.site.url, "--own-site", "--relearn", "--no-sitemaps"),
        *("--models", f"{machines.url}/models"),
        cwd=machines.folder / "first",
    )
    assert "*    2" in models("second", "list", site)
    models("second", "rollback", site)
    assert "*    3" in models("third", "list", site)


def test_damaged_model_in_store_raises_remote_error(machines: Machines, tmp_path: Path) -> None:
    machines.crawl("first")
    found = pointer(machines, "model")
    for path in found.with_name("objects").iterdir():
        path.write_bytes(path.read_bytes()[:-7])
    said = machines.crawl("second", code=1).stderr
    assert "is damaged: it has" in said
    store = open_models(f"{machines.url}/models", str(tmp_path / "state"))
    with pytest.raises(RemoteError, match="is damaged"):
        store.read(found.parent.name)
