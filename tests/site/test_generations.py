"""The generations of a site's model: what stays, what is present, and what two writers make."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.page.input.overrides import OVERRIDES
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models import folder as module
from contentspider.site.models.folder import MANIFEST, Generations, read_manifest, read_model
from contentspider.site.models.model import SiteModel
from contentspider.state.stores.models import ModelStore
from tests.conftest import run
from tests.messages import wording
from tests.site.test_prior import constant
from tests.sites import article, small_site

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Site


def learned(*names: object) -> SiteModel:
    return SiteLearner("e.org").fit(Page.from_html(article(n), f"/{n}") for n in names)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models", keep=3)


def reasons(store: ModelStore) -> dict[int, object]:
    generations = store.generations("e.org")
    return {n: read_manifest(generations.path(n))["reason"] for n in generations.numbers()}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_added_generation_is_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "a"
    generations = Generations(folder)
    assert (generations.numbers(), generations.present(), generations.before()) == ([], 0, 0)
    assert generations.add({"site": "\ud800 ä", "pages": 3}, b"weights") == 1
    for place in (folder, generations.path(1)):
        manifest, weights = read_model(place)
        assert weights == b"weights"
        assert (manifest["site"], manifest["pages"]) == ("\ud800 ä", 3)
        assert (manifest["generation"], manifest["reason"]) == (1, "first")
        assert str(manifest["learned_at"]).startswith("20")
    kept = {"generations/1/manifest.json", "generations/1/weights.json.gz", "generations/.lock"}
    assert files(folder) == {MANIFEST, *kept}
    assert list(manifest)[:3] == ["generation", "learned_at", "reason"]  # above a long summary
    # for people: a line each, their letters as they are
    text = (folder / MANIFEST).read_bytes().decode("utf-8", "surrogatepass")
    assert '\n "site": "\ud800 ä",\n' in text


def test_only_latest_generations_are_kept(store: ModelStore) -> None:
    models = [learned("a"), learned("a", "b"), learned("b", "c", "d"), learned("c", "d")]
    for model in models:
        folder = store.save(model)
    assert reasons(store) == {2: "relearn", 3: "relearn", 4: "relearn"}
    assert store.generations("e.org").present() == 4
    assert store.read("e.org").version == SiteModel.load(folder).version == models[3].version
    assert store.read("e.org", 2).version == models[1].version
    assert store.read("e.org", 2).learned_at == models[1].learned_at > "2020"
    with pytest.raises(FileNotFoundError):
        store.read("e.org", 1)
    # the same again is no generation; where it was damaged, it is
    store.save(models[3], "drift")
    assert store.generations("e.org").present() == 4
    (store.generations("e.org").path(4) / "weights.json.gz").write_bytes(b"{}")
    store.save(models[3], "drift")
    assert reasons(store) == {3: "relearn", 4: "relearn", 5: "drift"}
    assert store.read("e.org").version == models[3].version


def test_rollback_restores_earlier_generation(store: ModelStore) -> None:
    with pytest.raises(ContentSpiderError, match=r"no generation before its present one.*none"):
        store.rollback("e.org")
    models = [learned("a"), learned("a", "b"), learned("b", "c", "d")]
    store.save(models[0])
    with pytest.raises(ContentSpiderError, match=r"no generation before its present one.*: 1$"):
        store.rollback("e.org")
    for model in models[1:]:
        store.save(model)
    assert store.rollback("e.org") == 4
    assert store.read("e.org").version == models[1].version
    assert store.read("e.org").learned_at == models[1].learned_at
    assert reasons(store) == {2: "relearn", 3: "relearn", 4: "rollback"}
    assert read_manifest(store.folder / "e.org")["rolled_back_to"] == 2
    # what is there already is left as it is
    assert store.rollback("e.org", 2) == 4
    assert store.rollback("e.org", 3) == 5
    assert store.rollback("e.org", 4) == 6  # which was the second
    assert read_manifest(store.folder / "e.org")["rolled_back_to"] == 2
    with pytest.raises(ContentSpiderError, match="no generation 1; its generations are: 4, 5, 6"):
        store.rollback("e.org", 1)
    store.save(models[0])
    assert "rolled_back_to" not in read_manifest(store.folder / "e.org")
    (store.generations("e.org").path(6) / "weights.json.gz").write_bytes(b"{}")
    with pytest.raises(StateError, match="damaged"):
        store.rollback("e.org", 6)
    assert store.generations("e.org").present() == 7


def test_second_rollback_goes_back_further(store: ModelStore) -> None:
    store = ModelStore(store.folder)
    models = [learned("a"), learned("a", "b"), learned("b", "c", "d")]
    for model in models:
        store.save(model)
    assert [store.rollback("e.org"), store.rollback("e.org")] == [4, 5]
    assert store.read("e.org").version == models[0].version
    with pytest.raises(ContentSpiderError, match="no generation before"):
        store.rollback("e.org")


def save_often(folder: Path, names: list[int], count: int) -> None:
    store, models = ModelStore(folder, keep=1), [learned(n) for n in names]
    for turn in range(count):
        store.save(models[turn % len(models)])


@pytest.mark.thorough
def test_concurrent_writers_never_mix_generations(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    save_often(tmp_path, [0], 1)
    writers = [
        context.Process(target=save_often, args=(tmp_path, names, 40)) for names in ([1, 2], [3, 4])
    ]
    for writer in writers:
        writer.start()
    read = 0
    while any(writer.is_alive() for writer in writers):
        # raises StateError if weights are none of the manifest's
        manifest, weights = read_model(tmp_path / "e.org")
        SiteModel.parse(manifest, weights)
        read += 1
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert read > 0
    store = ModelStore(tmp_path)
    numbers = store.generations("e.org").numbers()
    assert numbers == [store.generations("e.org").present()]
    assert 40 < numbers[0] <= 81
    assert not list((tmp_path / "e.org" / "generations").glob("*.partial"))


class Killed(BaseException):
    """What a process says that is killed."""


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (Path, "mkdir"),
        (module, "write_atomically"),
        (Path, "rename"),
        (Generations, "_switch"),
        (Generations, "_prune"),
    ],
)
@pytest.mark.parametrize("after", [False, True])
def test_killed_writer_leaves_old_or_new_model(
    owner: object, method: str, after: bool, store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = learned("a"), learned("a", "b")
    store.save(old)
    real: Callable[..., object] = getattr(owner, method)

    def die(*arguments: object, **options: object) -> None:
        if method == "mkdir" and not str(arguments[0]).endswith(".partial"):
            return
        if after:
            real(*arguments, **options)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, method, die)
        patched.setattr(Generations, "_clear", lambda _: None)  # nobody tidies up
        with pytest.raises(Killed):
            store.save(new)
    switched = method == "_prune" or (method == "_switch" and after)
    assert store.read("e.org").version == (new if switched else old).version
    store.save(new, "drift")
    assert store.read("e.org").version == new.version
    for number in store.generations("e.org").numbers():
        store.read("e.org", number)
    if not switched:
        assert not list(store.folder.rglob("*.partial"))


def test_lock_failure_on_save_raises_os_error(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(learned("a"))
    monkeypatch.setattr(module, "LOCK_SECS", 0)
    lock = FileLock(store.folder / "e.org" / "generations" / ".lock")
    with lock, pytest.raises(OSError, match=r"another process writes to .*e.org"):
        store.save(learned("b"))

    def refuse(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(FileLock, "_acquire", refuse)
    with pytest.raises(OSError, match="without locks"):
        store.save(learned("b"))


def test_saving_model_keeps_overrides(store: ModelStore) -> None:
    folder = store.save(learned("a"))
    (folder / OVERRIDES).write_text("drop = ['.ad']")
    for names in ("b", "ab", "abc", "c"):
        store.save(learned(*names))
    store.rollback("e.org")
    assert (folder / OVERRIDES).read_text() == "drop = ['.ad']"


def test_crawl_records_reason_for_learning_in_manifest(site: Site, tmp_path: Path) -> None:
    small_site(site, 6)
    name = site.url.removeprefix("http://").replace(":", "-")
    store = ModelStore(tmp_path / "models")
    run("crawl", site.url, "--own-site", cwd=tmp_path)
    manifest = read_manifest(store.folder / name)
    assert (manifest["generation"], manifest["reason"], manifest["pages"]) == (1, "first", 6)
    prior = tmp_path / "prior.npz"
    prior.write_bytes(constant(3.0).dump())
    other = ["-s", f"CONTENTSPIDER_PRIOR_FILE={prior}"]
    loaded = run("crawl", site.url, "--own-site", *other, cwd=tmp_path)
    said = wording("crawl.other-prior", manifest["prior"])
    assert loaded.stderr.count(said) == 1
    again = run("crawl", site.url, "--own-site", "--relearn", *other, cwd=tmp_path)
    assert said not in again.stderr
    assert store.generations(name).numbers() == [1, 2]
    manifest = read_manifest(store.folder / name)
    assert (manifest["reason"], manifest["prior"]) == ("relearn", constant(3.0).digest)
    now = run("crawl", site.url, "--own-site", *other, cwd=tmp_path)
    assert "another prior" not in now.stderr
