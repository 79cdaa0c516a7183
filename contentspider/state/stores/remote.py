"""A store of objects at an fsspec URL such as ``s3://bucket/models`` (the extra ``remote``)."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from contentspider.ground.errors import ContentSpiderError

logger = logging.getLogger(__name__)

EXTRA = "pip install 'contentspider[remote]'"
# To replace an object takes a moment: a lock that stays for longer is of a dead process.
LOCK_SECS = 30.0
LOOK_SECS = 0.2  # how often a lock of another process is looked at
# Libraries whose DEBUG logs hold signatures and session tokens.
TALKATIVE = ("aiobotocore", "botocore", "s3fs", "gcsfs", "adlfs", "fsspec", "google", "azure")
SECRET_NAMES = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|CONNECTION_STRING", re.IGNORECASE)
# The error codes of S3 for a refused conditional write.
REFUSED = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")


class RemoteError(ContentSpiderError):
    """A store cannot be used. A crawl does not begin, or leaves its results for the next run."""

    code = "store"


class ReplacedError(RemoteError):
    """Another process replaced the object after this process had read it."""

    code = "store-replaced"


def is_url(text: str) -> bool:
    """Tell whether *text* is a URL, not a folder."""
    return "://" in text


def check_url(url: str) -> None:
    """Raise `RemoteError` if a store's URL may hold credentials, because URLs are shown."""
    if re.search(r"[@?#\s]", url):
        raise RemoteError(
            f"the URL of a {url.partition('://')[0]} store has '@', '?', '#' or a space in it: give"
            " only the place (s3://bucket/models), and the credentials in the environment"
        )


