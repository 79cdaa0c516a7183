"""Slots, clusters, relevance and teasers: where things stand in a site's template."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from contentspider.page.about.hints import Hints
from contentspider.page.input.overrides import Overrides
from contentspider.page.input.page import Page
from contentspider.page.tree.blocks import PageBlocks
from contentspider.site.judge import slots
from contentspider.site.judge.slots import SlotTable, count_names, step_names
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.listing_entries import with_entries
from contentspider.site.vote import blocks, teasers
from contentspider.site.vote.blocks import cluster_slots
from contentspider.site.vote.relevance import (
    MAX_CHARS,
    contrasts,
    lcs_length,
    lcs_lengths,
    other_hints,
    own_hints,
)
from contentspider.site.vote.teasers import teaser_slots
from tests.sites import laid_out, prose, site_of


def test_names_are_read_from_path_step() -> None:
    assert step_names("div#main.entry.wide[article]") == ["#main", ".entry", ".wide", "[article]"]
    assert step_names("div") == []


def test_names_are_counted_once_per_page() -> None:
    pages = [["body.a/p.b", "body.a/p.b/b.a"], ["body.a"]]
    assert count_names(pages) == {".a": 2, ".b": 1}


@pytest.mark.parametrize(
    ("count", "pages", "is_kept"),
    [(2, 10, True), (1, 10, False), (5, 100, True), (4, 100, False), (1, 1, True), (3, 60, True)],
)
def test_template_name_is_on_two_pages_and_five_percent(count, pages, is_kept) -> None:
    assert (".a" in SlotTable({".a": count}, pages).kept) == is_kept


def test_slot_keeps_template_names_in_order_except_body() -> None:
    table = SlotTable.of_names([".main", ".wide", "#top", ".blog"])
    assert table.slot("body.blog/div.x.wide.main#top/p.y") == "body/div#top.main.wide/p"
    assert table.slot("body.blog") == "body"
    assert table.body("body.x.blog/div.main") == "body.blog"
    assert table.step("div.wide.main") == table.step("div.main.wide") == "div.main.wide"


def test_cached_steps_are_limited(monkeypatch) -> None:
    monkeypatch.setattr(slots, "MAX_STEPS", 2)
    table = SlotTable.of_names([".a"])
    for number in range(5):
        assert table.step(f"div.a.p{number}") == "div.a"
        assert len(table._steps) <= 2


def found(*paths: str) -> list[int]:
    return cluster_slots(list(paths), [1.0] * len(paths)).tolist()


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ("body/div.list/div.odd/div.cell/p", "body/div.list/div.even/div.cell/p", True),
        ("body/div.list/div.odd/div.cell/p", "body/div.list/div.odd/div.cell/h2", False),
        ("body/div.odd/div/div/div/p", "body/div.even/div/div/div/p", True),
        ("body/div/div/div/div/p.odd", "body/div/div/div/div/p.even", False),
        ("body/div/p", "body/div/div/p", False),
        ("body/div/p", "body/section/p", False),
        # 0.08 apart
        ("body/div/div/div.odd/p", "body/div/div/div.even/p", False),
    ],
)
def test_slots_differing_little_far_up_form_one_cluster(first, second, is_one) -> None:
    one, other = found(first, second)
    assert (one == other) == is_one


def test_lightest_slots_beyond_limit_stay_separate(monkeypatch) -> None:
    monkeypatch.setattr(blocks, "MAX_CLUSTERED", 2)
    paths = ["body/div/div/div.a/p"] * 3
    assert cluster_slots(paths, [1, 3, 2]).tolist() == [1, 0, 0]
    assert cluster_slots(paths + paths[:1], [1, 3, 2, 1]).tolist() == [1, 0, 0, 2]


def test_first_of_equally_weighted_slots_are_clustered(monkeypatch) -> None:
    monkeypatch.setattr(blocks, "MAX_CLUSTERED", 20)
    assert cluster_slots(["body/p"] * 40, [1, 2] * 20).tolist() == [
        number // 2 + 1 if number % 2 == 0 else 0 for number in range(40)
    ]
    monkeypatch.setattr(blocks, "MAX_CLUSTERED", 10)
    found = cluster_slots(["body/p"] * 40, [1, 2] * 20)
    assert np.flatnonzero(found == 0).tolist() == [*range(1, 20, 2)]


# blocks side by side


def test_site_arrays_describe_page_slot_and_text_of_each_block() -> None:
    site = site_of(
        [
            "<body class=shop><div class=a><h1>Tea</h1><p>Green <a href=/>tea</a></p></div>"
            f"<p>{prose(number)}</p>"
            for number in range(2)
        ]
    )
    assert site.pages.tolist() == [0, 0, 0, 1, 1, 1]
    assert site.distinct_pages == 2
    assert site.slots[:3] == ["body/div.a/h1", "body/div.a/p", "body/p"]
    assert site.chars.tolist()[:2] == [3, 9]
    assert site.link_share.tolist()[:2] == pytest.approx([0, 1 / 3])
    assert site.headings.tolist() == [True, False, False] * 2
    assert site.texts.tolist() == [0, 1, 2, 0, 1, 3]
    assert site.spots.tolist() == [0, 1, 2] * 2
    assert site.spot_texts.tolist() == [0, 1, 2, 0, 1, 3]
    assert site.weights == pytest.approx(np.sqrt(site.chars))


def test_page_may_consist_of_body_text_only() -> None:
    site = site_of(["<body class=shop>Tea", "<body class=shop>Milk", "<body class=blog>Tea"])
    assert site.slots == ["body"] * 3
    assert site.spots.tolist() == [0, 0, 1]


def test_spot_is_slot_at_position_with_same_body() -> None:
    text = "<div><p>a</p></div><div><p>a</p></div>"
    site = site_of([f"<body class={name}>{text}" for name in "xxyy"])
    assert site.slots == ["body/div/p"] * 8
    assert site.spots.tolist() == [0, 1, 0, 1, 2, 3, 2, 3]


def test_repeats_are_counted_on_other_pages_of_spot() -> None:
    pages = [f"<p>{prose(number)}</p><p>{text}</p>" for number, text in enumerate("aaab")]
    site = site_of(pages)
    shares = blocks.repeat_shares(site)[1::2]
    # both paragraphs of a page stand at one spot
    assert shares == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0])
    two_of_five = blocks.repeat_shares(laid_out([[("p", text)] for text in "aaabcd"]))
    assert two_of_five.tolist() == [0.4] * 3 + [0.0] * 3


def test_group_means_page_counts_and_windows_are_computed() -> None:
    groups, pages = np.array([0, 0, 1]), np.array([0, 1, 1])
    values = np.array([1, 3, 5], dtype=np.float32)
    assert blocks.group_mean(groups, values, np.array([3, 1, 1.0])) == pytest.approx([1.5, 1.5, 5])
    assert blocks.group_mean(groups, values, np.zeros(3)).tolist() == [0, 0, 0]
    small = np.array([3, 1, 1]) / 1e6
    assert blocks.group_mean(groups, values, small) == pytest.approx([1.5, 1.5, 5], rel=1e-3)
    assert blocks.count_pages(groups, pages).tolist() == [2, 1]
    assert blocks.count_pages(np.array([0, 0, 2]), np.array([1, 1, 0])).tolist() == [1, 0, 1]
    window = blocks.window_mean(values, np.array([1, 1, 3.0]), pages, 1, 1)
    assert window == pytest.approx([1, 18 / 4, 18 / 4])
    assert blocks.window_mean(values, np.zeros(3), pages, 1, 1).tolist() == [0, 0, 0]
    assert blocks.number_pairs(groups, pages).tolist() == [0, 1, 2]


# relevance


def test_lcs_compares_first_thousand_characters() -> None:
    assert lcs_length("teapot", "tapet") == 4
    assert lcs_length("x" * 5_000, "x" * 5_000) == MAX_CHARS
    assert lcs_lengths(["tea", "x" * 2_000], ["teapot", "x" * 2_000]).tolist() == [
        [3, 0],
        [0, MAX_CHARS],
    ]


def test_hints_given_by_several_pages_belong_to_site() -> None:
    hints = [Hints(titles=("The Shop", f"Tea {number}")) for number in range(30)]
    assert own_hints(hints)[3] == ["tea3"]
    # on two of ten pages a title says little, on two of thirty it may be a page's
    assert own_hints([Hints(titles=("Tea",))] * 2 + hints[:8])[0] == []
    assert own_hints([Hints(titles=("Tea",))] * 2 + hints[:28])[0] == ["tea"]
    assert own_hints([Hints(titles=("Tea",))]) == [["tea"]]
    assert len(own_hints([Hints(titles=tuple("abcdefgh"))])[0]) == 6


def test_copies_share_hints_and_are_not_other_pages() -> None:
    hints = [Hints(titles=(title,)) for title in ("Tea", "Tea", "Milk", "Milk", "Cola")]
    assert own_hints(hints) == [[], [], [], [], ["cola"]]
    own = own_hints(hints, [0, 0, 2, 2, 4])
    assert own == [["tea"], ["tea"], ["milk"], ["milk"], ["cola"]]
    assert other_hints(own, [0, 0, 2, 2, 4])[0] == [["milk"], ["milk"]]


def test_comparison_pages_are_at_fixed_distances_and_have_hints() -> None:
    own = [[str(number)] for number in range(8)]
    assert other_hints(own)[0] == [["2"], ["4"], ["6"]]
    assert other_hints(own)[7] == [["1"], ["3"], ["5"]]
    assert other_hints([["a"], [], ["c"]])[0] == [["c"]]
    assert other_hints([["a"]]) == [[]]


def test_contrast_is_own_relevance_minus_relevance_to_other_pages() -> None:
    pages = [
        Page.from_html(f"<title>{title}</title><p>{text}</p>")
        for title, text in [("aaaa", "aabb"), ("bbbb", "aaaa"), ("", "aaaa")]
    ]
    empty = Page.from_html("<title>cccc</title>")
    found = contrasts([p.content for p in [*pages, empty]], [p.hints for p in [*pages, empty]])
    # "aabb" has half of "aaaa", half of "bbbb" and none of "cccc"
    assert found.tolist() == pytest.approx([0.5 - 0.25, 0 - 0.5, 0])
    assert contrasts([PageBlocks()], [Hints()]).tolist() == []
    (alone,) = contrasts([pages[0].content], [pages[0].hints])
    assert alone == 0.5


def test_each_block_is_compared_separately_with_other_hints() -> None:
    pages = [
        Page.from_html(f"<title>{title}</title><p>aaaa</p><p>bbbb</p>")
        for title in ("aaaa", "bbbb", "cccc")
    ]
    found = contrasts([page.content for page in pages], [page.hints for page in pages])
    assert found.tolist() == [1, -0.5, -0.5, 1, -0.5, -0.5]


def test_hint_shared_only_by_copies_belongs_to_page() -> None:
    pages = [Page.from_html(f"<title>{title}</title><p>{title}</p>") for title in ("aa", "aa", "b")]
    contents, hints = [page.content for page in pages], [page.hints for page in pages]
    assert contrasts(contents, hints).tolist() == [0, 0, 1]
    assert contrasts(contents, hints, [0, 0, 2]).tolist() == [1, 1, 1]


# teasers


def listing(number: int) -> str:
    return "".join(
        f"<div class=teaser><h2><a href=/{number}/{entry}>Entry {number} {entry}</a></h2>"
        f"<p>{prose(number, entry, words=9)}</p><p class=more>Read more</p></div>"
        for entry in range(5)
    )


def article(number: int, teaser: bool = False) -> str:
    beside = "<div class=teaser><p>Once</p></div>" if teaser else ""
    return f"<div class=text><h1>{number}</h1><p>{prose(number)}</p></div>{beside}"


def slots_of(bodies: list[str]) -> frozenset[str]:
    pages = [Page.from_html(body) for body in bodies]
    table = SlotTable.of_names([".teaser", ".more", ".text"])
    kept = [np.array(["text" in block.path for block in page.content.blocks]) for page in pages]
    return teaser_slots(pages, kept, table.slot)


def test_teaser_slots_have_text_on_listings_and_none_on_articles() -> None:
    bodies = [listing(number) for number in range(6)] + [article(number) for number in range(6)]
    entry = {"body/div.teaser/h2", "body/div.teaser/p"}
    assert slots_of(bodies) == entry
    # on two articles of ten it is the articles' too
    bodies += [article(number, teaser=number < 2) for number in range(6, 10)]
    bodies[6:8] = [article(number, teaser=True) for number in range(2)]
    assert slots_of(bodies) == {"body/div.teaser/h2"}
    assert slots_of(bodies[6:]) == set()


def kept_with_entries(body: str, kept: list[bool] | None = None, is_listing: bool = False) -> str:
    page = Page.from_html(body).content
    given = np.array(kept or [True] * len(page.blocks))
    found = with_entries(page, given, is_listing)
    return " ".join(block.text for block, keep in zip(page.blocks, found, strict=True) if keep)


ENTRIES = "<nav><h2>Menu</h2></nav><main>{}</main><p>Older</p>"


def entry(number: int, text: str = "short", tag: str = "h2", name: str = "card") -> str:
    title = f"<{tag}><a href=page-{number}>Entry {number}</a></{tag}>"
    return f"<div class='{name} post-{number}'><p>May {number}</p>{title}<p>{text}</p></div>"


def test_listing_entries_are_repeated_blocks_with_linked_headings() -> None:
    body = ENTRIES.format("".join(map(entry, range(3))))
    expected = " ".join(f"May {number} Entry {number} short" for number in range(3))
    assert kept_with_entries(body) == expected
    # Of what was kept they have most.
    assert kept_with_entries(body, [True] + [False] * 10) == "Menu"
    # Two are entries only where the page is a listing.
    body = ENTRIES.format("".join(map(entry, range(2))))
    assert kept_with_entries(body).startswith("Menu")
    expected = "May 0 Entry 0 short May 1 Entry 1 short"
    assert kept_with_entries(body, is_listing=True) == expected


def test_teasers_on_page_without_kept_text_are_dropped() -> None:
    body = ENTRIES.format("".join(map(entry, range(4))))
    nothing = [False] * len(Page.from_html(body).content.blocks)
    assert kept_with_entries(body, nothing) == ""
    assert kept_with_entries(body, nothing, is_listing=True).startswith("May 0 Entry 0")


@pytest.mark.parametrize(
    "entries",
    [
        [entry(1)] * 3,  # that lead to one page
        [entry(number, tag="p") for number in range(3)],  # without headings
        [entry(number, name=f"of-{number}") for number in range(3)],  # of different kinds
        [entry(number, "x " * 1_000) for number in range(3)],  # articles
        [entry(0, "x " * 1_000), *map(entry, range(1, 3))],  # an article with related ones
        [entry(number).replace("page-", "#part-") for number in range(3)],  # a table of contents
    ],
)
def test_page_without_listing_entries_is_unchanged(entries: list[str]) -> None:
    body = ENTRIES.format("".join(entries))
    kept = kept_with_entries(body)
    assert kept.startswith("Menu") and kept.endswith("Older")


def test_two_listings_suffice_to_find_teaser_slots() -> None:
    assert slots_of([listing(0), listing(1)]) == {"body/div.teaser/h2", "body/div.teaser/p"}


@pytest.mark.parametrize(("articles", "is_entry"), [(10, True), (9, False)])
def test_teaser_slot_may_occur_on_tenth_of_articles(articles, is_entry) -> None:
    bodies = [listing(number) for number in range(6)]
    bodies += [article(number, teaser=number == 0) for number in range(articles)]
    assert ("body/div.teaser/p" in slots_of(bodies)) == is_entry


@pytest.mark.parametrize(
    ("texts", "listings", "is_repeated"),
    [
        ({"Next": 5}, 5, True),
        ({"a": 1, "b": 1}, 2, False),
        ({"Next": 1}, 1, False),
        ({"a": 3, "b": 1, "c": 1}, 5, False),
        ({"a": 4, "b": 1}, 5, True),
        ({"a": 2}, 2, True),
        ({"a": 3, "b": 2}, 5, False),
        ({"Next": 3, "Back": 2}, 3, True),
    ],
)
def test_text_on_most_listings_belongs_to_template(texts, listings, is_repeated) -> None:
    assert teasers._is_repeated(Counter(texts), listings) == is_repeated


def test_overridden_blocks_are_kept_beside_listing_entries() -> None:
    overrides = Overrides.parse('keep = ["p.intro"]')
    body = "<p class=intro>By people.</p>" + ENTRIES.format("".join(map(entry, range(6))))
    pages = [Page.from_html(body, f"/{number}", overrides=overrides) for number in range(2)]
    found = SiteLearner("e.org").fit(pages).extract(pages[0], keep_teasers=True)
    assert found.text.startswith("By people.\n")
    assert "Entry 5" in found.text
