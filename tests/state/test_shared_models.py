"""Histories and models that machines share by way of a store."""

from __future__ import annotations

import uuid
from hashlib import sha256
from pathlib import Path

import pytest

from contentspider.state.book.book import Book
from contentspider.state.stores.models import ModelStore, SharedModels, open_models
from contentspider.state.stores.remote import Objects, RemoteError, open_objects
from contentspider.state.stores.shared import SharedBook
from tests.messages import wording
from tests.site.test_generations import learned

pytest.importorskip("fsspec")


@pytest.fixture(params=["memory", "file"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    where = uuid.uuid4().hex if request.param == "memory" else f"{tmp_path}/store"
    return open_objects(f"{request.param}://{where}")


def with_book(folder: Path, text: str) -> Path:
    path = folder / "e.org.sqlite"
    book = Book(path)
    book.sites.distrust([text])
    book.commit()
    book.close()
    return path


def test_book_is_shared_between_machines(objects: Objects, tmp_path: Path) -> None:
    paths = [with_book(tmp_path / "a", "one"), tmp_path / "b" / "e.org.sqlite"]
    first, second = (SharedBook(objects, path) for path in paths)
    first.pull()  # it was never sent
    second.pull()
    book = Book(paths[1], read_only=True)
    assert book.sites.distrusted == {"one"}
    book.close()
    before = objects.read("e.org/history.json")
    first.push()
    assert objects.read("e.org/history.json") == before, "nothing is new"
    first.begin_change()
    with_book(tmp_path / "a", "two")
    first.push()
    paths[1].with_name("e.org.sqlite-wal").write_bytes(b"of the old file")
    second.pull()
    book = Book(paths[1], read_only=True)
    assert book.sites.distrusted == {"one", "two"}
    book.close()
    assert not list(tmp_path.glob("*/.pu*")), "no copy is left"
    second.begin_change()
    paths[1].write_bytes(b"no database" * 100)
    with pytest.raises(RemoteError, match=rf"^{paths[1]} cannot be copied: file is not a database"):
        second.push()
    (tmp_path / "file").touch()
    with pytest.raises(RemoteError, match=r"file/e.org.sqlite cannot be written: .*file'"):
        SharedBook(objects, tmp_path / "file" / "e.org.sqlite").pull()


def test_models_and_overrides_are_shared_between_machines(objects: Objects, tmp_path: Path) -> None:
    first, second = (SharedModels(objects, tmp_path / name) for name in "ab")
    assert first.sites() == []
    models = [learned("a"), learned("a", "b")]
    for model in models:
        folder = first.save(model, "import")
    assert folder == tmp_path / "a" / "e.org"
    assert second.objects.read("e.org/model.json") is None
    assert first.send() == []
    assert second.sites() == ["e.org"]
    found = second.load("e.org")
    assert found is not None and found.version == models[1].version
    assert second.rollback("e.org") == 3
    assert second.send() == []
    objects.replace("e.org/overrides.toml", b"keep = ['.tea']", "")
    third = SharedModels(objects, tmp_path / "c")
    assert third.read("e.org").version == models[0].version
    assert third.rollback("e.org", 2) == 4
    assert third.read("e.org").version == models[1].version
    assert third.read("e.org", 1).version == models[0].version
    overrides = third.overrides("e.org")
    assert overrides is not None
    assert (third.place("e.org") / "overrides.toml").read_bytes() == b"keep = ['.tea']"
    objects.delete(["e.org/overrides.toml"])
    assert third.overrides("e.org") is not None, "a crawl ends with what it began with"
    assert SharedModels(objects, tmp_path / "c").overrides("e.org") is None


def test_models_unsent_after_store_failure_are_sent_by_next_run(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RemoteError("down")

    for method in ("read", "replace"):
        models = SharedModels(objects, tmp_path / "a")
        with monkeypatch.context() as patch:
            patch.setattr(objects, method, fail)
            models.save(learned(method))
            assert [str(error) for error in models.send()] == ["down"]
    assert SharedModels(objects, tmp_path / "b").load("e.org") is None
    models = SharedModels(objects, tmp_path / "a")
    models.load("e.org")
    assert models.send() == []
    found = SharedModels(objects, tmp_path / "b").load("e.org")
    assert found is not None and found.version == learned("replace").version


def test_models_location_may_be_folder_or_store_url(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here = open_models("a/models", "state")
    assert (type(here), here.folder) == (ModelStore, Path("a/models"))
    there = open_models("memory://a", f"{tmp_path}/file")
    assert isinstance(there, SharedModels)
    assert there.folder == tmp_path / "file/shared" / sha256(b"memory://a").hexdigest()[:12]
    (tmp_path / "file").touch()
    assert there.load("e.org") is None
    assert f"{there.folder}/e.org cannot be written: " in caplog.text
    assert "e.org " + wording("state.own-copy-used") in caplog.text


def test_site_model_is_looked_up_once_and_failure_is_logged(
    objects: Objects,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = []

    def fail(name: str) -> None:
        asked.append(name)
        raise RemoteError("down")

    models = SharedModels(objects, tmp_path / "copy")
    with monkeypatch.context() as patch:
        patch.setattr(objects, "read", fail)
        for _ in range(2):
            with pytest.raises(RemoteError, match="down"):
                models.generations("e.org")
        assert models.load("e.org") is None
    assert asked == ["e.org/model.json"]
    assert "down; e.org " + wording("state.own-copy-used") in caplog.text
    again = SharedModels(objects, tmp_path / "copy")
    assert again.generations("e.org").numbers() == []
    assert again.overrides("e.org") is None
    assert again.send() == []
