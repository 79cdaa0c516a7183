"""The objects of a store, on fsspec's file system in memory and on a disk: who may write them."""

from __future__ import annotations

import json
import logging
import os
import socket
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.state.stores import remote
from contentspider.state.stores.lease import LEASE_SECS
from contentspider.state.stores.remote import (
    LOCK_SECS,
    TALKATIVE,
    Objects,
    RemoteError,
    ReplacedError,
    S3Objects,
    check_url,
    is_url,
    open_objects,
    without_secrets,
    writer,
)
from tests.messages import raises

if TYPE_CHECKING:
    from pathlib import Path

get_loop = pytest.importorskip("fsspec.asyn").get_loop


@pytest.fixture(params=["memory", "file"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    where = uuid.uuid4().hex if request.param == "memory" else f"{tmp_path}/store"
    return open_objects(f"{request.param}://{where}/")


def names(objects: Objects) -> list[str]:
    root = objects._root
    return sorted(name.removeprefix(f"{root}/") for name in objects._files.find(root))


def test_object_store_keeps_its_url_and_names_its_writer(objects: Objects) -> None:
    assert objects.url.partition("://")[2].lstrip("/") == objects._root.lstrip("/")
    assert not objects.url.endswith("/")
    assert type(objects) is Objects
    assert is_url("s3://bucket") and not is_url("models:/s3")
    assert writer() == f"{socket.gethostname()}:{os.getpid()}"


def test_object_is_replaced_only_with_current_version(objects: Objects) -> None:
    assert objects.read("a/x.json") is None
    first = objects.replace("a/x.json", b"first", "")
    assert objects.read("a/x.json") == (b"first", first)
    for mark in ("", "another"):
        with pytest.raises(ReplacedError, match=f"^{objects.url}/a/x.json has changed$"):
            objects.replace("a/x.json", b"second", mark)
    second = objects.replace("a/x.json", b"second", first)
    assert second != first
    assert objects.read("a/x.json") == (b"second", second)
    objects.replace("b/x.json", b"other", "")
    objects.replace("a/y.json", b"other", "")
    assert objects.folders_with("x.json") == ["a", "b"]
    assert names(objects) == ["a/x.json", "a/y.json", "b/x.json"], "no lock and no part is left"
    objects.delete(["none", "a/y.json"])
    assert names(objects) == ["a/x.json", "b/x.json"]


def test_objects_below_a_folder_are_deleted_and_counted(objects: Objects) -> None:
    for name in ("a/b/x", "a/y", "ab/z", "a.log"):
        objects.write(name, b"1")
    assert objects.delete_below("a") == 2
    assert names(objects) == ["a.log", "ab/z"]
    assert objects.delete_below("a.log") == 1, "a single object, too"
    assert objects.delete_below("a") == 0
    assert names(objects) == ["ab/z"]


def test_files_are_uploaded_and_downloaded(objects: Objects, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"data")
    objects.upload(tmp_path / "source", "a/b/c")
    objects.download("a/b/c", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"data"
    with pytest.raises(FileNotFoundError):
        objects.download("none", tmp_path / "target")


@pytest.mark.parametrize(
    ("method", "call", "said"),
    [
        ("cat_file", lambda objects, _: objects.read("a"), "a cannot be read"),
        ("get_file", lambda objects, path: objects.download("a", path), "a cannot be read"),
        ("put_file", lambda objects, path: objects.upload(path, "a"), "a cannot be written"),
        ("makedirs", lambda objects, _: objects.replace("a", b"", ""), "a.* cannot be written"),
        ("mv", lambda objects, _: objects.replace("a", b"", ""), "a cannot be written"),
        ("glob", lambda objects, _: objects.folders_with("a"), "it cannot be listed"),
    ],
)
def test_store_errors_raise_remote_error(
    method: str,
    call: object,
    said: str,
    objects: Objects,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no route\nto it")

    monkeypatch.setattr(objects._files, method, fail)
    expected = rf"^{objects.url}: {said} \(OSError: no route to it\)$"
    with pytest.raises(RemoteError, match=expected):
        call(objects, tmp_path / "x")  # type: ignore[operator]
    monkeypatch.setattr(objects._files, "rm_file", fail)
    objects.delete(["a"])


class Clock:
    """Stands for the clock: time passes when somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1_000.0
        monkeypatch.setattr(remote, "time", self)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def test_delayed_writer_writes_nothing(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, read, mark_of = Clock(monkeypatch), objects.read, objects.mark
    for seconds, is_late in ((LOCK_SECS / 2, False), (LOCK_SECS / 2 + 1, True)):

        def slowly(name: str, seconds: float = seconds) -> str:
            clock.seconds += seconds if name == "x" else 0
            return mark_of(name)

        mark = (read("x") or ("", ""))[1]
        monkeypatch.setattr(objects, "mark", slowly)
        if is_late:
            with pytest.raises(ReplacedError):
                objects.replace("x", b"late", mark)
        else:
            objects.replace("x", b"in time", mark)
        assert read("x") == (b"in time", (read("x") or ("", ""))[1])
    assert names(objects) == ["x"]


def test_writer_waits_for_lock_of_living_writers(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    with objects._locked("x.lock", "x"):
        found = objects.read("x.lock")
        assert found is not None and json.loads(found[0])["by"] == writer()

        def release(seconds: float) -> None:
            clock.seconds += seconds
            objects.delete(["x.lock"])

        monkeypatch.setattr(clock, "sleep", release)
        objects.replace("x", b"later", "")
        objects._create("x.lock", b"another's")
    assert objects.read("x.lock") is not None, "it is another's now"

    def take_turns(seconds: float) -> None:
        clock.seconds += seconds
        objects.delete(["x.lock"])
        objects._create("x.lock", json.dumps({"by": "tea:7", "id": clock.seconds}).encode())

    monkeypatch.setattr(clock, "sleep", take_turns)
    began = clock.seconds
    with raises(RemoteError, "store-locked", "/x ", "(tea:7)"):
        objects.replace("x", b"", "")
    assert clock.seconds > began + LOCK_SECS
    assert names(objects) == ["x", "x.lock"], "no part is left"


@pytest.mark.parametrize("lock", [b'{"by": "tea:7"}', b"", b"{", b"[]", b"\xff"])
def test_lock_of_dead_writer_holds_for_lock_secs(
    lock: bytes, objects: Objects, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(monkeypatch)
    objects._create("x.lock", lock)
    with pytest.raises(ReplacedError, match=r"/x.lock exists already"):
        objects._create("x.lock", lock)
    objects.replace("x", b"data", "")
    assert 1_000 + LOCK_SECS < clock.seconds < 1_001 + LOCK_SECS
    assert names(objects) == ["x"]
    (warning,) = caplog.records
    assert (lock != b'{"by": "tea:7"}') == ("tea:7" not in warning.getMessage())
    assert LOCK_SECS <= LEASE_SECS, "else a dead machine blocks a site for longer than its lease"


def test_store_without_conditional_writes_is_rejected(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = objects.replace
    for is_lax in (lambda mark: not mark, bool):

        def lax(name: str, data: bytes, mark: str, is_lax: object = is_lax) -> str:
            found = objects.read(name)
            if found and is_lax(mark):  # type: ignore[operator]
                mark = found[1]
            return replace(name, data, mark)

        monkeypatch.setattr(objects, "replace", lax)
        with raises(RemoteError, "store-overwrites", objects.url):
            objects.check()
        assert names(objects) == []


class RefusedError(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code}}


class Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    async def read(self) -> bytes:
        return self._data


class Bucket:
    """What s3fs does for a bucket ``b``: it asks a server, which here is a dict."""

    def __init__(self) -> None:
        self.loop = get_loop()
        self.objects: dict[str, bytes] = {}
        self.fails: Exception | None = None

    def split_path(self, path: str) -> tuple[str, str, None]:
        bucket, _, key = path.partition("/")
        return bucket, key, None

    def call_s3(self, method: str, Bucket: str, Key: str, **given: Any) -> dict[str, Any]:  # noqa: N803 - S3's
        if self.fails:
            raise self.fails
        if Bucket != "b":
            raise FileNotFoundError(Bucket)
        found = self.objects.get(Key)
        if method == "get_object":
            if found is None:
                raise FileNotFoundError(Key)
            return {"Body": Body(found), "ETag": self.mark(found)}
        assert method == "put_object"
        data = given.pop("Body")
        if given == {"IfNoneMatch": "*"}:
            code = "PreconditionFailed" if found is not None else ""
        else:
            (mark,) = given.values()
            assert list(given) == ["IfMatch"]
            if found is None:
                raise FileNotFoundError(Key)
            code = "" if mark == self.mark(found) else "412"
        if code:
            raise OSError(22, code) from RefusedError(code)
        self.objects[Key] = data
        return {"ETag": self.mark(data)}

    def mark(self, data: bytes) -> str:
        return f'"{len(data)}"'


def test_s3_store_uses_conditional_requests() -> None:
    bucket = Bucket()
    objects = S3Objects("s3://b/models/", bucket, "b/models/")
    assert objects.read("x") is None
    assert objects.replace("x", b"first", "") == '"5"'
    assert bucket.objects == {"models/x": b"first"}
    assert objects.read("x") == (b"first", '"5"')
    assert objects.replace("x", b"second", '"5"') == '"6"'
    for mark in ("", '"5"'):
        with pytest.raises(ReplacedError, match=r"^s3://b/models/x has changed$"):
            objects.replace("x", b"third", mark)
    with pytest.raises(ReplacedError, match=r"^s3://b/models/y was deleted meanwhile$"):
        objects.replace("y", b"", '"5"')
    assert bucket.objects == {"models/x": b"second"}
    with pytest.raises(RemoteError, match=r"^s3://c: x cannot be written .*no such bucket\)$"):
        S3Objects("s3://c", bucket, "c").replace("x", b"", "")
    bucket.fails = OSError(5, "slow\ndown")
    with pytest.raises(
        RemoteError, match=r"^s3://b/models: x cannot be written \(OSError: .*slow d"
    ):
        objects.replace("x", b"", "")
    with pytest.raises(
        RemoteError, match=r"^s3://b/models: x cannot be read \(OSError: .*slow down"
    ):
        objects.read("x")
    bucket.fails = OSError(5, "no answer")
    bucket.fails.__cause__ = RefusedError("SlowDown")
    with pytest.raises(RemoteError, match="no answer") as error:
        objects.replace("x", b"", "")
    assert not isinstance(error.value, ReplacedError)


@pytest.mark.parametrize("url", ["s3://a@b", "s3://b?c", "s3://b#c", "s3://b c", "s3://b\n"])
def test_store_url_with_credentials_or_query_is_rejected(url: str) -> None:
    with pytest.raises(RemoteError, match="the URL of a s3 store has '@'"):
        check_url(url)


def test_libraries_that_log_secrets_are_silenced() -> None:
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.DEBUG)
    open_objects("memory://x")
    assert {logging.getLogger(name).level for name in TALKATIVE} == {logging.WARNING}


def test_values_of_secret_environment_variables_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MY_TOKEN", "four"), ("my_key", "3rd"), ("PLACE", "where")):
        monkeypatch.setenv(name, value)
    assert without_secrets(" four 3rd\n where ") == "*** 3rd where"
