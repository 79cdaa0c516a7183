"""Labels to the letter of the paper."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import StandardScaler

from contentspider.page.input.page import Page
from contentspider.site.learn import sampling
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.vote import paper
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.paper import SiteScores, cluster_blocks, label_like_the_paper


def labels(method, *bodies: str) -> list[int]:
    pages = [Page.from_html(body) for body in bodies]
    site = gather(pages)
    found = method(pages, site)
    assert found.dtype == np.float32
    return found.astype(int).tolist()


# The paragraph has four characters of its page's title, the list item three.
PARAGRAPH = "<title>aaaa</title><p>a a a A</p><ul><li>zzzz</ul>"
ITEM = "<title>bbbb</title><p>zzzz</p><ul><li>bbb</ul>"
# Two pages of another template, the second without hints.
HEADING = "<title>cc</title><h2>cc</h2><ul><li>zzzz</ul>"
SILENT = "<ol><li>dddd</ol>"
LINKED = PARAGRAPH.replace("a a a A", "<a href=/>aaaa</a>")


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ([PARAGRAPH, ITEM], [1, 0, 1, 0]),
        ([PARAGRAPH, ITEM, ITEM], [0, 1, 0, 1, 0, 1]),
        ([LINKED, ITEM], [1, 0, 1, 0]),
        ([PARAGRAPH, HEADING, SILENT], [1, 0, 0, 0, 0]),
        (
            [f"<title>{text}</title><p>aabbccaabbcc</p><h2>a</h2>" for text in ("aa", "bb")],
            [1, 0, 1, 0],
        ),
    ],
)
def test_paper_labels_choose_content_clusters(bodies, expected) -> None:
    assert labels(label_like_the_paper, *bodies) == expected


def test_pages_without_blocks_have_no_labels() -> None:
    scores = SiteScores()
    scores.add(Page.from_html("<title>Empty</title>"))
    assert scores.labels([]).tolist() == [] and not scores.clusters()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        # One subsequence with all that is stated: "aaaabb" has six characters of the list item.
        ("<title>aaaa</title><meta name=description content=bb>", [0, 1]),
        # Titles come first, wherever they stand: of "bbaaaa" the paragraph would have more.
        ("<meta name=description content=bb><meta property=og:title content=aaaa>", [0, 1]),
        # What is said twice is twice as long: eight characters of the paragraph.
        ("<title>aaaa</title><meta property=og:title content=aaaa>", [1, 0]),
        # JSON-LD and Dublin Core are no titles of the publication.
        ("<title>aaaa</title><meta name=dc.title content=bb>", [1, 0]),
    ],
)
def test_relevance_compares_blocks_with_joined_titles_and_descriptions(head, expected) -> None:
    body = f"{head}<p>aaaaaaaa</p><ul><li>aaaabb</ul>"
    assert labels(label_like_the_paper, body) == expected


def test_page_without_title_or_description_has_no_relevance() -> None:
    script = '<script type="application/ld+json">{"@type": "Article", "headline": "bbb"}</script>'
    silent = f"{script}<p>b</p><ul><li>bbb</ul>"
    assert labels(label_like_the_paper, silent, silent, PARAGRAPH) == [1, 0, 1, 0, 1, 0]


def test_stated_titles_and_descriptions_are_stored_with_page() -> None:
    head = (
        "<meta name=description content='D 1'><meta property=og:description content='D 1'>"
        "<meta property=og:title content=T><title>T </title><meta name=dc.title content=no>"
    )
    page = Page.from_html(f"{head}<p>x")
    assert page.hints.stated == ("T ", "T", "D 1", "D 1")
    assert Page.load(page.dump()).hints.stated == page.hints.stated


def test_box_widths_are_scaled_by_their_frequency() -> None:
    # With each width counted once the deviation would be 163, and 100 beside 160 one cluster.
    widths = ["100"] * 49 + ["160"] * 49 + ["500", "500"]
    found = clusters("<p>x</p>" * len(widths), [{"box width": width} for width in widths])
    every = StandardScaler().fit_transform(np.array(widths, dtype=float)[:, None])
    assert found == DBSCAN(eps=0.5, min_samples=1).fit_predict(every).tolist()
    assert len(set(found)) == 3


def clusters(html: str, visuals: list[dict[str, str]] | None = None) -> list[int]:
    page = Page.from_html(html)
    page.content.visuals = visuals or []
    return cluster_blocks([page]).tolist()


def test_blocks_with_same_tag_path_form_one_cluster() -> None:
    html = "<div class=a><p>a</p></div><div id=b><p class=c>b</p><h2>c</h2></div><p>d</p>"
    assert clusters(html) == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("other", "is_one"),
    [
        ({"color": "red", "box width": "600", "box x": "0"}, True),
        ({"color": "red", "box width": "600", "box x": "900"}, True),
        ({"color": "blue", "box width": "600", "box x": "0"}, False),
        ({"color": "red", "box width": "200", "box x": "0"}, False),
    ],
)
def test_rendered_blocks_with_same_path_are_split_by_style_and_width(other, is_one) -> None:
    first = {"color": "red", "box width": "600", "box x": "0"}
    one, two = clusters("<p>a</p><p>b</p>", [first, other])
    assert (one == two) == is_one


def random_page(draw: random.Random) -> Page:
    """Return a page with blocks of random paths; most pages have random CSS and widths."""
    tags = [draw.choice(["p", "h2", "li", "td", "div"]) for _ in range(draw.randint(1, 9))]
    body = "".join(f"<{tag}>{draw.choice('abcd') * draw.randint(1, 9)}</{tag}>" for tag in tags)
    page = Page.from_html(f"<title>{draw.choice('abcd') * 4}</title>{body}")
    if draw.random() < 0.7:
        page.content.visuals = [
            {
                "color": draw.choice(["red", "blue"]),
                "box width": str(draw.choice([0, 90, 100, 130, 400, 405, 800])),
                "box x": str(draw.randint(0, 9)),
            }
            for _ in page.content.blocks
        ]
    return page


def clusters_by_dbscan(pages: list[Page]) -> list[int]:
    """Return the clusters that scikit-learn finds among the scaled vectors of all blocks."""
    rows = []
    for page in pages:
        visuals = page.content.visuals or [{}] * len(page.content.blocks)
        for block, visual in zip(page.content.blocks, visuals, strict=True):
            row: dict[str, str | float] = {"path": "/".join([*block.path.split("/")])}
            if visual:
                row |= {"color": visual["color"], "width": float(visual["box width"])}
            rows.append(row)
    vectors = StandardScaler().fit_transform(DictVectorizer(sparse=False).fit_transform(rows))
    return DBSCAN(eps=0.5, min_samples=1).fit_predict(vectors).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_clusters_equal_those_of_dbscan(seed: int) -> None:
    draw = random.Random(seed)
    pages = [random_page(draw) for _ in range(draw.randint(1, 12))]
    found, expected = cluster_blocks(pages).tolist(), clusters_by_dbscan(pages)
    pairs = len(set(zip(found, expected, strict=True)))
    assert pairs == len(set(found)) == len(set(expected))


@pytest.mark.parametrize("seed", range(20))
def test_labels_are_independent_of_order_and_split(seed: int, monkeypatch) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(paper, "MAX_POINTS", draw.choice([3, 8, 99]))
    pages = [random_page(draw) for _ in range(15)]
    whole = SiteScores()
    assert list(whole.watch(pages)) == pages
    expected = [whole.labels([page]).tolist() for page in pages]
    assert any(map(any, expected))
    order = list(range(len(pages)))
    for _ in range(4):
        draw.shuffle(order)
        cuts = sorted(draw.choices(range(len(pages)), k=3))
        merged = SiteScores()
        for start, end in zip([0, *cuts], [*cuts, len(pages)], strict=True):
            portion = SiteScores()
            for number in order[start:end]:
                portion.add(pages[number])
            merged.merge(portion)
        assert [merged.labels([page]).tolist() for page in pages] == expected


def test_more_kinds_of_blocks_than_are_counted_are_no_content(monkeypatch, caplog) -> None:
    monkeypatch.setattr(paper, "MAX_POINTS", 2)
    pages = [Page.from_html("<title>aa</title><h1>a<p>a<div><div><div><p>aa")]
    assert label_like_the_paper(pages, None).tolist() in ([1, 0, 0], [0, 1, 0])
    assert len(caplog.records) == 1


def test_all_pages_are_scored_beyond_the_sample(monkeypatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE", 4)
    learner = SiteLearner("e.org", LearningOptions(labels="paper"))
    pages = [Page.from_html(f"<title>{n} aa</title><p>{n}<h2>aa", f"/{n}") for n in range(40)]
    sample = SiteLearner.sample(pages)
    # Of the sample alone the heading has most; the other pages have longer paragraphs.
    pages = [
        page if page in sample else Page.from_html(f"<title>aaaa</title><p>aaaa<h2>{n}", page.url)
        for n, page in enumerate(pages)
    ]
    tags = [block.tag for page in sample for block in page.content.blocks]

    def content(pages: list[Page]) -> set[str]:
        labels = np.concatenate(learner.learn(pages).labels).tolist()
        return {tag for tag, label in zip(tags, labels, strict=True) if label}

    assert content(sample) == {"h2"}
    assert content(pages) == {"p"}
