"""The first pages of each template of a site, and samples with rare templates."""

from __future__ import annotations

import random
from itertools import chain

import pytest

from contentspider import Page, SiteLearner
from contentspider.site.learn import sampling
from contentspider.site.learn.sampling import PAGES_PER_TEMPLATE, TemplatePages, page_template
from contentspider.site.sample import sample_order

ARTICLE, SHOP, LIST = "<p>{}</p>", "<table><tr><td>{}</td></tr></table>", "<ul><li>{}</li></ul>"


def page(html: str, number: int) -> Page:
    return Page.from_html(html.format(f"words {number}"), f"https://e.org/{number}")


def test_template_is_tag_path_of_most_text_without_names_and_links() -> None:
    linked = "<ul><li><a href=/>A long label of a link to another page</a></ul>"
    first = Page.from_html(f"<div id=post-1><p class=x>Words here</p>{linked}</div>")
    second = Page.from_html("<div class=post><p>Other words</p><h1>Word</h1></div>")
    other = Page.from_html("<div><section><p>Words</p></section></div>")
    assert page_template(first) == page_template(second) != page_template(other)


def chosen_by_sorting(entries: list[tuple[int, str]], most: int) -> list[int]:
    """Return the orders of the pages that stay, by sorting all of them at once."""
    ranked = []
    for name in {name for _, name in entries}:
        orders = sorted({order for order, template in entries if template == name})
        ranked += [(rank, order) for rank, order in enumerate(orders[:PAGES_PER_TEMPLATE])]
    return [order for _, order in sorted(ranked)[:most]]


@pytest.mark.parametrize("seed", range(30))
def test_pages_of_templates_are_independent_of_order_and_can_be_merged(seed: int) -> None:
    draw = random.Random(seed)
    names = [str(number) for number in range(draw.choice([1, 3, 40]))]
    entries = [(number, draw.choice(names)) for number in range(draw.choice([5, 60, 120]))]
    most = draw.choice([1, 7, 25])
    expected = chosen_by_sorting(entries, most)
    template_of = dict(entries)
    for _ in range(3):
        draw.shuffle(entries)
        cut = draw.randint(0, len(entries))
        parts = []
        for part in (entries[:cut], entries[cut:], entries[:2]):
            pages: TemplatePages[int] = TemplatePages(most)
            stay = set()
            for order, name in part:
                stay |= {order}
                stay -= set(pages.add(order, name.encode(), order)) - set(pages.ranked())
            assert stay == set(pages.ranked())
            parts.append(pages.ranked())
        merged: TemplatePages[int] = TemplatePages(most)
        for order in chain.from_iterable(parts):
            merged.add(order, template_of[order].encode(), order)
        assert merged.ranked() == expected


def test_lower_limit_drops_last_pages_and_holds() -> None:
    pages: TemplatePages[int] = TemplatePages(9)
    for order in range(8):
        pages.add(order, bytes([order % 2]), order)
    assert pages.limit(3) == [7, 6, 5, 4, 3]
    assert pages.add(9, b"new", 9) == [2]
    assert pages.ranked() == [0, 1, 9]
    assert pages.limit(0) == [9, 1, 0]
    assert pages.add(0, b"new", 0) == [0]


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE", 12)
    monkeypatch.setattr(sampling, "MAX_SAMPLE_BLOCKS", 100)
    monkeypatch.setattr(sampling, "MIN_SAMPLE", 4)


def large_site() -> list[Page]:
    """Return 200 articles, and three pages of each of two rare templates, none of them among the
    first of all pages.
    """
    late = sorted(range(206), key=lambda n: sample_order(f"https://e.org/{n}"))[-6:]
    rare = {number: (SHOP, LIST)[index % 2] for index, number in enumerate(late)}
    return [page(rare.get(number, ARTICLE), number) for number in range(206)]


@pytest.mark.usefixtures("small_samples")
def test_sample_has_rare_templates_in_any_order_and_split() -> None:
    pages = large_site()
    sample = SiteLearner.sample(pages)
    tags = [page.content.blocks[0].tag for page in sample]
    assert len(sample) == 12
    assert (tags.count("td"), tags.count("li")) == (2, 1)  # a quarter of the sample
    first = sorted(pages, key=lambda page: sample_order(page.url))[:9]
    assert set(map(id, first)) <= set(map(id, sample))
    for seed in range(5):
        draw = random.Random(seed)
        draw.shuffle(pages)
        assert SiteLearner.sample(iter(pages)) == sample
        cut = draw.randint(0, len(pages))
        parts = SiteLearner.sample(pages[:cut]) + SiteLearner.sample(pages[cut:])
        assert SiteLearner.sample(parts) == sample
    assert SiteLearner.sample(sample) == sample


@pytest.mark.usefixtures("small_samples")
def test_sample_limited_in_blocks_has_rare_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE_BLOCKS", 8)
    tags = [page.content.blocks[0].tag for page in SiteLearner.sample(large_site())]
    assert (len(tags), tags.count("p")) == (8, 6)


@pytest.mark.usefixtures("small_samples")
def test_site_with_template_for_each_page_has_same_sample_as_without() -> None:
    bodies = ["<div>" * (number + 1) + "words" for number in range(40)]
    pages = [Page.from_html(body, f"https://e.org/{n}") for n, body in enumerate(bodies)]
    ordered = sorted(pages, key=lambda page: sample_order(page.url))
    assert SiteLearner.sample(pages) == ordered[:12]


@pytest.mark.usefixtures("small_samples")
def test_very_large_page_is_not_sampled_for_its_template(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = large_site()
    limit = max(map(sampling._chars, pages)) * sampling.LARGE_PAGE
    monkeypatch.setattr(sampling, "MAX_SAMPLE_CHARS", limit)
    last = max(range(900, 960), key=lambda n: sample_order(f"https://e.org/{n}"))
    large = page(f"<h2>{'word ' * 999}</h2>", last)
    assert large.content.blocks
    assert SiteLearner.sample([*pages, large]) == SiteLearner.sample(pages)
