"""The learning core: relevance, slots, votes, labels, classifier, model."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys

import numpy as np
import pylcs
import pytest

from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.errors import NotEnoughTextError, StateError
from contentspider.page.about.hints import Hints
from contentspider.page.features.extractor import FEATURE_NAMES, FeatureExtractor
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import Block
from contentspider.site.judge import rows as rows_module
from contentspider.site.judge.prior import Prior
from contentspider.site.judge.slots import SlotTable, count_names
from contentspider.site.learn import sampling
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.site.vote.blocks import cluster_slots, gather
from contentspider.site.vote.paper import cluster_blocks, label_like_the_paper
from contentspider.site.vote.relevance import (
    MAX_CHARS,
    contrasts,
    lcs_length,
    lcs_lengths,
    other_hints,
    own_hints,
)
from tests.conftest import token_f1
from tests.sites import prose

PROSE = (
    "The ferry leaves the harbour at seven and comes back before noon, if the weather and the crew"
    " allow it."
)


def test_lcs_length_equals_that_of_pylcs() -> None:
    draw = random.Random(1)
    for _ in range(300):
        first, second = (
            "".join(draw.choice("abcdeé日") for _ in range(draw.randint(0, 90))) for _ in range(2)
        )
        length = lcs_length(first, second)
        assert length == pylcs.lcs_sequence_length(first, second) == lcs_length(second, first)
        assert 0 <= length <= min(len(first), len(second))
    assert lcs_length("x" * 5_000, "x" * 5_000) == MAX_CHARS
    assert lcs_length("", "tea") == 0


def test_pylcs_is_not_imported_by_default_learning() -> None:
    code = (
        "import sys; from contentspider import Page, SiteLearner;"
        " SiteLearner().fit([Page.from_html('<title>Tea</title><p>Tea' * 9)]);"
        " assert 'pylcs' not in sys.modules, 'pylcs was loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_copied_pages_share_hints_and_are_not_compared_with_each_other() -> None:
    hints = [Hints(titles=(title,)) for title in ("Tea", "Tea", "Milk", "Milk", "Cola")]
    originals = [0, 0, 2, 2, 4]
    assert own_hints(hints) == [[], [], [], [], ["cola"]]
    own = own_hints(hints, originals)
    assert own == [["tea"], ["tea"], ["milk"], ["milk"], ["cola"]]
    assert other_hints(own, originals)[0] == [["milk"], ["milk"]]
    assert other_hints(own, originals)[4] == [["tea"], ["tea"], ["milk"]]


def test_batched_lcs_lengths_equal_single_ones() -> None:
    texts, hints = ["greentea", "", "x" * 2 * MAX_CHARS], ["tea", "xyz", "x" * 3 * MAX_CHARS]
    assert lcs_lengths(texts, hints).tolist() == [
        [lcs_length(text, hint) for hint in hints] for text in texts
    ]


def test_contrast_is_high_for_page_specific_text() -> None:
    pages = [
        Page.from_html(f"<title>{word} {number}</title><p>{word} {number}</p><p>Imprint</p>")
        for number, word in enumerate(["tea", "coffee", "milk", "water", "cola"])
    ]
    values = contrasts([page.content for page in pages], [page.hints for page in pages]).reshape(
        5, 2
    )
    assert (values[:, 0] > 0.4).all()
    assert (values[:, 1] < values[:, 0]).all()


def test_rare_class_and_id_names_are_removed_from_slots() -> None:
    pages = [[f"body.post-{number}/div#main.entry.tag-{number % 50}/p"] for number in range(100)]
    table = SlotTable(count_names(pages), len(pages))
    assert {table.slot(path) for (path,) in pages} == {"body/div#main.entry/p"}


def test_alternating_rows_form_one_cluster() -> None:
    slots = [
        "body/div.list/div.row.odd/div.cell/p",
        "body/div.list/div.row.even/div.cell/p",
        "body/div.list/div.row.odd/div.cell/h2",
    ]
    odd, even, heading = cluster_slots(slots, [1, 1, 1])
    assert odd == even != heading


def test_paper_labels_choose_one_best_cluster() -> None:
    pages = [
        Page.from_html(
            f"<title>x</title><meta name=description content='{prose(number, 0)}'>"
            f"<div><p>{prose(number, 0)}</p><p>{prose(number, 1)}</p></div>"
            "<ul><li>Home</li></ul>"
        )
        for number in range(4)
    ]
    site = gather(pages)
    labels, clusters = label_like_the_paper(pages, site), cluster_blocks(pages)
    tags = [block.tag for page in pages for block in page.content.blocks]
    assert [tag == "p" for tag in tags] == list(labels == 1)
    assert len(set(clusters[labels == 1])) == 1


def test_shipped_prior_loads_and_damaged_prior_is_rejected(tmp_path) -> None:
    prior = Prior.shipped()
    assert prior.card["trained_on"]
    assert Prior.load(prior.dump()).digest == prior.digest
    for data in (b"", b"not an archive", prior.dump()[:5_000]):
        with pytest.raises(StateError, match="train-prior"):
            Prior.load(data)
    with pytest.raises(StateError, match="nowhere"):
        Prior.from_file(tmp_path / "nowhere.npz")


def test_prior_loads_with_any_feature_order() -> None:
    prior, page = Prior.shipped(), Page.from_html(f"<nav><a href=/>Tea</a></nav><p>{'Tea. ' * 30}")
    with np.load(io.BytesIO(prior.dump())) as stored:
        arrays = dict(stored)
    head = json.loads(arrays["head"].tobytes())
    order = np.random.default_rng(0).permutation(len(head["features"]))
    places = np.append(np.argsort(order), -1)  # the last is that of leaves

    def dump(names: list[str]) -> bytes:
        file = io.BytesIO()
        text = json.dumps(head | {"features": names}).encode()
        np.savez(
            file,
            **arrays
            | {"feature": places[arrays["feature"]].astype(np.int16)}
            | {"head": np.frombuffer(text, dtype=np.uint8)},
        )
        return file.getvalue()

    names = [head["features"][number] for number in order]
    for again, before in zip(
        Prior.load(dump(names)).judge([page]), prior.judge([page]), strict=True
    ):
        np.testing.assert_array_equal(again, before)
    with pytest.raises(StateError, match=r"lacks, such as 'smell'"):
        Prior.load(dump(["smell", *names[1:]]))


def test_features_have_unique_names_and_finite_values() -> None:
    page = Page.from_html(f"<title>A</title><body><h1>A</h1><p>{PROSE}</p><ul><li>x</li></ul>")
    rows = FeatureExtractor().features(page.content, page.hints)
    assert rows.shape == (3, len(FEATURE_NAMES)) == (3, len(set(FEATURE_NAMES)))
    assert np.isfinite(rows).all()


@pytest.fixture(scope="module")
def example(example_corpus):
    (corpus,) = find_corpora(example_corpus)
    pages = {page.url: page for page in corpus.pages()}
    return corpus, pages


def mean_f1(model: SiteModel, corpus, pages) -> float:
    return float(
        np.mean(
            [token_f1(model.extract(pages[gold.path]).text, gold.text) for gold in corpus.gold()]
        )
    )


def test_example_site_is_learned_without_labels(example) -> None:
    corpus, pages = example
    model = SiteLearner("example").fit(pages.values())
    assert mean_f1(model, corpus, pages) >= 0.97
    assert all(model.extract(pages[gold.path]).page_type == "article" for gold in corpus.gold())
    again = SiteModel.parse(model.manifest(), model.dump_weights())
    assert again.version == model.version
    for page in pages.values():
        np.testing.assert_array_equal(again.extract(page).kept, model.extract(page).kept)


@pytest.mark.parametrize("limit", ["", "MAX_PATH_CHARS", "MAX_PATHS", "MAX_GROUPS", "MAX_TEXTS"])
def test_cached_features_do_not_change_decisions(example, monkeypatch, limit) -> None:
    """Sums of groups that are remembered are those of the features, one by one, and what is
    remembered stays bounded.
    """
    assert not rows_module.__file__.endswith(".py"), "not compiled: pip install -e ."
    _, pages = example
    model = SiteLearner("example").fit(pages.values())
    svm = model.classifier
    assert model.noise_texts
    if limit:
        monkeypatch.setattr(rows_module, limit, 3)
    features = rows_module.SlotFeatures(SlotTable.of_names(model.names), model.noise_texts)
    for page in pages.values():
        rows = features.rows(page.content)
        margins = svm.margins(rows)
        expected = [
            svm.intercept + sum(svm.weights.get(name, 0) for group in row for name in group)
            for row in rows
        ]
        np.testing.assert_allclose(margins, expected, atol=1e-5)
        np.testing.assert_array_equal(svm.decide(rows), model.probabilities(page))
        np.testing.assert_array_equal(svm.decide(rows) > 0.5, margins > 0)
        if limit:
            assert features.size < 10 * sum(map(len, rows))


def test_row_features_describe_place_of_block() -> None:
    page = Page.from_html(
        "<body class=post><div class=a><div class=a><p>Words, and a <a href=/>link</a>."
        "<h2>Home</h2></div></div>"
    )
    table = SlotTable.of_names({".a", ".post"})
    noise = frozenset({rows_module.text_key("Home")})
    first, second = (
        [" ".join(feature) for group in row for feature in group]
        for row in rows_module.SlotFeatures(table, noise).rows(page.content)
    )
    slot = "body/div.a/div.a/p"
    assert set(first) == {
        "under body/div.a",
        "under body/div.a/div.a",
        "has div.a",
        f"slot {slot}",
        "tags body/div/div/p",
        "end div.a/p",
        "tag p",
        "length 1",
        "links 1",
        "ends 1",
        "shape 111",
        f"shaped 111 {slot}",
        f"linked 1 {slot}",
        f"place 00 {slot}",
        f"body body.post {slot}",
        "after start",
        f"after start {slot}",
        "before body/div.a/div.a/h2",
        f"before body/div.a/div.a/h2 {slot}",
    }
    assert len(first) == len(set(first))
    assert {"recurs", "recurs body/div.a/div.a/h2", f"after {slot}", "before end"} <= set(second)


@pytest.mark.parametrize(
    ("text", "link_chars", "expected"),
    [("Home", 4, (0, 3, 0)), ("x" * 99 + ".", 10, (4, 1, 1)), ("y" * 300, 0, (6, 0, 0))],
)
def test_shape_combines_length_link_and_ending_bins(text, link_chars, expected) -> None:
    length, rest = divmod(rows_module.shape(Block(text, "p", "p", 0, link_chars)), 8)
    assert (length, *divmod(rest, 2)) == expected


@pytest.mark.parametrize("limit", [None, "MAX_SAMPLE", "MAX_SAMPLE_BLOCKS"])
def test_model_is_independent_of_page_order(example, monkeypatch, limit) -> None:
    _, pages = example
    found = list(pages.values())
    if limit:
        monkeypatch.setattr(sampling, "MIN_SAMPLE", 5)
        monkeypatch.setattr(sampling, limit, {"MAX_SAMPLE": 9, "MAX_SAMPLE_BLOCKS": 99}[limit])
    versions = set()
    for seed in range(3):
        random.Random(seed).shuffle(found)
        model = SiteLearner("example").fit(iter(found))
        versions.add(model.version)
        assert model.pages == {None: len(found), "MAX_SAMPLE": 9, "MAX_SAMPLE_BLOCKS": 5}[limit]
    assert len(versions) == 1


def test_pages_without_url_are_sampled_by_content() -> None:
    pages = [Page.from_html(f"<title>{n}</title><p>{prose(n)}</p>") for n in range(12)]
    assert SiteLearner().fit(pages).version == SiteLearner().fit(pages[::-1]).version


def test_sample_of_samples_equals_sample_of_all_pages(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE", 4)
    pages = [Page.from_html(f"<p>{PROSE}", f"/{n}") for n in range(20)]
    sample = SiteLearner.sample
    assert sample(pages) == sample([*sample(pages[:7]), *sample(pages[7:])])


def test_paper_labels_can_be_chosen_and_score_lower(example) -> None:
    corpus, pages = example
    paper = mean_f1(
        SiteLearner("example", LearningOptions("paper")).fit(pages.values()), corpus, pages
    )
    assert 0.2 < paper < 0.9


def test_model_of_half_the_pages_extracts_other_half(example) -> None:
    corpus, pages = example
    half = [page for number, page in enumerate(pages.values()) if number % 2]
    assert mean_f1(SiteLearner("example").fit(half), corpus, pages) >= 0.95


def test_site_of_one_page_is_learned() -> None:
    html = (
        "<title>Ferries</title><nav><a href=/>Home</a> <a"
        f" href=/b>About</a></nav><article><h1>Ferries</h1><p>{PROSE}</p><p>{PROSE}"
        f" {prose(1)}</p></article><footer>© 2024</footer>"
    )
    page = Page.from_html(html)
    text = SiteLearner().fit([page]).extract(page).text
    assert PROSE in text
    assert "Home" not in text


def test_identical_pages_are_learned_without_errors() -> None:
    html = f"<title>Same</title><nav><a href=/>Home</a></nav><p>{PROSE}</p>"
    pages = [Page.from_html(html) for _ in range(12)]
    model = SiteLearner().fit(pages)
    assert model.extract(pages[0]).kept.shape == (2,)


def test_site_without_titles_and_descriptions_is_learned() -> None:
    pages = [
        Page.from_html(
            "<nav><a href=/>Home</a></nav><div"
            f" class=text><p>{prose(n, 1)}</p><p>{prose(n, 2)}</p></div><footer>About"
            " us</footer>"
        )
        for n in range(10)
    ]
    model = SiteLearner().fit(pages)
    for page in pages:
        assert model.extract(page).text == "\n".join(
            block.text for block in page.content.blocks if block.tag == "p"
        )


def test_site_without_text_raises_not_enough_text_error() -> None:
    with pytest.raises(NotEnoughTextError, match=r"^example\.org: "):
        SiteLearner("example.org").fit([Page.from_html("<p> </p>")])
