"""How good a model is: measured on told pages or predicted; and the sample that it learns from."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.ground.errors import NotEnoughTextError, StateError
from contentspider.page.input.page import Page
from contentspider.site.learn import sampling
from contentspider.site.learn.learner import SiteLearner, label_by_own_texts
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.site.own import assessment
from contentspider.site.own.assessment import measure
from contentspider.site.own.quality import Quality, TemplateQuality, WorstPage
from contentspider.site.own.signs import Signs, read_signs
from contentspider.site.own.texts import OwnText
from contentspider.site.sample import sample_order
from contentspider.site.scores import Score, score_of, text_score
from tests.ownsite import (
    address,
    f1,
    feed,
    html,
    make_pages,
    own,
    part,
    prose,
    title,
    voice,
    wanted,
)
from tests.sites import laid_out

if TYPE_CHECKING:
    from contentspider.site.vote.blocks import SiteBlocks

# scores


def test_text_score_compares_word_multisets() -> None:
    assert text_score("a b c c", "c a d d") == Score(2 / 4, 2 / 4, 2 / 4)
    assert text_score("A, b!", "b a a a") == Score(1.0, 2 / 4, 2 / 3)
    assert text_score("绿茶", "绿x") == Score(1 / 2, 1 / 2, 1 / 2)


def test_empty_texts_have_perfect_score_only_with_each_other() -> None:
    assert text_score("", "!") == (1, 1, 1)
    assert text_score("a", "") == text_score("", "a") == text_score("a", "b") == (0, 0, 0)
    assert score_of(0, 0, 0) == (1, 1, 1)
    assert score_of(1, 2, 4) == (0.5, 0.25, 1 / 3)


def test_optional_words_do_not_affect_score() -> None:
    assert text_score("tea a b", "a b", "tea") == (1, 1, 1)
    assert text_score("a b", "a b", "tea") == (1, 1, 1)
    # only as often as they are optional, and those that are wanted count
    assert text_score("tea tea a b", "a b", "tea") == (2 / 3, 1, 4 / 5)
    assert text_score("a", "a tea", "tea") == (1, 1 / 2, 2 / 3)
    assert text_score("tea", "", "tea") == (1, 1, 1)


# measured quality


@pytest.mark.parametrize("pages", [6, 7, 12])
def test_quality_is_measured_on_held_out_half_of_pages(pages) -> None:
    found = measure(voice(feed(*range(pages))))
    assert found is not None
    assert (found.f1, found.precision, found.recall, found.pages) == (1.0, 1.0, 1.0, pages)
    assert found.is_measured
    assert [page.url for page in found.worst] == [address(number) for number in range(3)]
    assert {page.f1 for page in found.worst} == {1.0}


def test_fewer_than_six_complete_texts_give_no_measurement() -> None:
    assert measure(voice([])) is None
    assert measure(voice(feed(0, 1, 2, 3, 4))) is None
    excerpts = [own(number, part(number, "lead"), "other") for number in range(5, 12)]
    made = voice([*feed(0, 1, 2, 3, 4), *excerpts])
    assert len(made.evidence.pages) == 12
    assert measure(made) is None


def test_each_half_of_pages_is_held_out_in_turn(monkeypatch) -> None:
    made = voice(feed(1, 2, 5, 8, 9, 11))
    heard = []

    def probabilities(evidence):
        heard.append(set(evidence.whole))
        held = {1, 2, 5, 8, 9, 11} - heard[-1]
        assert np.isnan(evidence.labels[np.isin(made.site.pages, list(held))]).all()
        # the half that is heard would be kept whole: were it measured, all were right
        return np.isin(made.site.pages, list(heard[-1])).astype(np.float32)

    monkeypatch.setattr(made, "probabilities", probabilities)
    assert measure(made) == Quality(
        0.0, 0.0, 0.0, 6, tuple(WorstPage(address(number), 0.0) for number in (1, 2, 5))
    )
    assert heard == [{2, 8, 11}, {1, 5, 9}]


def test_only_one_half_of_many_pages_is_measured(monkeypatch) -> None:
    monkeypatch.setattr(assessment, "MANY_PAGES", 8)
    assert [found.pages for told in (7, 8, 9) if (found := measure(voice(feed(*range(told)))))] == [
        7,
        4,
        5,
    ]


def test_page_explained_only_by_its_own_text_scores_low() -> None:
    # on one page the text stands where the others have their box
    odd = html(6).replace("class=story", "class=sidebar2").replace("class=sidebar>", "class=story>")
    pages = [
        Page.from_html(odd if number == 6 else html(number), address(number))
        for number in range(12)
    ]
    told = range(2, 12)
    made = voice(feed(*told), pages)
    assert set(made.evidence.whole) == set(told)
    found = measure(made)
    assert found is not None
    assert found.worst[0].url == address(6)
    assert found.worst[0].f1 < 0.6
    assert found.worst[1:] == (WorstPage(address(2), 1.0), WorstPage(address(3), 1.0))
    assert found.f1 == pytest.approx((9 + found.worst[0].f1) / 10, abs=1e-4)


def test_measured_quality_is_mean_over_pages_without_title(monkeypatch) -> None:
    made = voice(feed(0, 1, 2, 3, 4, 5))
    slots = made.site.slots

    def probabilities(_):
        names = {0: ("sidebar", "h1"), 1: ("sidebar",), 2: ("lead",), 3: ("sidebar", "story")}
        names |= {4: ("sidebar",), 5: ("sidebar",)}
        return np.array(
            [
                0.51 if any(name in slot for name in names.get(page, ())) else 0.5
                for slot, page in zip(slots, made.site.pages.tolist(), strict=True)
            ]
        )

    monkeypatch.setattr(made, "probabilities", probabilities)
    # 160 words are wanted of each: 160, 160, 40 of 40, and 160 of 240 are found, some of the box
    box = text_score(f"{wanted(3)} {prose('box', 3, 1)} {prose('box', 3, 2)}", wanted(3), title(3))
    assert box.recall == 1
    assert box.precision == pytest.approx(160 / 240, abs=0.02)
    assert measure(made) == Quality(
        round((4 + 0.4 + box.f1) / 6, 4),
        round((5 + box.precision) / 6, 4),
        round((5 + 0.25) / 6, 4),
        6,
        (
            WorstPage(address(2), 0.4),
            WorstPage(address(3), round(box.f1, 4)),
            WorstPage(address(0), 1.0),
        ),
    )


# predicted quality


def sidebar_site() -> SiteBlocks:
    """Return a site of six pages with their text in a story, and five with most in a sidebar."""
    pages = [[("body/p.story", f"story {number}")] for number in range(6)]
    pages += [[("body/div.sidebar", f"box {n}"), ("body/p.story", f"s{n}")] for n in range(5)]
    return laid_out(pages, chars={f"box {number}": 300 for number in range(5)})


def signs_of_boxes(box: float, alone: float = 0.9) -> Signs:
    """Return the signs of the pages with a sidebar that is content by these probabilities."""
    site = sidebar_site()
    is_box = np.array(["sidebar" in slot for slot in site.slots])
    labels = np.where(is_box, box, 0.9)
    return read_signs(site, site.pages >= 6, labels, np.where(is_box, alone, 0.9) > 0.5)


def test_signs_tell_what_is_undecided_left_out_and_added() -> None:
    kept = signs_of_boxes(0.9)
    assert kept == Signs(undecided=0.0, left_out=0.0, repeated=0.0, added=0.0)
    assert signs_of_boxes(0.1).left_out == 0.75
    assert signs_of_boxes(0.6).undecided > 0.7
    assert signs_of_boxes(0.9, alone=0.1).added > 0.7
    for worse in (signs_of_boxes(0.1), signs_of_boxes(0.6), signs_of_boxes(0.9, alone=0.1)):
        assert worse.f1 < kept.f1
        assert worse.advice != kept._replace(repeated=0.5).advice


def test_repeated_text_that_is_kept_is_a_sign() -> None:
    site = laid_out([[("body/div", "the same"), ("body/p", f"story {n}")] for n in range(6)])
    signs = read_signs(site, site.pages >= 0, np.full(12, 0.9), np.full(12, True))
    assert 0.3 < signs.repeated < 0.7
    assert signs.f1 < signs_of_boxes(0.9).f1


@pytest.mark.parametrize(
    ("f1", "pages", "told", "doubted"),
    [
        (0.92, 5, 0, True),
        (0.94, 5, 0, False),
        (0.92, 4, 0, False),
        (0.92, 5, 3, False),
    ],
)
def test_common_templates_with_low_prediction_are_doubtful(f1, pages, told, doubted) -> None:
    template = TemplateQuality("body/p", pages, f1, told, "prose is dropped", ("/a", "/b"))
    assert template.is_doubtful == doubted
    assert ("prose is dropped, as on /a and /b" in str(template)) == doubted


def test_prediction_has_a_bound() -> None:
    assert 0.8 < Quality(0.95).at_least < 0.95
    assert Quality(0.4).at_least == 0
    assert Quality(0.9, 0.8, 1.0, 7).at_least == 0.9


def test_templates_without_measured_pages_get_predicted_quality() -> None:
    others = [
        f"<body class=shop><div class=goods><p>{prose('goods', number, 1)}"
        f"<p>{prose('goods', number, 2)}</div>"
        for number in range(6)
    ]
    pages = make_pages() + [
        Page.from_html(markup, f"/goods/{number}") for number, markup in enumerate(others)
    ]
    quality = SiteLearner("e.org").fit(pages, feed(*range(6))).quality
    assert quality is not None
    told = {template.slot: template.told for template in quality.templates}
    assert max(told.values()) == 6
    assert {number for slot, number in told.items() if "goods" in slot} == {0}
    means = [template.f1 * template.pages for template in quality.templates]
    assert quality.f1 == pytest.approx(sum(means) / len(pages), abs=1e-4)


def test_quality_text_is_one_line() -> None:
    assert str(Quality(0.91234)).startswith("F1 0.912 (predicted; with 90 % at least 0.8")
    assert str(Quality(0.9, 0.8, 1.0, 7)) == (
        "F1 0.900, precision 0.800, recall 1.000 (measured on 7 pages whose text the site"
        " publishes)"
    )


# in the model


def test_model_quality_is_measured_with_enough_own_texts_else_predicted() -> None:
    pages = make_pages()
    learner = SiteLearner("e.org")
    measured = learner.fit(pages, feed(*range(6)))
    assert measured.quality is not None
    assert (measured.quality.f1, measured.quality.pages) == (1.0, 6)
    predicted = learner.fit(pages, feed(*range(3))).quality
    assert predicted is not None
    assert (predicted.pages, predicted.is_measured) == (0, False)
    assert 0.9 < predicted.f1 < 1
    single = learner.fit(pages[:1], feed(0))
    assert single.quality is None


@pytest.mark.parametrize("labels", ["votes", "own"])
def test_model_learned_with_own_texts_keeps_their_content(labels) -> None:
    pages = make_pages()
    learner = SiteLearner("e.org", LearningOptions(labels=labels))
    for texts, is_right in ((feed(0, 3, 5), True), ([], False)):
        model = learner.fit(iter(pages), iter(texts))
        assert model.labels == labels
        found = [model.extract(page).text for page in pages]
        expected = [f"{title(number)}\n{wanted(number)}" for number in range(12)]
        assert (found == expected) == is_right
    assert bool(model.prior) == (labels == "votes")


def test_labels_own_learns_from_article_bodies_in_page_markup() -> None:
    def stating(number: int) -> str:
        said = json.dumps({"@type": "Article", "articleBody": wanted(number)})
        script = f'<script type="application/ld+json">{said}</script></head>'
        return html(number).replace("</head>", script)

    pages = [
        Page.from_html(stating(number) if number < 6 else html(number), address(number))
        for number in range(12)
    ]
    model = SiteLearner("e.org", LearningOptions(labels="own")).fit(pages)
    assert [model.extract(page).text for page in pages] == [
        f"{title(number)}\n{wanted(number)}" for number in range(12)
    ]
    made = voice([], pages)
    labels = label_by_own_texts(pages, made.site)
    assert f1(made, labels) == 1.0
    assert model.quality is not None
    assert model.quality.pages == 6


def test_model_is_independent_of_order_of_pages_and_own_texts() -> None:
    pages, texts = make_pages(), feed(*range(0, 12, 2))
    learner = SiteLearner("e.org")
    first = learner.fit(pages, texts)
    again = learner.fit(pages[::-1], texts[::-1])
    assert (first.version, first.quality) == (again.version, again.quality)
    assert first.version != learner.fit(pages).version


def test_site_without_text_raises_error_despite_own_texts() -> None:
    with pytest.raises(NotEnoughTextError):
        SiteLearner("e.org").fit([Page.from_html("", address(0))], feed(0))


TEMPLATES = (
    TemplateQuality("body/p", 9, 0.9, 0, "prose is dropped", ("/a", "/b")),
    TemplateQuality("body/div", 5, 0.5, 4),
)
WORST = (WorstPage("https://e.org/ü", 0.25), WorstPage("/b", 1.0))


@pytest.mark.parametrize(
    "quality", [None, Quality(0.75), Quality(0.5, 0.25, 1.0, 9, WORST, TEMPLATES)], ids=str
)
def test_quality_survives_manifest(quality) -> None:
    model = SiteLearner("e.org").fit(make_pages(2))
    model.quality = quality
    manifest = json.loads(json.dumps(model.manifest()))
    assert SiteModel.parse(manifest, model.dump_weights()).quality == quality


@pytest.mark.parametrize("record", [["body/p", 9, 0.9, 0.4, 3], ["body/p", 9, 0.9, 0.4, 3, 0.1]])
def test_template_quality_of_earlier_versions_is_read(record: list[object]) -> None:
    quality = Quality.parse(Quality(0.9).to_record() | {"templates": [record]})
    assert quality.templates == (TemplateQuality("body/p", 9, 0.9, 3),)


@pytest.mark.parametrize(
    "damage",
    [
        "good",
        [0.5],
        7,
        {"f1": 0.5},
        {"f1": "much"},
        {"precision": None},
        {"pages": "nine"},
        {"worst": None},
        {"worst": [["/a"]]},
        {"worst": [["/a", "bad"]]},
        {"worst": [["/a", 0.5, 1]]},
    ],
    ids=str,
)
def test_damaged_quality_in_manifest_raises_state_error(damage) -> None:
    model = SiteLearner("e.org").fit(make_pages(2))
    manifest = json.loads(json.dumps(model.manifest()))
    good = asdict(Quality(0.5, 0.25, 1.0, 9, WORST))
    if isinstance(damage, dict) and damage != {"f1": 0.5}:
        damage = good | damage
    manifest["quality"] = damage
    with pytest.raises(StateError, match="cannot be used"):
        SiteModel.parse(manifest, model.dump_weights())


# the sample


def small(count: int) -> list[Page]:
    return [Page.from_html("<p>a<p>b", f"https://e.org/{number}") for number in range(count)]


def order(page: Page) -> bytes:
    return sample_order(page.url)


def told(pages: list[Page]) -> list[OwnText]:
    return [OwnText(page.url.replace("https://", "http://www."), "x", "feed") for page in pages]


def test_pages_with_own_text_enter_sample_first(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE", 6)
    pages = sorted(small(20), key=order)
    last, empty = pages[-3:], Page.from_html("", "https://e.org/empty")
    assert SiteLearner.sample(pages) == pages[:6]
    texts = told([*last, empty, *small(1), Page.from_html("x", "https://e.org/none")])
    expected = {page.url for page in (*last, *small(1))}
    found = SiteLearner.sample([*pages, empty], texts)
    assert [page.url for page in found] == sorted((page.url for page in found), key=sample_order)
    assert expected <= {page.url for page in found}
    others = [page.url for page in pages if page.url not in expected]
    assert {page.url for page in found} - expected == set(others[: 6 - len(expected)])


def test_preferred_pages_with_own_text_are_limited(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE", 6)
    monkeypatch.setattr(sampling, "MAX_WITH_TEXT", 2)
    pages = sorted(small(20), key=order)
    told_pages = [*pages[10:15], pages[1]]
    found = SiteLearner.sample(pages, told(told_pages))
    # the first two of the told ones, and of all others the first four
    assert found == [*pages[:1], pages[1], *pages[2:5], pages[10]]


def test_sample_limited_in_blocks_keeps_pages_with_own_text(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE_BLOCKS", 10)
    monkeypatch.setattr(sampling, "MIN_SAMPLE", 1)
    pages = sorted(small(20), key=order)
    found = SiteLearner.sample(pages, told(pages[-2:]))
    assert found == [*pages[:3], *pages[-2:]]


def test_sample_is_independent_of_page_order(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE", 9)
    monkeypatch.setattr(sampling, "MAX_WITH_TEXT", 3)
    pages = small(30)
    texts = told(pages[5:12])
    expected = SiteLearner.sample(pages, texts)
    assert len(expected) == 9
    for seed in range(5):
        random.Random(seed).shuffle(pages)
        random.Random(seed + 9).shuffle(texts)
        assert SiteLearner.sample(iter(pages), iter(texts)) == expected
