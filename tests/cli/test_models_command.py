"""``contentspider models``: what was learned is shown, compared, taken back and moved."""

from __future__ import annotations

import json
import re
import zipfile
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.cli import main
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.page.input.overrides import OVERRIDES
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.folder import MANIFEST, read_manifest
from contentspider.site.models.folder import WEIGHTS as PACKED_WEIGHTS
from contentspider.site.models.model import SiteModel
from contentspider.state.stores import transfer
from contentspider.state.stores.models import ModelStore
from contentspider.state.stores.transfer import WEIGHTS, export_model, import_model
from tests.conftest import run
from tests.messages import raises, wording
from tests.site.test_generations import learned
from tests.site.test_prior import constant
from tests.sites import article, prose, small_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Site

EXTRA = f"<section class=x><p>{prose(0, 7)}</p></section>"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelStore:
    """Return a store of two generations: the second has seen a section."""
    monkeypatch.chdir(tmp_path)
    store = ModelStore(tmp_path / "models")
    store.save(learned(1, 2, 3))
    pages = [Page.from_html(article(n, EXTRA), f"/{n}") for n in range(4)]
    store.save(SiteLearner("e.org").fit(pages))
    return store


@pytest.fixture
def models(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return what runs the command and returns what it says."""

    def call(*arguments: str, code: int = 0) -> str:
        assert main(["models", *arguments]) == code
        said = capsys.readouterr()
        return said.err if code else said.out

    return call


def test_models_list_shows_generations(store: ModelStore, models: Callable[..., str]) -> None:
    assert models("list") == "e.org\n"
    versions = [store.read("e.org", number).version for number in (1, 2)]
    _, first, second = models("list", "e.org").splitlines()
    assert re.fullmatch(rf" +1  {versions[0]}  20\S+ +3  first", first)
    assert re.fullmatch(rf"\* +2  {versions[1]}  20\S+ +4  relearn", second)
    models("rollback", "e.org")
    assert models("list", "e.org").splitlines()[-1].endswith("3  rollback to 1")
    (store.generations("e.org").path(2) / MANIFEST).write_text("{")
    assert "   2  " + wording("site.manifest-unreadable") in models("list", "e.org")
    assert "no model of 'new.org'; it has: e.org" in models("list", "new.org", code=1)


def test_models_list_says_if_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "--models", str(tmp_path / "none"), "list"]) == 0
    said = capsys.readouterr()
    assert not said.out
    assert str(tmp_path / "none") in said.err


def test_models_show_prints_generation(
    store: ModelStore, models: Callable[..., str], tmp_path: Path
) -> None:
    present, first = models("show", "e.org"), models("show", "e.org", "1")
    assert "learned from 4 pages (labels: votes)\ngeneration 2, learned at 20" in present
    assert "learned from 3 pages (labels: votes)\ngeneration 1, learned at 20" in first
    assert "section.x" in present
    assert "section.x" not in first
    assert "another prior" not in present
    assert "corrections" not in present
    assert models("show", "e.org", "3", code=1) == (
        "contentspider: e.org has no generation 3; its generations are: 1, 2\n"
    )
    prior = tmp_path / "prior.npz"
    prior.write_bytes(constant(1.0).dump())
    learner = SiteLearner("e.org", LearningOptions(prior_file="prior.npz"))
    store.save(learner.fit([Page.from_html(article(1))]))
    said = models("show", "e.org")
    assert f"with another prior ({constant(1.0).digest}) than the shipped one (" in said
    (store.generations("e.org").path(3) / PACKED_WEIGHTS).write_text("{}")
    assert "the model of e.org: its weights" in models("show", "e.org", code=1)


def test_models_diff_compares_two_generations(
    store: ModelStore, models: Callable[..., str]
) -> None:
    said = models("diff", "e.org")
    assert re.match(r"e.org: from generation 1 \(model \w+, 3 pages\) to 2 \(model \w+, 4", said)
    kinds = re.findall(r"^(\w+ \w+) \(", said, re.MULTILINE)
    assert kinds in (["new content"], ["new boilerplate"])
    assert f"section.x/p | {prose(0, 7)[:60]}" in said
    assert f"gone {kinds[0].split()[1]} (1 slot)" in models("diff", "e.org", "2", "1")
    assert models("diff", "e.org", "1") == said
    same = models("diff", "e.org", "2")
    assert same.endswith("\nno slot became content or boilerplate, is new, or is gone\n")
    # one that the model sees otherwise
    folder = store.generations("e.org").path(2)
    manifest = read_manifest(folder)
    summary: Any = manifest["summary"]
    for slot in summary:
        slot["probability"] = 1 - slot["probability"]
    (folder / MANIFEST).write_text(json.dumps(manifest))
    turned = models("diff", "e.org", "1", "2", "--most", "1")
    assert "became content (" in turned
    assert "became boilerplate (" in turned
    assert turned.count(" | ") == 2 * len(re.findall(r"^\w+ \w+ \(", turned, re.MULTILINE))
    assert "give two at most" in models("diff", "e.org", "1", "2", "2", code=1)
    assert "no generation 7; its generations are: 1, 2" in models("diff", "e.org", "1", "7", code=1)
    ModelStore(store.folder).save(SiteLearner("one.org").fit([Page.from_html(article(1))]))
    assert "one.org has one generation only" in models("diff", "one.org", code=1)


def test_models_rollback_prints_new_generation(
    store: ModelStore, models: Callable[..., str]
) -> None:
    first = store.read("e.org", 1).version
    said = models("rollback", "e.org")
    assert said == f"e.org: model {first}, of 3 pages, is generation 3 now\n"
    again = models("rollback", "e.org", "1")
    assert again == f"e.org: model {first}, of 3 pages, is the present one already\n"
    assert "e.org has no generation before its present one" in models("rollback", "e.org", code=1)
    assert "has no generation 9" in models("rollback", "e.org", "9", code=1)
    (store.generations("e.org").path(2) / PACKED_WEIGHTS).write_text("{}")
    assert "generation 2 of e.org: its weights" in models("rollback", "e.org", "2", code=1)


def test_model_export_and_import_use_one_file(
    store: ModelStore, models: Callable[..., str], tmp_path: Path
) -> None:
    first = store.read("e.org", 1)
    models("export", "e.org", "two.zip")
    models("rollback", "e.org")
    assert models("export", "e.org", "one.zip") == (f"e.org: model {first.version} -> one.zip\n")
    with zipfile.ZipFile("two.zip") as archive:
        assert archive.namelist() == [MANIFEST, WEIGHTS]
        assert OVERRIDES not in archive.namelist()
    there = tmp_path / "there" / "e.org" / OVERRIDES
    there.parent.mkdir(parents=True)
    there.write_text("drop = ['.x']")
    for file in ("two.zip", "one.zip"):
        said = models("--models", "there", "import", file)
    assert said == f"e.org: model {first.version} is generation 2 now\n"
    manifest = read_manifest(there.parent)
    assert (manifest["reason"], manifest["pages"]) == ("import", 3)
    assert manifest["learned_at"] == first.learned_at
    assert there.read_text() == "drop = ['.x']"
    page = Page.from_html(article(9, EXTRA))
    imported = SiteModel.load(there.parent)
    assert imported.extract(page).text == first.extract(page).text
    # the same model is the same file
    export_model(imported, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "one.zip").read_bytes()
    assert "no such file" in models("import", "none.zip", code=1).lower()
    assert "none.zip cannot be read" in models("import", "none.zip", code=1)
    assert "cannot be written" in models("export", "e.org", "no/where.zip", code=1)


def packed(path: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def contents(model: SiteModel, **changes: object) -> dict[str, bytes]:
    weights = model.dump_weights()
    named = {"weights": WEIGHTS, "sha256": sha256(weights).hexdigest()}
    manifest = model.manifest() | named | changes
    return {MANIFEST: json.dumps(manifest).encode(), WEIGHTS: weights}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"../evil": b""}, r"it has 'manifest.json', 'weights.json', '../evil' in it, and should"),
        ({"/etc/evil": b""}, "'/etc/evil' in it"),
        ({"overrides.toml": b""}, "'overrides.toml' in it"),
        ({WEIGHTS: b"{}"}, wording("site.weights-damaged")),
        ({MANIFEST: b"{"}, wording("site.manifest-unreadable")),
        ({MANIFEST: b"[" * 100_000}, wording("site.manifest-unreadable")),
        ({"weights": "../x"}, "names weights '../x' outside its folder"),
        ({"schema": 99}, "its schema is 99"),
        ({"site": "../../e.org"}, "'../../e.org' " + wording("state.bad-site-name")),
        ({"site": ".."}, "'..' cannot be the name"),
        ({"site": ""}, "'' cannot be the name"),
        ({"site": "a/b"}, "'a/b' cannot be the name"),
        ({"site": "a" * 300}, "cannot be the name"),
        ({"site": "a\n"}, "cannot be the name"),
        ({"summary": [{"slot": "a"}]}, wording("site.model-unusable") + " 'example'"),
        ({"summary": [7]}, "the model cannot be used"),
        (
            {
                "summary": [
                    {
                        "slot": "a",
                        "probability": 0.5,
                        "score": 0,
                        "blocks": float("inf"),
                        "pages": 1,
                        "example": "",
                    }
                ]
            },
            "the model cannot be used",
        ),
    ],
)
def test_zip_files_that_are_not_models_are_rejected(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    entries = {name: data for name, data in change.items() if isinstance(data, bytes)}
    fields = {name: value for name, value in change.items() if name not in entries}
    path = packed(tmp_path / "x.zip", contents(learned("a"), **fields) | entries)
    with pytest.raises(StateError, match=re.escape(f"{path} cannot be imported: ")) as error:
        import_model(path)
    assert message in str(error.value)


def test_exported_model_file_has_two_entries_and_import_checks_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = learned("a"), tmp_path / "x.zip"
    export_model(model, path)
    with zipfile.ZipFile(path) as archive:
        entries = [(one.filename, one.compress_type, one.date_time) for one in archive.infolist()]
        text = archive.read(MANIFEST)
        assert json.loads(text) == json.loads(contents(model)[MANIFEST])
        assert archive.read(WEIGHTS) == model.dump_weights()
    first_time = (1980, 1, 1, 0, 0, 0)
    assert entries == [(name, zipfile.ZIP_DEFLATED, first_time) for name in (MANIFEST, WEIGHTS)]
    most = len(text)
    assert path.stat().st_size < most > len(model.dump_weights())
    monkeypatch.setattr(transfer, "MAX_BYTES", most)
    assert import_model(path).version == model.version
    monkeypatch.setattr(transfer, "MAX_BYTES", most - 1)
    with pytest.raises(StateError, match=f"its 'manifest.json' is larger than {most - 1:,} bytes"):
        import_model(path)
    size = packed(path, contents(model)).stat().st_size
    monkeypatch.setattr(transfer, "MAX_BYTES", size)
    assert import_model(path).version == model.version
    monkeypatch.setattr(transfer, "MAX_BYTES", size - 1)
    with pytest.raises(StateError, match=f"it is larger than {size - 1:,} bytes"):
        import_model(path)
    monkeypatch.undo()
    for names, said in (("", "nothing"), ("abcdef", "'a', 'b', 'c', 'd', 'e'")):
        packed(path, dict.fromkeys(names, b""))
        expected = (
            wording("state.other-files-in-export", said) + " 'manifest.json' and 'weights.json'"
        )
        with pytest.raises(StateError, match=expected):
            import_model(path)


def test_damaged_or_oversized_model_files_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = contents(learned("a"))
    path = tmp_path / "x.zip"
    data = packed(path, whole, zipfile.ZIP_DEFLATED).read_bytes()
    assert import_model(path).site == "e.org"
    damaged = [data[:200], b"", b"text", data[:100] + bytes(100) + data[200:]]
    encrypted = bytearray(data)
    encrypted[6] |= 1
    encrypted[data.index(b"PK\1\2") + 8] |= 1
    damaged.append(bytes(encrypted))
    for odd in damaged:
        path.write_bytes(odd)
        with raises(StateError, "model-import", "x.zip"):
            import_model(path)
    packed(path, whole, zipfile.ZIP_BZIP2)
    with pytest.raises(StateError, match="has an unknown compression"):
        import_model(path)
    # what it unpacks to, whatever it claims
    monkeypatch.setattr(transfer, "MAX_BYTES", 50_000)
    packed(path, whole | {WEIGHTS: b" " * 100_000}, zipfile.ZIP_DEFLATED)
    with pytest.raises(StateError, match=r"its 'weights.json' is larger than"):
        import_model(path)
    monkeypatch.setattr(transfer, "MAX_BYTES", 10)
    with pytest.raises(StateError, match="it is larger than 10 bytes"):
        import_model(path)
    monkeypatch.undo()
    with pytest.raises(ContentSpiderError, match=r"cannot be read .Is a directory"):
        import_model(tmp_path)


def test_models_show_reports_effect_of_overrides(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    name = site.url.removeprefix("http://").replace(":", "-")
    path = tmp_path / "models" / name / OVERRIDES
    path.parent.mkdir(parents=True)
    path.write_text(
        'keep = ["footer", "b.none"]\n[[rule]]\npattern = "re:/[1-9]$"\n'
        'drop = ["article p"]\ntitle = "p"\ndate = "time"\n'
    )
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    rules = [
        ("keep", "footer", "", "6 blocks on 6"),
        ("keep", "b.none", "", "0 blocks on 0"),
        ("drop", "article p", "  on re:/[1-9]$", "10 blocks on 5"),
        ("title", "p", "  on re:/[1-9]$", "5"),
        ("date", "time", "  on re:/[1-9]$", "0"),
    ]
    shown = run("models", "show", name, cwd=tmp_path).stdout
    assert "\noverrides by people (2 rules)\n" in shown
    for kind, selector, where, what in rules:
        assert f"\n  {kind:5} {selector}{where}: {what} of 6 pages\n" in shown
    elsewhere = run("models", "show", name, "--state-dir", "none", cwd=tmp_path).stdout
    assert "without pages of a crawl" in elsewhere
    assert "\n  keep  footer\n" in elsewhere
    path.write_text("keep = ['<']")
    done = run("models", "show", name, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "overrides.toml:1: '<' is not a valid CSS selector" in done.stderr
