"""The judge corrected by what a site tells of its pages, and the vote that hears it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.own import adaptation
from contentspider.site.own import vote as vote_module
from contentspider.site.own.adaptation import standardised
from contentspider.site.own.assessment import measure
from contentspider.site.own.evidence import Evidence, gather_evidence
from contentspider.site.own.matching import texts_by_page
from contentspider.site.vote.votes import vote
from tests.ownsite import (
    PAGES,
    PARTS,
    WORDS,
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
from tests.sites import laid_out, site_of

if TYPE_CHECKING:
    from contentspider.site.own.texts import OwnText
    from contentspider.site.own.vote import OwnVote

CONTENT = ["body/div.sidebar/p", "body/div.sidebar/p.lead", "body/h1"]
BOX = "body/div.story/p"


def kept(made: OwnVote, probabilities: np.ndarray, pages=range(12)) -> list[str]:
    """Return the slots of which blocks are kept on pages."""
    chosen = (probabilities > 0.5) & np.isin(made.site.pages, list(pages))
    return sorted({made.site.slots[index] for index in np.flatnonzero(chosen)})


# the correction


# four pages of a text, a box, and a menu; and one of another kind that has a note and the box
SITE = laid_out(
    [
        *([("text", f"t{n}"), ("box", f"b{n}"), ("menu", "m")] for n in range(4)),
        [("note", "n"), ("box", "b")],
    ]
)
SPOTS = np.array(SITE.slots)
FEATURES = np.array([[spot == name for name in ("text", "box", "menu")] for spot in SPOTS]).astype(
    np.float32
)
EVEN = np.full(len(SPOTS), 0.5)


def correction(site, features, *known):
    return adaptation.correction(site, standardised(features), *known)


def evidence_of(*pages: int, content: tuple[str, ...] = ("text",)) -> Evidence:
    labels = np.where(np.isin(SPOTS, content), 1.0, 0.0)
    known = np.isin(SITE.pages, pages)
    return Evidence(np.where(known, labels, np.nan), frozenset(pages))


@pytest.mark.parametrize("judged", [None, EVEN])
def test_correction_is_zero_without_content_and_noise_evidence(judged) -> None:
    for evidence in (
        evidence_of(),
        evidence_of(0, 1, content=("text", "box", "menu")),
        evidence_of(0, 1, content=()),
    ):
        assert correction(SITE, FEATURES, evidence, judged).tolist() == [0.0] * len(SPOTS)


def test_correction_favours_labelled_content_and_opposes_noise() -> None:
    added = correction(SITE, FEATURES, evidence_of(0, 1), EVEN)
    by_name = {name: set(added[(name == SPOTS) & (SITE.pages < 4)].round(6)) for name in SPOTS[:3]}
    # the same everywhere, on told pages and on others
    assert {name: len(values) for name, values in by_name.items()} == {
        "text": 1,
        "box": 1,
        "menu": 1,
    }
    assert by_name["text"].pop() == pytest.approx(0.48, abs=0.01)
    assert by_name["box"].pop() < -0.3
    assert by_name["menu"].pop() < -0.3


def test_correction_does_not_reject_blocks_on_unlabelled_page_kinds() -> None:
    found = correction(SITE, FEATURES, evidence_of(0, 1), EVEN)
    assert found[SITE.pages == 4].tolist()[1] == 0
    # if the note is told to be content, too, the page is of a told kind
    told = evidence_of(0, 1, content=("text", "note"))
    labels = told.labels.copy()
    labels[SPOTS == "note"] = 1
    found = correction(SITE, FEATURES, Evidence(labels, frozenset([0, 1, 4])), EVEN)
    assert found[SITE.pages == 4][1] < -0.2


def test_page_kind_is_labelled_by_sufficient_text() -> None:
    # two thirds of a sentence at a told place are enough
    for chars, is_told in ((40, True), (39, False)):
        site = laid_out(
            [[("text", f"t{n}"), ("box", f"b{n}")] for n in range(3)]
            + [[("text", "short"), ("box", "b")]],
            chars={"short": chars},
        )
        labels = np.array([1, 0, 1, 0, *[np.nan] * 4])
        features = np.array([[slot == "box"] for slot in site.slots], dtype=np.float32)
        evidence = Evidence(labels, frozenset([0, 1]))
        found = correction(site, features, evidence, np.full(8, 0.5))
        assert (found[-1] < 0) == is_told
        assert found[5] < 0


def test_positive_correction_applies_to_all_pages() -> None:
    # the note has the features of the text
    features = FEATURES.copy()
    features[SPOTS == "note", 0] = 1
    found = correction(SITE, features, evidence_of(0, 1), EVEN)
    assert found[SPOTS == "note"][0] == pytest.approx(found[0])
    assert found[0] > 0.4


def test_correction_without_prior_rejects_blocks_on_all_pages() -> None:
    found = correction(SITE, FEATURES, evidence_of(0, 1))
    boxes = found[SPOTS == "box"]
    assert boxes.tolist() == pytest.approx([boxes[0]] * 5)
    assert boxes[0] < -0.5


@pytest.mark.parametrize(("pages", "share"), [((0,), 1 / 2), ((0, 1, 2), 3 / 4)])
def test_correction_weight_grows_with_number_of_labelled_pages(pages, share, monkeypatch) -> None:
    evidence = evidence_of(*pages)
    found = correction(SITE, FEATURES, evidence, EVEN)
    monkeypatch.setattr(adaptation, "TRUSTED_PAGES", 0.0)
    assert found == pytest.approx(share * correction(SITE, FEATURES, evidence, EVEN))
    assert abs(found).max() > 0.2


def test_correction_is_small_where_judge_already_agrees() -> None:
    odds = np.where(SPOTS == "text", 4.0, -4.0)
    knowing = correction(SITE, FEATURES, evidence_of(0, 1), EVEN, odds)
    wrong = correction(SITE, FEATURES, evidence_of(0, 1), EVEN, -odds)
    assert abs(knowing).max() < 0.1
    assert wrong[0] > 1.2


def test_correction_keeps_judgement_of_unlabelled_blocks() -> None:
    # on the told pages nothing is told of the box: nothing can speak against it
    evidence = evidence_of(0, 1)
    labels = np.where(SPOTS == "box", np.nan, evidence.labels)
    evidence = Evidence(labels, frozenset([0, 1]))
    for chance, sign in ((0.9, 1), (0.1, 0)):
        found = correction(SITE, FEATURES, evidence, np.full(len(SPOTS), chance))
        assert np.sign(found[1]) == sign


def test_correction_is_deterministic_and_leaves_its_inputs_unchanged() -> None:
    draw = np.random.default_rng(3)
    features = draw.normal(size=(len(SPOTS), 40)).astype(np.float32)
    given = features.copy()
    first = correction(SITE, features, evidence_of(0, 2), EVEN, draw.normal(size=len(SPOTS)) * 0)
    again = correction(SITE, features, evidence_of(0, 2), EVEN)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(features, given)
    assert np.isfinite(first).all()


# the vote


@pytest.fixture(scope="module")
def plain() -> OwnVote:
    return voice([])


def test_vote_without_complete_own_texts_equals_plain_vote(plain) -> None:
    prior = Prior.shipped()
    expected = vote(plain.site, *prior.judge(plain.sample))
    np.testing.assert_array_equal(plain.probabilities(plain.evidence), expected)
    excerpts = voice([own(number, part(number, "lead")) for number in range(12)])
    assert excerpts.evidence.has_label.any()
    np.testing.assert_array_equal(excerpts.probabilities(excerpts.evidence), expected)
    assert {*CONTENT, BOX} <= set(kept(plain, expected))


def test_labels_of_some_pages_apply_to_same_places_on_other_pages() -> None:
    made = voice(feed(1, 4, 6))
    found = made.probabilities(made.evidence)
    assert kept(made, found) == CONTENT
    assert kept(made, found, [0, 2, 3, 5, 7, 8, 9, 10, 11]) == CONTENT
    assert f1(made, made.plain_vote) < 0.8
    assert f1(made, found) == 1.0


def test_three_labelled_pages_decide_which_places_are_content() -> None:
    made = voice(feed(4, 7, 9))
    assert kept(made, made.probabilities(made.evidence)) == CONTENT


def test_single_labelled_page_adds_its_places_without_overruling_vote() -> None:
    made = voice(feed(4))
    assert kept(made, made.probabilities(made.evidence)) == sorted([*CONTENT, BOX])


def test_evidence_for_one_template_leaves_other_templates_unchanged() -> None:
    """Letters have their text where other pages have a box; nothing tells of letters."""
    letters = [
        Page.from_html(
            f"<title>{title(number)} - E</title><body class=letter><h1>{title(number)}</h1>"
            "<div class=story>"
            + "".join(f"<p>{part(number, name)} {prose(number)}</p>" for name in PARTS)
            + "</div>",
            address(number),
        )
        for number in range(20, 28)
    ]
    made = voice(feed(*range(10)), [*make_pages(), *letters])
    found = made.probabilities(made.evidence)
    assert BOX in kept(made, found, range(PAGES, PAGES + 8))
    assert BOX not in kept(made, found)


def test_mixed_source_does_not_override_complete_texts() -> None:
    box = [own(n, f"{prose('box', n, 1)} {prose('box', n, 2)}", "box") for n in range(6)]
    for texts in ([*box, *feed(*range(12))], [*feed(*range(12)), *box], [*box, *feed(6, 7, 8, 9)]):
        made = voice(texts)
        assert kept(made, made.probabilities(made.evidence), [10, 11]) == CONTENT


def test_order_of_own_texts_does_not_change_probabilities() -> None:
    texts = [*feed(0, 3, 5), *(own(n, part(n, "lead"), "excerpts") for n in (1, 3, 7))]
    made = voice(texts)
    expected = made.probabilities(made.evidence)
    for seed in range(3):
        pages = list(range(12))
        random.Random(seed).shuffle(pages)
        ordered = sorted(texts, key=lambda text: pages[int(text.url.rpartition("/")[2])])
        again = voice(ordered)
        assert again.evidence.pages == made.evidence.pages
        np.testing.assert_array_equal(again.evidence.labels, made.evidence.labels)
        np.testing.assert_array_equal(again.probabilities(again.evidence), expected)


def test_own_texts_are_not_used_for_sites_with_too_many_blocks(monkeypatch) -> None:
    blocks = len(voice([]).site.chars)
    monkeypatch.setattr(vote_module, "MAX_BLOCKS", blocks)
    assert voice(feed(0, 1)).evidence.whole.keys() == {0, 1}
    monkeypatch.setattr(vote_module, "MAX_BLOCKS", blocks - 1)
    made = voice(feed(0, 1))
    assert not made.evidence.has_label.any()
    np.testing.assert_array_equal(made.probabilities(made.evidence), made.plain_vote)


def test_evidence_weighs_by_number_of_pages_per_place(monkeypatch) -> None:
    made = voice(feed(0, 1, 2))
    made.plain_vote = np.zeros_like(made.plain_vote)
    monkeypatch.setattr(made, "_svm_odds", lambda evidence, voted: np.full(len(voted), 4.0))
    monkeypatch.setattr(made, "_vote", lambda named, unnamed: np.full(len(named), 0.5))
    found = made.probabilities(made.evidence)
    # three pages have the text, two of them comments
    for slot, pages in (("body/div.sidebar/p", 3), ("body/ul.comments/li/p", 2)):
        chosen = [place == slot for place in made.site.slots]
        odds = 4.0 * pages / (pages + 1.5)
        assert found[chosen] == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-6)


# without a prior


def test_evidence_decides_alone_without_prior() -> None:
    made = voice(feed(1, 4, 6), alone=True)
    assert kept(made, made.probabilities(made.evidence)) == CONTENT


def test_unrepeated_prose_is_probable_content_without_prior_and_evidence() -> None:
    made = voice([], alone=True)
    found = made.probabilities(made.evidence)
    assert sorted(set(found.tolist())) == pytest.approx([0.4, 0.75])
    places = ["body/div.sidebar/p", "body/div.sidebar/p.lead", BOX, "body/ul.comments/li/p"]
    assert kept(made, found) == sorted(places)


def test_links_short_lines_and_repeated_prose_are_improbable_without_prior() -> None:
    bodies = [
        f"<p>{prose('own', n)}</p><p>Tea {n}</p><p><a href=/>{prose('link', n)}</a></p>"
        f"<p>{prose('line')}</p>"
        for n in range(2)
    ]
    pages = [Page.from_html(body, address(number)) for number, body in enumerate(bodies)]
    found = voice([], pages, alone=True).plain_vote
    assert found.tolist() == pytest.approx([0.75, 0.4, 0.4, 0.4] * 2)


def test_wrong_source_is_ignored_without_prior() -> None:
    shifted = [own(number, wanted(number + 1)) for number in range(11)]
    template = [
        own(number, "All rights reserved by the makers of this site") for number in range(9)
    ]
    made = voice([*shifted, *template], alone=True)
    assert made.evidence.pages == frozenset()


# what all pages repeat


TIP = prose("tip", words=16)


def with_tip(number: int) -> Page:
    """Return a page whose text begins with a tip that all pages have."""
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs(number))
    tip = f"<div class=tip><p>{TIP}</p></div>"
    head = f"<title>{title(number)}</title>"
    html = f"{head}<article><h1>{title(number)}</h1>{tip}{text}</article>"
    return Page.from_html(html, address(number))


def paragraphs(number: int) -> list[str]:
    return [prose("with tip", number, place) for place in range(8)]


@pytest.mark.parametrize(("pages", "has_tip", "is_kept"), [(1, True, True), (3, False, False)])
def test_template_note_in_complete_own_texts_is_kept(pages, has_tip, is_kept) -> None:
    texts = [
        own(number, "\n".join([TIP] * has_tip + paragraphs(number))) for number in range(pages)
    ]
    made = voice(texts, [with_tip(number) for number in range(9)])
    assert len(made.evidence.whole) == pages
    tips = [slot.endswith("div.tip/p") for slot in made.site.slots]
    assert (made.plain_vote[tips] < 0.5).all(), "it is prose of the template"
    assert set((made.probabilities(made.evidence)[tips] > 0.5).tolist()) == {is_kept}


# whatever is told


def spoil(draw: random.Random, text: str) -> str:
    """Return a text as a broken source gives it."""
    words = text.split()
    cut = draw.randrange(len(words))
    return draw.choice(
        [
            text,
            text[: draw.randrange(len(text))],
            " ".join(words[cut : cut + 60]),
            " ".join(word for word in words if draw.random() > 0.3),
            " ".join(reversed(words)),
            " ".join(draw.choice(WORDS) for _ in words),
            f"{text}\n{'buy pills ' * draw.randrange(400)}",
            text.replace(" ", draw.choice(["", "\x00", "\ud800", "\u202e", " <b> ", "\n"])),
            text * draw.randrange(4),
            "".join(chr(draw.randrange(32, 0x11000)) for _ in range(200)),
            "茶" * draw.randrange(300),
            "",
        ]
    )


def foreign(draw: random.Random, number: int) -> str:
    """Return what is on the page, but is not its text, or is of another one."""
    return draw.choice(
        [
            wanted((number + draw.randrange(1, 12)) % 12),
            f"{prose('box', number, 1)} {prose('box', number, 2)}",
            prose("comment", number, 0, words=25),
            " ".join(title(other) for other in range(number, number + 4)),
            "All rights reserved by the makers of this site",
            "Start Tea",
            title(number),
            part(number, draw.choice(PARTS)),
        ]
    )


def variant(draw: random.Random) -> list[OwnText]:
    texts = []
    kind = draw.choice(["broken", "foreign", "mixed"])
    for number in draw.sample(range(12), draw.randrange(1, 13)):
        for source in draw.sample(["feed", "api", "json-ld text", "marked text"], 2):
            is_broken = kind == "broken" or (kind == "mixed" and draw.random() < 0.5)
            text = spoil(draw, wanted(number)) if is_broken else foreign(draw, number)
            made = own(number, text, source, draw.choice([title(number), "", "E", text[:200]]))
            if draw.random() < 0.1:
                made = replace(made, url=draw.choice([address(number + 1), "", "//[x", "\ud800"]))
            texts.append(made)
    return texts


@pytest.mark.thorough
def test_random_own_texts_never_lower_f1_or_raise_errors() -> None:
    made = voice([])
    base = f1(made, made.plain_vote)
    worse, whole = [], 0
    for seed in range(200):
        texts = variant(random.Random(seed))
        evidence = gather_evidence(
            made.site, texts_by_page(made.sample, texts), made.plain_vote, made.judged
        )
        found = made.probabilities(evidence)
        assert np.isfinite(found).all()
        whole += bool(evidence.whole)
        made.evidence = evidence
        measure(made)
        if f1(made, found) < base - 0.002:
            worse.append((seed, round(f1(made, found), 3)))
    assert worse == []
    # some were believed
    assert whole >= 20


def test_copied_and_nearly_empty_pages_give_finite_probabilities() -> None:
    for bodies in (["<p>a"] * 6, [html(0)] * 6, ["<p>a", html(1)], ["<p>" + "x" * 90] * 5):
        pages = [Page.from_html(body, address(number)) for number, body in enumerate(bodies)]
        texts = [
            own(number, "\n".join(block.text for block in page.content.blocks))
            for number, page in enumerate(pages)
        ]
        for alone in (False, True):
            made = voice(texts, pages, alone=alone)
            assert np.isfinite(made.probabilities(made.evidence)).all()
            measure(made)
        assert len(site_of(bodies).chars) == len(made.evidence.labels)


UPLOADED = "feed https://e.org/up.xml"


def with_box(number: int, announces: str) -> str:
    """Return a page with an article and a box of sentences that name other pages; with *announces*
    it announces an uploaded feed.
    """
    link = f"<link rel=alternate type=application/rss+xml href={announces}>" if announces else ""
    text = "".join(f"<p>{part(number, name)}</p>" for name in PARTS)
    box = "".join(f"<li>{line}</li>" for line in box_lines(number))
    return (
        f"<html><head><title>{title(number)}</title>{link}</head>"
        "<body><nav><a href=/>Home</a></nav>"
        f"<div class=main><h1>{title(number)}</h1>{text}</div>"
        f"<div class=related><h3>Related posts</h3><ul>{box}</ul></div></body></html>"
    )


def box_lines(number: int) -> list[str]:
    return [prose("box", number, line, words=14) for line in range(2)]


def boxes(announcing: range, front: int = -1) -> int:
    """Return how many of 40 pages have the box in their content, after learning from a feed that
    has the box of four pages in their texts. *announcing* pages announce the feed.
    """
    pages = [
        Page.from_html(
            with_box(number, "/up.xml" if number in announcing else ""),
            "https://e.org/" if number == front else address(number),
        )
        for number in range(40)
    ]
    texts = [own(n, "\n".join([wanted(n), *box_lines(n)]), UPLOADED) for n in range(1, 5)]
    model = SiteLearner("e.org").fit(pages, texts)
    return sum(
        box_lines(number)[0] in model.extract(page).text for number, page in enumerate(pages)
    )


def test_feed_that_few_pages_announce_speaks_for_these_pages_alone() -> None:
    assert boxes(range(1, 5)) <= 4


def test_feed_of_the_site_speaks_for_all_its_pages() -> None:
    assert boxes(range(40)) == 40
    assert boxes(range(0), front=0) == 40, "nothing is known of its announcement"
    assert boxes(range(5), front=0) == 40, "the front page announces it"
