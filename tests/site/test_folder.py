"""A model's folder: what a reader finds, whatever happened before."""

from __future__ import annotations

import json
import os
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
        (change("weights", "../weights.json"), "names weights '../weights.json' outside"),
        (change("weights", 3), "names weights 3 outside"),
        (change("weights", "/etc/passwd"), "names weights '/etc/passwd' outside"),
        (change("weights", "generations/../x"), "names weights 'generations/../x' outside"),
        (change("weights", "generations/1/../x"), "names weights 'generations/1/../x' outside"),
        (change("weights", "a/1/x"), "names weights 'a/1/x' outside"),
        (change("weights", "x\0"), "names weights .* outside"),
        (change("weights", ".."), "weights .. cannot be read .Is a directory"),
        (change("sha256", 3), "its digest 3 is not a text"),
        (change("sha256", "0"), "weights weights.json " + wording("site.weights-damaged")),
        (other_weights, "weights weights.json " + wording("site.weights-damaged")),
        (without_weights, "weights weights.json cannot be read .No such file"),
    ],
)
def test_damaged_model_folder_raises_state_error(damage, message, tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    damage(folder)
    with pytest.raises(StateError, match=message):
        read_model(folder)


def test_folder_without_model_raises_file_not_found_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(FileNotFoundError, match=f"{folder.name} holds no model"):
            read_model(folder)
