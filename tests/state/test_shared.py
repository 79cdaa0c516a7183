"""Files that machines share by way of a store, on fsspec's file system in memory and on a disk."""

from __future__ import annotations

import json
import re
import sys
import uuid
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from contentspider.state.book.book import Book
from contentspider.state.book.copying import has_unfinished_run
from contentspider.state.outcome import FINISHED, SHUTDOWN
from contentspider.state.stores.remote import (
    Objects,
    RemoteError,
    ReplacedError,
    open_objects,
    without_secrets,
    writer,
)
from contentspider.state.stores.shared import ATTEMPTS, Note, SharedBook, SharedFiles
from tests.messages import raises

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("fsspec")

PATTERNS = ("parts/[0-9]*/*.json", "whole.json")


@pytest.fixture(params=["memory", "file"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    where = uuid.uuid4().hex if request.param == "memory" else f"{tmp_path}/store"
    return open_objects(f"{request.param}://{where}")


class Machine:
    """A machine's copy of the shared files."""

    def __init__(self, objects: Objects, folder: Path) -> None:
        self.folder = folder
        self.shared = SharedFiles(objects, "site/whole.json", folder, PATTERNS, "-log")

    def write(self, **files: str) -> None:
        self.shared.begin_change()
        for name, text in files.items():
            path = self.folder / "whole.json"
            if name != "whole":
                path = self.folder / f"parts/{name[1:]}/part.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def texts(self) -> dict[str, str]:
        return {name: path.read_text() for name, path in self.shared.files().items()}

    def push(self) -> bool:
        return self.shared.push(self.shared.files())


@pytest.fixture
def first(objects: Objects, tmp_path: Path) -> Machine:
    machine = Machine(objects, tmp_path / "first")
    machine.shared.pull()
    machine.write(_1="one", whole="first")
    assert machine.push()
    return machine


@pytest.fixture
def second(objects: Objects, tmp_path: Path, first: Machine) -> Machine:
    machine = Machine(objects, tmp_path / "second")
    machine.shared.pull()
    return machine


def objects_in(objects: Objects) -> list[str]:
    return sorted(objects._files.find(objects._root))


def test_second_machine_receives_same_files(second: Machine) -> None:
    assert second.texts() == {"parts/1/part.json": "one", "whole.json": "first"}
    assert not second.push()  # there is nothing new in them
    assert Note("u") == Note("u", "", {}, False), "what nobody has noted"


def test_outdated_files_are_removed_from_store_and_machines(
    first: Machine, second: Machine, objects: Objects
) -> None:
    second.write(_2="two", whole="second")
    (second.folder / "parts/1/part.json").unlink()
    second.push()
    (first.folder / "whole.json-log").write_text("of the old one")
    first.shared.pull()
    assert first.texts() == {"parts/2/part.json": "two", "whole.json": "second"}
    assert not (first.folder / "parts/1").exists()
    assert not (first.folder / "whole.json-log").exists()
    assert len(objects_in(objects)) == 3  # the pointer, and two objects


def test_only_changed_files_are_uploaded(
    second: Machine, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded = []
    upload = objects.upload
    monkeypatch.setattr(
        objects, "upload", lambda path, name: (uploaded.append(path.name), upload(path, name))
    )
    second.write(whole="second")
    second.push()
    assert uploaded == ["whole.json"]


def test_second_concurrent_writer_is_rejected_and_its_files_are_moved_aside(
    first: Machine,
    second: Machine,
    objects: Objects,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first.write(_2="of the first", whole="first, again")
    second.write(_2="of the second", whole="second")
    first.push()
    before = objects_in(objects)
    (second.folder / "whole.json-log").write_text("its log")
    said = rf"another writer \({writer()}, 20\S+\) was faster; .* stay in {second.folder}"
    with pytest.raises(ReplacedError, match=said):
        second.push()
    assert objects_in(objects) == before
    assert second.texts()["whole.json"] == "second"
    second.shared.pull()
    assert second.texts() == first.texts()
    (aside,) = second.folder.glob("unsent-*")
    assert (aside / "whole.json").read_text() == "second"
    assert (aside / "parts/2/part.json").read_text() == "of the second"
    assert (aside / "whole.json-log").read_text() == "its log"
    assert re.fullmatch(r"unsent-20\d{6}T\d{12}", aside.name)
    assert str(aside) in caplog.text
    # From then on it is a machine like any other.
    second.write(whole="third")
    assert second.push()


def test_files_unsent_after_store_failure_are_sent_by_next_run(
    second: Machine, objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RemoteError("down")

    second.write(whole="second")
    with monkeypatch.context() as patch:
        patch.setattr(objects, "upload", fail)
        with pytest.raises(RemoteError, match="down"):
            second.push()
    second.shared.pull()
    assert second.texts()["whole.json"] == "second"
    assert second.push()
    third = Machine(objects, tmp_path / "third")
    third.shared.pull()
    assert third.texts()["whole.json"] == "second"


def test_lost_response_is_not_mistaken_for_other_writer(
    second: Machine, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = objects.replace

    def repeated(name: str, data: bytes, mark: str) -> str:
        replace(name, data, mark)
        return replace(name, data, mark)  # what a library does that got no answer

    monkeypatch.setattr(objects, "replace", repeated)
    second.write(whole="second")
    assert second.push()


def test_damaged_object_is_detected_and_not_installed(
    second: Machine, objects: Objects, tmp_path: Path
) -> None:
    pointer = json.loads(objects.read("site/whole.json")[0])
    entry = pointer["files"]["whole.json"]
    objects._files.pipe_file(objects._path(f"site/{entry['object']}"), b"fir")
    third = Machine(objects, tmp_path / "third")
    with pytest.raises(RemoteError, match=r"is damaged: it has 3 bytes of 5"):
        third.shared.pull()
    assert third.texts() == {}
    assert second.texts()["whole.json"] == "first"


@pytest.mark.parametrize(
    "files",
    [
        {"../whole.json": {"object": "objects/a", "sha256": "", "size": 0}},
        {"parts/1/../../../x.json": {"object": "objects/a", "sha256": "", "size": 0}},
        {"whole.json": {"object": "../../other", "sha256": "", "size": 0}},
        {"whole.json": {}},
        [],
    ],
)
def test_pointer_cannot_name_paths_outside_store(
    files: object, objects: Objects, first: Machine, tmp_path: Path
) -> None:
    data = json.dumps({"schema": 1, "id": "x", "files": files}).encode()
    objects.replace("site/whole.json", data, objects.read("site/whole.json")[1])
    with pytest.raises(RemoteError, match=r"whole\.json cannot be read"):
        Machine(objects, tmp_path / "third").shared.pull()


def test_objects_deleted_during_download_are_looked_up_again(
    first: Machine, second: Machine, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    first.write(whole="again")
    first.push()
    download = objects.download
    names = []

    def late(name: str, target: Path) -> None:
        if not names:
            first.write(whole="and again")
            first.push()
        names.append(name)
        download(name, target)

    monkeypatch.setattr(objects, "download", late)
    (second.folder / "parts/1/part.json").unlink()
    second.shared.pull()
    assert second.texts() == first.texts()


def test_existing_local_files_are_sent_or_set_aside(
    objects: Objects, first: Machine, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "whole.json").write_text("of before")
    Machine(objects, old).shared.pull()
    assert (old / "whole.json").read_text() == "first"
    (aside,) = old.glob("unsent-*")
    assert (aside / "whole.json").read_text() == "of before"
    objects.delete(["site/whole.json"])  # to begin anew: what a machine has comes back
    first.shared.pull()
    assert first.push()


def test_store_check_detects_unconditional_writes(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects.check()
    assert objects_in(objects) == []
    monkeypatch.setattr(objects, "replace", lambda *_: "")
    with pytest.raises(RemoteError, match="lets a writer replace"):
        objects.check()


@pytest.mark.parametrize(
    "url", ["s3://KEYID:hidden@bucket/models", "s3://bucket?secret=hidden", "s3://b#hidden"]
)
def test_credentials_in_store_url_are_rejected(url: str) -> None:
    with pytest.raises(RemoteError, match="credentials in the environment") as error:
        open_objects(url)
    assert "hidden" not in str(error.value)


def test_unknown_store_protocol_raises_remote_error() -> None:
    with pytest.raises(RemoteError, match="ftq://x cannot be opened: Protocol not known"):
        open_objects("ftq://x")


def test_store_errors_contain_no_secrets(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("denied to HIDDEN123")

    monkeypatch.setenv("AWS_SESSION_TOKEN", "HIDDEN123")
    monkeypatch.setattr(objects._files, "cat_file", fail)
    with pytest.raises(RemoteError, match=r"\(ValueError: denied to \*\*\*\)") as error:
        objects.read("x")
    assert error.value.__cause__ is None
    assert without_secrets("it is\nHIDDEN123") == "it is ***"


def test_missing_fsspec_error_names_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(RemoteError, match=r"pip install 'contentspider\[remote\]'"):
        open_objects("memory://x")


def test_pointer_records_writer_time_and_files(first: Machine, objects: Objects) -> None:
    data, _ = objects.read("site/whole.json") or (b"", "")
    record = json.loads(data)
    assert data.startswith(b'{\n "schema": 1,\n "id": "'), "for people, too"
    assert (record["by"], len(record["id"]), record["at"][:2]) == (writer(), 32, "20")
    assert list(record["files"]) == ["parts/1/part.json", "whole.json"]
    entry = record["files"]["whole.json"]
    assert (entry["size"], entry["sha256"]) == (5, sha256(b"first").hexdigest())
    assert re.fullmatch(r"objects/[0-9a-f]{32}\.json", entry["object"])
    assert (objects.read(f"site/{entry['object']}") or [b""])[0] == b"first"
    assert first.shared.name == f"{objects.url}/site/whole.json"
    assert not first.shared.is_unsent
    first.write(whole="first")
    assert first.shared.is_unsent and first.push()
    again = json.loads((objects.read("site/whole.json") or [b""])[0])
    assert again["files"] == record["files"] and again["id"] != record["id"]


def test_files_already_present_are_not_downloaded(
    first: Machine, second: Machine, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded = []
    monkeypatch.setattr(objects, "download", lambda name, _: downloaded.append(name))
    second.shared.pull()
    second.write(whole="newer")
    second.shared.pull()
    assert (downloaded, second.texts()["whole.json"]) == ([], "newer")
    first.write(whole="newest")
    first.push()
    with pytest.raises(FileNotFoundError):
        second.shared.pull()
    assert len(downloaded) == 1


def test_missing_objects_are_looked_up_a_limited_number_of_times(
    first: Machine, objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    read = objects.read
    monkeypatch.setattr(objects, "read", lambda name: (asked.append(name), read(name))[1])
    objects.delete([name for name in objects_in(objects) if "/objects/" in name])
    for entry in json.loads((read("site/whole.json") or [b""])[0])["files"].values():
        objects.delete([f"site/{entry['object']}"])
    third = Machine(objects, tmp_path / "third")
    with raises(RemoteError, "store-incomplete", f"{objects.url}/site/whole.json"):
        third.shared.pull()
    assert asked == ["site/whole.json"] * ATTEMPTS
    assert list(third.folder.iterdir()) == []


def test_files_of_other_store_count_as_unsent(first: Machine, tmp_path: Path) -> None:
    other = open_objects(f"file://{tmp_path}/other")
    for moved in (Machine(other, first.folder), Machine(other, tmp_path / "empty")):
        has_files = bool(moved.texts())
        assert moved.shared.is_unsent == has_files
        moved.shared.pull()
        assert moved.push() == has_files
        assert not moved.shared.is_unsent
    (first.folder / ".whole.json.shared").write_text("{")
    assert Machine(other, first.folder).shared.is_unsent, "nobody knows"


def test_deleted_pointer_makes_push_fail_and_removes_uploads(
    first: Machine, objects: Objects
) -> None:
    first.write(whole="again")
    objects.delete(["site/whole.json"])
    with pytest.raises(ReplacedError, match=r"another writer \(unknown\) was faster"):
        first.push()
    assert len(objects_in(objects)) == 2, "what was uploaded for nothing is gone"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"schema": 2, "files": {}}, "its schema is 2, and must be 1"),
        ({"files": {}}, "'schema'"),
        (
            {"schema": 1, "files": {"a.json": {"object": "objects/a", "sha256": "", "size": 0}}},
            "it names 'a.json'",
        ),
        (
            {"schema": 1, "files": {"whole.json": {"object": "o/a", "sha256": "", "size": 0}}},
            "it names 'whole.json'",
        ),
        ([], "list indices"),
    ],
)
def test_unreadable_pointer_raises_remote_error(
    record: object, said: str, objects: Objects, tmp_path: Path
) -> None:
    objects.replace("site/whole.json", json.dumps(record).encode(), "")
    with pytest.raises(RemoteError, match=f"/site/whole.json cannot be read: {said}"):
        Machine(objects, tmp_path / "third").shared.pull()


def test_unfinished_crawl_is_moved_aside_if_another_machine_has_finished_one(
    objects: Objects, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = [tmp_path / name / "e.org.sqlite" for name in ("first", "second")]
    first, second = (SharedBook(objects, path) for path in paths)

    def crawl(path: Path, shared: SharedBook, reason: str) -> None:
        with closing(Book(path)) as book:
            book.begin_crawl()
            book.begin_run()
            if reason == FINISHED:
                shared.begin_change()
                book.publish(is_complete=True)
            book.end_run(reason)

    crawl(paths[0], first, FINISHED)
    first.push()
    second.pull()
    crawl(paths[1], second, SHUTDOWN)
    second.pull()
    assert not list(paths[1].parent.glob("unsent-*")), "nobody has crawled since"
    crawl(paths[0], first, FINISHED)
    first.push()
    second.pull()
    (aside,) = paths[1].parent.glob("unsent-*/e.org.sqlite")
    assert has_unfinished_run(aside)
    assert not has_unfinished_run(paths[1])
    assert "are moved to" in caplog.text
