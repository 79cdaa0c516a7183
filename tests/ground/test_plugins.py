"""Labels, classifiers and sources that other packages add: the example of docs/extending.md."""

from __future__ import annotations

import importlib
import re
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.ground.errors import StateError
from contentspider.page.input.page import Page
from contentspider.site.judge.classifier import CLASSIFIERS
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions, OptionError
from contentspider.site.models.model import SiteModel
from contentspider.site.own.sources import SOURCES, Announced
from contentspider.site.own.texts import OwnText
from contentspider.site.vote.labels import LABELS
from tests.conftest import ROOT, run
from tests.messages import raises
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def install(folder: Path, code: str, groups: dict[str, dict[str, str]]) -> None:
    """Put a package into *folder* as pip would."""
    (folder / "mylabels.py").write_text(code)
    about = folder / "mylabels-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mylabels\nVersion: 1.0\n")
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    text = (ROOT / "docs" / "extending.md").read_text()
    settings = "\n".join(re.findall(r"```toml\n(.*?)```", text, re.DOTALL))
    groups = {
        group: dict(re.findall(r'^(\w+) = "(.*)"', lines, re.MULTILINE))
        for group, lines in re.findall(r'entry-points\."(.*)"\]\n((?:.+\n)+)', settings)
    }
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    folder = tmp_path / "installed"
    folder.mkdir()
    install(folder, code, groups)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{ROOT}")
    yield folder
    sys.modules.pop("mylabels", None)


def site_pages() -> list[Page]:
    html = (
        "<title>Page {0}</title><nav><a href=/>Home</a> <a href=/a>About us</a></nav><div"
        " class=text><p>{1}</p><p>{2}</p></div><footer>© 2024</footer>"
    )
    return [Page.from_html(html.format(n, prose(n, 1), prose(n, 2)), f"/{n}") for n in range(8)]


@pytest.mark.parametrize("labels", ["prose", "quiet", "votes"])
@pytest.mark.parametrize("classifier", ["shares", "svm"])
def test_plugin_labels_and_classifier_learn_and_reload(
    example: Path, tmp_path: Path, labels: str, classifier: str
) -> None:
    pages = site_pages()
    model = SiteLearner("x", LearningOptions(labels=labels, classifier=classifier)).fit(pages)
    again = SiteModel.load(model.save(tmp_path / "model"))
    assert (again.labels, again.classifier_name) == (labels, classifier)
    assert again.version == model.version
    for page in pages:
        extraction = again.extract(page)
        assert [block.tag for block in extraction.blocks] == ["p", "p"]
        np.testing.assert_array_equal(extraction.probabilities, model.probabilities(page))
    (strongest, weight), *_ = again.weights(pages[0], 2)
    assert weight > 0
    assert classifier == "svm" or strongest.endswith("body/div.text/p")


def test_model_with_uninstalled_classifier_raises_state_error(
    example: Path, tmp_path: Path
) -> None:
    options = LearningOptions(classifier="shares")
    folder = SiteLearner("x", options).fit(site_pages()).save(tmp_path / "model")
    (example / "mylabels-1.0.dist-info" / "entry_points.txt").unlink()
    importlib.invalidate_caches()
    with pytest.raises(StateError, match=r"'shares' is unknown; .*contentspider\.classifiers"):
        SiteModel.load(folder)


def test_labels_that_are_not_probabilities_raise_option_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import numpy\ndef few(pages, site): return [1.0]\n"
    code += "def nan(pages, site): return numpy.full(len(site.chars), numpy.nan)\n"
    entries = {"few": "badlabels:few", "nan": "badlabels:nan"}
    install(tmp_path, "", {"contentspider.labels": entries})
    (tmp_path / "badlabels.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    for name in entries:
        with pytest.raises(OptionError, match=f"labels='{name}' gave .* for each of the 32 blocks"):
            SiteLearner("x", LearningOptions(labels=name)).fit(site_pages())


def test_unknown_plugin_names_raise_option_error_listing_known_names(example: Path) -> None:
    names = LABELS.names()
    assert names[:3] == ["votes", "own", "paper"]
    assert {"prose", "quiet"} <= set(names)
    assert CLASSIFIERS.names() == ["svm", "shares"]
    with raises(OptionError, "unknown-plugin", "labels='best'", "'quiet'"):
        LearningOptions(labels="best")
    with raises(OptionError, "unknown-plugin", "classifier='tree'", "'svm', 'shares'"):
        LearningOptions(classifier="tree")


def test_plugin_source_reads_own_texts(example: Path) -> None:
    sources = ["wordpress", "feed", "index", "llms", "markdown", "version", "archive"]
    assert SOURCES.names() == sources
    source = SOURCES.load("archive")()
    links = (("icon", "", "https://e.org/i"), ("archive", "", "https://e.org/texts.json"))
    (address,) = source.addresses(Announced("https://e.org/", links))
    assert source.read(
        b'{"/tea": "Tea is made of leaves.", "http://[x/": "x", "/n": 1}', address
    ) == [
        OwnText("https://e.org/tea", "Tea is made of leaves.", "archive https://e.org/texts.json")
    ]
    for broken in (b"", b"[]", b"{", b"[" * 100_000, b"\xff"):
        assert source.read(broken, address) == []


def test_command_line_finds_installed_plugins(example: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for number in range(3):
        (site / f"{number}.html").write_text(f"<nav><a href=/>Home</a></nav><p>{prose(number)}</p>")
    done = run(
        "extract",
        str(site),
        "--labels",
        "prose",
        "--classifier",
        "shares",
        "-o",
        "o.txt",
        cwd=tmp_path,
    )
    assert done.returncode == 0
    assert prose(1) in (tmp_path / "o.txt").read_text()
    assert run("shout", "tea", cwd=tmp_path).stdout == "TEA\n"
