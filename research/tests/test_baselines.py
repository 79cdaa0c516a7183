"""Methods of comparison: what each keeps, and that none is as good as ours, or falls over."""

from __future__ import annotations

import random
import sys
from time import process_time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from researching import run

from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.site.judge.prior import Prior
from contentspider_research.baselines import BASELINES, SOFTWARE, comparison, new_baseline
from contentspider_research.baselines.bte import BTE, largest_runs
from contentspider_research.baselines.comparison import (
    Sample,
    Votes,
    compare_methods,
    predict_by_method,
)
from contentspider_research.baselines.domfilters import DOMFilters
from contentspider_research.baselines.infodiscoverer import InfoDiscoverer
from contentspider_research.baselines.lbs import LBS
from contentspider_research.baselines.mwo import MWO
from contentspider_research.baselines.words import Words
from tests.conftest import read_jsonl

if TYPE_CHECKING:
    from pathlib import Path

# Other software may be missing.
OWN = [name for name in BASELINES if name not in SOFTWARE]
# libxml2 gives up what is nested more than 2,048 levels deep; what is in it stays.
HOSTILE = {
    "nothing": b"",
    "white space": b" \n",
    "no markup": b"tea < milk & so on",
    "bytes": b"<p>" + bytes(range(128, 256)) * 20,
    "half a character": "<p>茶".encode()[:-1],
    "never closed": b"<body>tea <!-- " + b"<!-- " * 20_000,
    "a script for ever": b"<script>" + b"<script>" * 20_000,
    "tags that begin": b"<" * 50_000,
    "ends of scripts": b"<script>" + b"</scrip t" * 20_000,
    "deep": b"<div>" * 50_000 + b"tea",
    "deep inline": b"<p>" + b"<b>tea " * 20_000,
    "links": b"<ul>" + b"<li><a href=/x>tea</a>" * 5_000,
    "deep tables": b"<table><tr><td>tea" * 3_000,
    "frameset": b"<frameset><frame src=x></frameset>",
    "entities": b"<p>" + b"&#0;&#x110000;&amp;amp" * 500,
    "a long word": b"<p>" + b"t" * 200_000,
    "numbers": b"<p>" + b"1 2 3 " * 5_000,
}


@pytest.fixture(scope="module")
def sample(example_corpus: Path) -> Sample:
    return Sample.of(find_corpora(example_corpus)[0], 40)


@pytest.fixture(scope="module")
def ours(sample: Sample) -> float:
    return sample.judge(Votes(Prior.shipped())).f1


@pytest.mark.parametrize("name", OWN)
def test_votes_beat_every_baseline(name: str, sample: Sample, ours: float) -> None:
    judged = sample.judge(new_baseline(name))
    # The generated site has few words, which are everywhere: entropy finds little in it.
    # research/docs/experiments.md has the methods' times.
    assert 0.2 < judged.f1 < ours - 0.02


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_pages_break_no_baseline(name: str, case: str) -> None:
    method = new_baseline(name)
    pages = [("/a", HOSTILE[case]), ("/b", b"<p>tea"), ("/c", HOSTILE[case])]
    start = process_time()
    method.fit(pages)
    assert isinstance(method.text(HOSTILE[case]), str)
    assert process_time() - start < 10


@pytest.mark.parametrize("name", OWN)
def test_baseline_extracts_page_it_was_not_trained_on(name: str, sample: Sample) -> None:
    method = new_baseline(name)
    method.fit([(page.path, body) for body, page in sample.pages[1:]])
    body, gold = sample.pages[0]
    assert len(set(gold.text.split()) & set(method.text(body).split())) > 20


@pytest.mark.parametrize("name", OWN)
def test_baseline_handles_site_of_one_or_no_pages(name: str) -> None:
    for pages in ([], [("/a", b"<p>tea is made of leaves")]):
        method = new_baseline(name)
        method.fit(pages)
        assert isinstance(method.text(b"<p>tea is made of leaves"), str)


def test_bte_keeps_run_with_most_words_and_fewest_tags() -> None:
    page = (
        "<title>no</title><body class='a b'><ul><li><a href=/>menu</a><li><a href=/x>entry</a></ul>"
        "<p>Tea is <!-- not --> made of <b>leaves</b>.<script>var x = 1 < 2</script> 茶</p>"
        "<ul><li><a href=/>end</a></ul>"
    ).encode()
    assert BTE().text(page) == "Tea is made of leaves . 茶"
    # A tag that costs more than the words behind it ends the run.
    assert BTE(tag_cost=3).text(page) == "Tea is made of"