def writer() -> str:
    """Return a name for this process: machine and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"


def open_objects(url: str) -> Objects:
    """Return the store at *url* without a request; raises `RemoteError` if no library knows it."""
    check_url(url)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise RemoteError(f"{url} needs fsspec: {EXTRA}") from error
    try:
        # fsspec keeps each file system until the process ends: deleting one in an event loop fails.
        files, root = url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise RemoteError(f"{url} cannot be opened: {error}; for S3: {EXTRA}") from error
    protocols = files.protocol if isinstance(files.protocol, tuple) else (files.protocol,)
    return (S3Objects if "s3" in protocols else Objects)(url, files, root)


class Objects:
    """Objects below *root* of an fsspec file system; lock objects keep two writers apart."""

    def __init__(self, url: str, files: Any, root: str) -> None:
        self.url = url.rstrip("/")
        self._files = files
        self._root = root.rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def check(self) -> None:
        """Raise `RemoteError` unless the store works, and refuses to overwrite a newer version."""
        name = f"check-{uuid.uuid4().hex}"
        self.replace(name, b"first", "")
        try:
            for mark in ("", '"00000000000000000000000000000000"'):
                with suppress(ReplacedError):
                    self.replace(name, b"second", mark)
                    raise RemoteError(
                        f"{self.url}: the store lets a writer replace a version that another one"
                        " has just written (it ignores If-Match and If-None-Match); use another"
                        " store",
                        code="store-overwrites",
                    )
        finally:
            self.delete([name])

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Return an object and the mark of its version, or None."""
        try:
            with self._as_remote_error(f"{name} cannot be read"):
                data = bytes(self._files.cat_file(self._path(name)))
        except FileNotFoundError:
            return None
        return data, sha256(data).hexdigest()

    def mark(self, name: str) -> str:
        """Return the mark of an object's version, "" if there is none."""
        digest = sha256()
        try:
            with (
                self._as_remote_error(f"{name} cannot be read"),
                self._files.open(self._path(name), "rb") as file,
            ):
                while part := file.read(1_000_000):
                    digest.update(part)
        except FileNotFoundError:
            return ""
        return digest.hexdigest()

    def write(self, name: str, data: bytes) -> None:
        """Write an object that no other process writes."""
        with self._as_remote_error(f"{name} cannot be written"):
            self._make_folder(name)
            self._files.pipe_file(self._path(name), data)

    def replace(self, name: str, data: bytes | Path, mark: str) -> str:
        """Replace the version with a *mark* ("": a new object) by *data* or a file with it, and
        return the new mark; raises `ReplacedError` if the object has another version.
        """
        part = f"{name}.{uuid.uuid4().hex}.partial"
        if isinstance(data, Path):
            self.upload(data, part)
        else:
            self.write(part, data)
        try:
            new_mark = self.mark(part)
            with self._locked(f"{name}.lock", name) as until:
                if self.mark(name) != mark or time.monotonic() > until:
                    raise ReplacedError(f"{self.url}/{name} has changed")
                with self._as_remote_error(f"{name} cannot be written"):
                    self._files.mv(self._path(part), self._path(name))
        except RemoteError:
            self.delete([part])
            raise
        return new_mark

    @contextmanager
    def _locked(self, lock: str, name: str) -> Iterator[float]:
        """Hold a lock object, when no other writer does; yield the time until which the lock is
        certainly valid, on the clock of `time.monotonic`. No two clocks are compared: another
        writer has died if its lock was seen unchanged for `LOCK_SECS`.
        """
        text = json.dumps({"by": writer(), "id": uuid.uuid4().hex}).encode()
        until = self._wait(lock, name, text) + LOCK_SECS / 2
        try:
            yield until
        finally:
            current = self.read(lock)
            if current and current[0] == text:  # no other process has taken the lock
                self.delete([lock])

    def _wait(self, lock: str, name: str, text: bytes) -> float:
        """Create a lock object as soon as there is none; return the time before it was created.
        Raises `RemoteError` if writers hold it one after the other for long.
        """
        began = since = time.monotonic()
        seen = b""
        while True:
            now = time.monotonic()
            try:
                self._create(lock, text)
                return now
            except ReplacedError:
                current = (self.read(lock) or (b"", ""))[0]
            if current != seen:
                seen, since = current, now
            elif now - since > LOCK_SECS:
                logger.warning(
                    "%s/%s: the lock of %s is deleted: it has not changed for %.0f s",
                    *(self.url, name, _holder_of(current), LOCK_SECS),
                )
                self.delete([lock])
                since = now
                continue
            if now - began > 2 * LOCK_SECS:
                raise RemoteError(
                    f"{self.url}/{name} is being replaced by other writers ({_holder_of(current)})",
                    code="store-locked",
                )
            time.sleep(LOOK_SECS)

    def _create(self, name: str, data: bytes) -> None:
        """Create an object; raises `ReplacedError` if it exists."""
        try:
            with self._as_remote_error(f"{name} cannot be written"):
                self._make_folder(name)
                if "file" in self._files.protocol:
                    with self._files.open(self._path(name), "xb") as file:
                        file.write(data)
                else:
                    self._files.pipe_file(self._path(name), data, mode="create")
        except FileExistsError as error:
            raise ReplacedError(f"{self.url}/{name} exists already") from error

    def upload(self, source: Path, name: str) -> None:
        """Copy a file to a new object."""
        with self._as_remote_error(f"{name} cannot be written"):
            self._make_folder(name)
            self._files.put_file(str(source), self._path(name))

    def download(self, name: str, target: Path) -> None:
        """Copy an object to a file; raises FileNotFoundError if the object does not exist."""
        with self._as_remote_error(f"{name} cannot be read"):
            self._files.get_file(self._path(name), str(target))

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; missing ones and failures are ignored."""
        for name in names:
            with suppress(FileNotFoundError, RemoteError), self._as_remote_error(name):
                self._files.rm_file(self._path(name))

    def delete_below(self, folder: str) -> int:
        """Delete all objects below a folder, and return their number; raises `RemoteError`."""
        with self._as_remote_error(f"{folder} cannot be deleted"):
            found = self._files.find(self._path(folder), detail=True)
            if found:
                self._files.rm(self._path(folder), recursive=True)
        # Some S3 servers list an empty folder as an object.
        return sum(entry["type"] == "file" for entry in found.values())

    def names(self, folder: str) -> set[str]:
        """Return the names of the objects in a folder."""
        with self._as_remote_error(f"{folder} cannot be listed"):
            paths = self._files.glob(f"{self._root}/{folder}/*")
        return {f"{folder}/{str(path).rpartition('/')[2]}" for path in paths}

    def folders_with(self, name: str) -> list[str]:
        """Return the folders that have an object with this *name*."""
        with self._as_remote_error("it cannot be listed"):
            paths = self._files.glob(f"{self._root}/*/{name}")
        return sorted(str(path).split("/")[-2] for path in paths)

    def _make_folder(self, name: str) -> None:
        self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)

    @contextmanager
    def _as_remote_error(self, what: str) -> Iterator[None]:
        """Raise errors of libraries as `RemoteError`, without secrets."""
        try:
            yield
        except (FileNotFoundError, FileExistsError, ContentSpiderError):
            raise
        except Exception as error:  # noqa: BLE001 - each library has its own
            message = f"{type(error).__name__}: {error}"
            raise RemoteError(f"{self.url}: {what} ({without_secrets(message)})") from None


class S3Objects(Objects):
    """The objects of an S3 server, which checks versions itself (If-Match)."""

    def _call(self, method: str, name: str, **arguments: Any) -> Any:
        bucket, key, _ = self._files.split_path(self._path(name))
        return self._files.call_s3(method, Bucket=bucket, Key=key, **arguments)

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Return an object and its ETag, or None."""
        from fsspec.asyn import sync

        try:
            with self._as_remote_error(f"{name} cannot be read"):
                answer = self._call("get_object", name)
                return sync(self._files.loop, answer["Body"].read), str(answer["ETag"])
        except FileNotFoundError:
            return None

    def mark(self, name: str) -> str:
        """Return an object's ETag, "" if the object is missing."""
        try:
            with self._as_remote_error(f"{name} cannot be read"):
                return str(self._call("head_object", name)["ETag"])
        except FileNotFoundError:
            return ""

    def replace(self, name: str, data: bytes | Path, mark: str) -> str:
        """Replace the version with an ETag ("": create the object) and return the new ETag."""
        condition = {"IfMatch": mark} if mark else {"IfNoneMatch": "*"}
        with self._as_remote_error(f"{name} cannot be written"), ExitStack() as opened:
            body = opened.enter_context(data.open("rb")) if isinstance(data, Path) else data
            try:
                return str(self._call("put_object", name, Body=body, **condition)["ETag"])
            except FileNotFoundError as error:
                # If an earlier version was read (*mark*), the object has been deleted since.
                # Otherwise the bucket does not exist.
                if mark:
                    raise ReplacedError(f"{self.url}/{name} was deleted meanwhile") from error
                raise OSError("there is no such bucket") from error
            except OSError as error:
                answer = getattr(error.__cause__, "response", None) or {}
                if answer.get("Error", {}).get("Code") in REFUSED:
                    raise ReplacedError(f"{self.url}/{name} has changed") from None
                raise

    def _make_folder(self, name: str) -> None:
        pass  # folders do not exist in S3, and makedirs would make a bucket


def _holder_of(lock: bytes) -> str:
    """Return who holds a lock, if it says so."""
    try:
        return str(json.loads(lock)["by"])
    except (ValueError, KeyError, TypeError):
        return "an unknown writer"


def without_secrets(text: str) -> str:
    """Return a text without the values of environment variables whose names suggest secrets."""
    for name, value in os.environ.items():
        if len(value) >= 4 and SECRET_NAMES.search(name):
            text = text.replace(value, "***")
    return " ".join(text.split())
