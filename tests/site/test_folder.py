"""A model's folder: what a reader finds, whatever happened before."""

from __future__ import annotations

import gzip
import json
import os
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.atomic import write_atomically
from contentspider.ground.errors import StateError
from contentspider.site.models.folder import MANIFEST, Generations, read_model
from tests.messages import wording

if TYPE_CHECKING:
    from pathlib import Path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_model(folder: Path, weights: bytes = b"weights") -> Path:
    """Write a model, and return the folder of its generation."""
    generations = Generations(folder)
    return generations.path(generations.add({}, weights))


def test_file_is_replaced_atomically(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"newer")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def change(name: str, value: object):
    def damage(folder: Path) -> None:
        manifest = json.loads((folder / MANIFEST).read_text())
        (folder / MANIFEST).write_text(json.dumps(manifest | {name: value}))

    return damage


def without_weights(folder: Path) -> None:
    next(folder.glob("weights*")).unlink()


def other_weights(folder: Path) -> None:
    next(folder.glob("weights*")).write_bytes(b"other")


def folder_for_manifest(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / MANIFEST).write_text("{"), "manifest cannot be read .Expecting"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "manifest cannot be read .list"),
        (lambda folder: (folder / MANIFEST).write_text("{}"), "manifest cannot be read .'weights'"),
        (
            lambda folder: (folder / MANIFEST).write_bytes(b"\xff"),
            "manifest cannot be read .'utf-8'",
        ),
        (folder_for_manifest, "manifest cannot be read .Is a directory"),
        (change("weights", "../weights.json.gz"), "names weights '../weights.json.gz' outside"),
        (change("weights", 3), "names weights 3 outside"),
        (change("weights", "/etc/passwd"), "names weights '/etc/passwd' outside"),
        (change("weights", "generations/../x"), "names weights 'generations/../x' outside"),
        (change("weights", "generations/1/../x"), "names weights 'generations/1/../x' outside"),
        (change("weights", "a/1/x"), "names weights 'a/1/x' outside"),
        (change("weights", "x\0"), "names weights .* outside"),
        (change("weights", ".."), "weights .. cannot be read .Is a directory"),
        (change("sha256", 3), "its digest 3 is not a text"),
        (change("sha256", "0"), "weights weights.json.gz " + wording("site.weights-damaged")),
        (other_weights, "weights weights.json.gz " + wording("site.weights-damaged")),
        (without_weights, "weights weights.json.gz cannot be read .No such file"),
    ],
)
def test_damaged_model_folder_raises_state_error(damage, message, tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    damage(folder)
    with pytest.raises(StateError, match=message):
        read_model(folder)


def test_weights_are_packed_alike_each_time_and_earlier_ones_are_read(tmp_path: Path) -> None:
    weights = json.dumps([["slot", f"body/div/p.{number % 7}", 0.1] for number in range(999)])
    for name in ("a", "b"):
        Generations(tmp_path / name).add({"version": "1"}, weights.encode())
    first, second = (next((tmp_path / name).rglob("weights*")) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size < len(weights) / 10
    assert gzip.decompress(first.read_bytes()).decode() == weights
    manifest, read = read_model(tmp_path / "a")
    assert read.decode() == weights
    plain = first.with_name("weights.json")
    plain.write_text(weights)
    named = {"weights": plain.name, "sha256": sha256(plain.read_bytes()).hexdigest()}
    (first.parent / MANIFEST).write_text(json.dumps(manifest | named))
    assert read_model(first.parent)[1].decode() == weights


@pytest.mark.parametrize("data", [b"no gzip", gzip.compress(b"x" * 99, mtime=0)[:20]])
def test_weights_that_cannot_be_unpacked_raise_state_error(data: bytes, tmp_path: Path) -> None:
    Generations(tmp_path).add({"version": "1"}, b"[]")
    (weights,) = tmp_path.rglob("weights*")
    weights.write_bytes(data)
    change("sha256", sha256(data).hexdigest())(tmp_path)
    with pytest.raises(StateError, match="its weights"):
        read_model(tmp_path)


def test_folder_without_model_raises_file_not_found_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(FileNotFoundError, match=f"{folder.name} holds no model"):
            read_model(folder)