def test_bte_keeps_several_sufficiently_long_runs() -> None:
    rule = "<hr>" * 40
    long, short = "tea " * 60, "milk " * 25
    page = f"<body>{long}{rule}{short}{rule}{'salt ' * 19}".encode()
    assert BTE(2).text(page) == long.strip()
    assert BTE(2, share=0.3).text(page).split("\n") == [long.strip(), short.strip()]
    assert BTE(2, share=0.5).text(page) == long.strip()


@pytest.mark.parametrize("seed", range(20))
def test_largest_runs_match_their_definition(seed: int) -> None:
    draw = random.Random(seed)
    scores = [draw.uniform(-5, 5) for _ in range(draw.randint(1, 40))]

    def by_definition(low: int, high: int) -> list[tuple[int, int]]:
        sums = [(sum(scores[i : j + 1]), i, j) for i in range(low, high) for j in range(i, high)]
        best, first, last = max(sums, default=(0, 0, 0))
        if best <= 0:
            return []
        left, right = by_definition(low, first), by_definition(last + 1, high)
        return [*left, (first, last), *right]

    assert [(run.first, run.last) for run in largest_runs(scores)] == by_definition(0, len(scores))


def test_largest_runs_take_linear_time() -> None:
    start = process_time()
    assert len(largest_runs([1, -2] * 200_000)) == 200_000
    assert len(largest_runs([2, -1] * 200_000)) == 1
    assert process_time() - start < 5


def test_lbs_keeps_largest_block_of_string() -> None:
    page = (
        b"<body><ul><li>menu</ul><div>Tea is made <p>of leaves that <b>dry</b></p> for a day"
        b"<div><p>and more</p></div></div><ul><li>end</ul>"
    )
    # What the element has is whole in its parent, which wins by the wrapper's text.
    assert LBS().text(page).split() == "Tea is made of leaves that dry for a day and more".split()
    page = page.replace(b"<div>Tea", b"Tea").replace(b"</div></div>", b"</div>")
    assert LBS().text(page).split() == "Tea is made of leaves that dry for a day".split()


def test_dom_filters_remove_deepest_elements_first() -> None:
    page = (
        b"<body><ul><li><a href=/a>menu</a><li><a href=/b>entry</a></ul>"
        b"<table><tr><td>one two three</table><a href='//x.doubleclick.net/y'>buy</a>"
        b"<a href='https://media.net.example.org/ad'>stays</a>"
        b"<div><nav><a href=/c>more</a> of it</nav><p>Tea is made of leaves that dry for a day, as"
        b" <a href=/d>told</a> before.</p></div><form><input value=no><label>no</label>asked</form>"
    )
    text = "stays Tea is made of leaves that dry for a day, as told before. asked"
    assert DOMFilters().text(page) == text
    # A link in eleven words is one too many; that in no list stays.
    assert DOMFilters(ratio=0.05).text(page) == "stays asked"


def site(menu: bytes = b"<p>menu home imprint</p>") -> list[tuple[str, bytes]]:
    subjects = [b"tea leaves harvest", b"milk cows meadow", b"salt marsh evaporation"]
    return [
        (f"/{number}", b"<html lang=en><body>" + menu + b"<p>" + subject + b" the 12")
        for number, subject in enumerate(subjects)
    ]


@pytest.mark.parametrize("threshold", [None, 0.8])
def test_infodiscoverer_drops_blocks_of_words_shared_by_all_pages(threshold: float | None) -> None:
    method = InfoDiscoverer(threshold)
    method.fit(site())
    for _, html in site():
        assert method.text(html) == html.decode().rpartition("<p>")[2]
    assert method.text(b"<p>menu home imprint</p><p>new words") == "new words"


def test_infodiscoverer_threshold_rises_while_words_are_gained() -> None:
    # Blocks at 0, at 0.5, and at 1: the first step that wins nothing is 0.1.
    pages = [
        (url, html + b"<p>menu home %sx %sy" % (url[1:].encode(), url[1:].encode()))
        for url, html in site()
    ]
    for threshold, kept in ((None, False), (0.4, False), (0.5, True)):
        method = InfoDiscoverer(threshold)
        method.fit(pages)
        text = method.text(pages[0][1])
        assert "tea" in text
        assert "imprint" not in text
        assert ("menu home 0x 0y" in text) is kept


def test_infodiscoverer_block_may_include_words_of_its_parent() -> None:
    pages = site(b"<div><p>menu home imprint</p></div><div><h2>menu</h2><p>")
    for parents, kept in ((False, False), (True, True)):
        method = InfoDiscoverer(0.5, parents=parents)
        method.fit(pages)
        lines = method.text(pages[0][1]).split("\n")
        assert ("menu" in lines) is kept
        assert "menu home imprint" not in lines
        assert "tea leaves harvest the 12" in lines


