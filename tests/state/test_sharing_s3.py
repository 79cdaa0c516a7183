"""Models and histories in a bucket of a real S3 server on loopback."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from contentspider.state.stores.remote import RemoteError, ReplacedError, open_objects
from contentspider.state.stores.shared import SharedFiles
from tests.seaweed import BUCKET, KEY, SECRET, s3_server
from tests.whole.test_sharing import Machines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Site

pytest.importorskip("s3fs")

WRITERS = 6


# Of the session: s3fs keeps its connections by arguments, whatever the environment says by then.
@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with s3_server(tmp_path_factory.mktemp("s3")) as environment:
        yield environment


@pytest.fixture
def bucket(server: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Return a place in the bucket that is the test's own."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.name}"


@pytest.mark.thorough
def test_only_one_of_concurrent_s3_writers_succeeds(bucket: str) -> None:
    stores = [open_objects(bucket) for _ in range(WRITERS)]
    mark = ""
    for turn in range(3):

        def put(number: int, mark: str = mark, turn: int = turn) -> str:
            try:
                return stores[number].replace("site/model.json", b"%d %d" % (turn, number), mark)
            except ReplacedError:
                return ""

        with ThreadPoolExecutor(WRITERS) as pool:
            marks = list(pool.map(put, range(WRITERS)))
        (mark,) = filter(None, marks)
        found = stores[0].read("site/model.json")
        assert found == (b"%d %d" % (turn, marks.index(mark)), mark)


def test_s3_files_are_transferred_completely(bucket: str, tmp_path: Path) -> None:
    objects = open_objects(bucket)
    objects.check()
    shared = [
        SharedFiles(objects, "site/model.json", tmp_path / name, ("whole.json",)) for name in "ab"
    ]
    for one in shared:
        one.pull()
    texts = ["x" * 100_000, "other"]
    for one, text in zip(shared, texts, strict=True):
        one.begin_change()
        (one.folder / "whole.json").write_text(text)
    shared[0].push(shared[0].files())
    with pytest.raises(ReplacedError, match="another writer"):
        shared[1].push(shared[1].files())
    shared[1].pull()
    assert (shared[1].folder / "whole.json").read_text() == texts[0]
    assert objects.folders_with("model.json") == ["site"]
    # What is half there is found by its hash.
    entry = json.loads(objects.read("site/model.json")[0])["files"]["whole.json"]
    objects._files.pipe_file(objects._path(f"site/{entry['object']}"), b"x" * 50_000)
    (shared[0].folder / "whole.json").unlink()
    with pytest.raises(RemoteError, match=r"is damaged: it has 50,000 bytes of 100,000"):
        shared[0].pull()


def test_two_machines_share_s3_bucket_without_leaving_secrets(
    bucket: str, site: Site, tmp_path: Path
) -> None:
    machines = Machines(site, tmp_path / "machines", bucket)
    machines.folder.mkdir()
    machines.crawl("first", "--log-level=DEBUG")
    said = machines.crawl("second", "--log-level=DEBUG").stderr
    assert "1 loaded" in said
    assert set(machines.changes("second").values()) == {"unchanged"}
    left = [path.read_bytes() for path in machines.folder.rglob("*") if path.is_file()]
    for secret in (KEY, SECRET):
        assert secret not in said
        assert not any(secret.encode() in data for data in left)


@pytest.mark.thorough
def test_s3_server_errors_are_reported_without_secrets(
    bucket: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines = Machines(site, tmp_path, bucket)
    with pytest.raises(RemoteError, match="cannot be"):
        open_objects("s3://no-such-bucket/x").check()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-and-hidden")
    said = machines.crawl("first", code=1).stderr
    assert "cannot be" in said
    assert "hidden" not in said
    assert KEY not in said
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "127.0.0.1:9" in machines.crawl("first", code=1).stderr
    assert site.requests == []