def test_words_are_stemmed_without_numbers_and_stop_words() -> None:
    page = Page.from_html("<html lang=de-AT><p>Häuser, Hauses the 12 houses")
    words = Words.of_site([page])
    assert words.of(page.content.blocks[0].text) == ["haus", "haus", "hous"]
    assert Words("xx").of("茶は houses") == ["茶", "は", "houses"]


def test_mwo_drops_blocks_with_small_share_of_page() -> None:
    tea = b"tea leaves harvest meadow " * 10
    page = b"<p>menu</p><p>" + tea + b"</p><p>the 12</p>"
    assert MWO().text(page) == tea.decode().strip()
    assert MWO(threshold=0.02).text(page).startswith("menu\ntea")


def test_evaluate_writes_predictions_of_named_method(example_corpus: Path, tmp_path: Path) -> None:
    run("evaluate", str(example_corpus), "--method", "lbs", "-o", "out.jsonl", cwd=tmp_path)
    rows = read_jsonl(tmp_path / "out.jsonl")
    gold = read_jsonl(example_corpus / "gold.jsonl")
    assert [row["path"] for row in rows] == [row["path"] for row in gold]
    done = run(
        "evaluate",
        str(example_corpus),
        "--method",
        "none",
        "-o",
        "out.jsonl",
        cwd=tmp_path,
        check=False,
    )
    assert "no method 'none' to compare with; there are bte," in done.stderr
    assert read_jsonl(tmp_path / "out.jsonl") == rows


def example(folder: Path) -> None:
    from example_site import ExampleSite

    ExampleSite(articles=3, recipes=2, chapters=0).write(folder)


def test_compared_prior_is_never_trained_on_judged_sites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(comparison, "cross_fit", lambda corpora: asked.append(len(corpora)) or {})
    example(tmp_path / "new" / "one")
    example(tmp_path / "new" / "two")
    table = compare_methods(tmp_path / "new", tmp_path / "chart.svg", 4)
    assert not asked
    seen = Prior.shipped().card["trained_on"]
    assert isinstance(seen, list)
    example(tmp_path / "seen" / str(seen[0]))
    example(tmp_path / "seen" / "two")
    assert len(compare_methods(tmp_path / "seen", tmp_path / "chart.svg", 4)) == len(table)
    assert asked == [2]


def test_incomparable_corpora_raise_error(tmp_path: Path) -> None:
    example(tmp_path / "one")
    about = tmp_path / "one" / "site.json"
    about.write_text(about.read_text().replace('"example"', '"pages"'))
    with pytest.raises(ContentSpiderError, match="only single pages"):
        compare_methods(tmp_path, tmp_path / "chart.svg", 4)
    about.write_text("{}")
    (tmp_path / "one" / "gold.jsonl").write_text('{"path": "none.html", "text": "tea"}')
    with pytest.raises(ContentSpiderError, match="none of the pages that its gold names"):
        compare_methods(tmp_path, tmp_path / "chart.svg", 4)


def test_single_page_is_judged_as_its_own_site(tmp_path: Path) -> None:
    example(tmp_path / "one")
    (tmp_path / "one" / "site.json").write_text('{"suite": "pages"}')
    (corpus,) = find_corpora(tmp_path)
    rows = list(predict_by_method(corpus, "infodiscoverer-0.8"))
    # Of one page every word is on one page only: nothing is redundant.
    assert all("Tidewater Almanac" in row["text"] for row in rows)
    assert len(rows) == 5


def test_trafilatura_baseline_needs_bench_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {b"tea": "tea", b"": None}
    module = SimpleNamespace(extract=lambda html, include_comments: answers[html])
    monkeypatch.setitem(sys.modules, "trafilatura", module)
    method = new_baseline("trafilatura")
    method.fit([])
    assert [method.text(html) for html in answers] == ["tea", ""]
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(ContentSpiderError, match=r"contentspider\[bench\]"):
        new_baseline("trafilatura")


def test_chromerag_baseline_removes_front_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Asked:
        def extract(self, html: str) -> SimpleNamespace:
            return SimpleNamespace(markdown=f"---\ntitle: A\n---\n\n# {html}\n\n---\nleaves\n---\n")

    monkeypatch.setitem(sys.modules, "chromerag", SimpleNamespace(ChromeRAG=Asked))
    method = new_baseline("chromerag")
    method.fit([])
    assert method.text("Tée".encode()).split() == ["#", "Tée", "---", "leaves", "---"]
    monkeypatch.setitem(sys.modules, "chromerag", None)
    with pytest.raises(ContentSpiderError, match=r"contentspider\[bench\]"):
        new_baseline("chromerag")
