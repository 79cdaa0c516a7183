"""Corrections by people: what a file of them says, what it matches on a page, and what comes of
it.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import pytest

from contentspider.extract import extract_paths
from contentspider.ground.errors import ContentSpiderError, OverridesError, StateError
from contentspider.page.input.overrides import OVERRIDES, Overrides
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from contentspider.state.stores.models import ModelStore
from tests.conftest import read_jsonl, run
from tests.messages import wording
from tests.sites import article, prose, small_site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site


def read(html: str, toml: str, url: str = "https://e.org/news/1") -> Page:
    return Page.from_html(html, url, overrides=Overrides.parse(toml))


def said(html: str, toml: str, url: str = "https://e.org/news/1") -> tuple[list[str], list[str]]:
    """Return the texts that are to be kept and to be dropped."""
    page = read(html, toml, url)
    assert page.corrections is not None
    texts = [block.text for block in page.content.blocks]
    noted = page.corrections
    return [texts[at] for at in sorted(noted.kept)], [texts[at] for at in sorted(noted.dropped)]


@pytest.mark.parametrize(
    ("toml", "kept", "dropped"),
    [
        ('drop = ["aside"]', [], ["one", "two", "three"]),
        ('keep = ["aside", "aside"]', ["one", "two", "three"], []),
        # the innermost element decides
        ('drop = ["aside"]\nkeep = ["div"]', ["two"], ["one", "three"]),
        ('keep = ["aside"]\ndrop = ["div"]', ["one", "three"], ["two"]),
        # an inline element around blocks, and one with all of a block's text
        ('drop = ["a.card"]', [], ["card"]),
        ('drop = ["span.by"]', [], ["By X"]),
        ('keep = ["p"]\ndrop = ["span.by"]', ["one", "some text, and more"], ["By X"]),
        # a part of a block is none
        ('drop = ["i"]', [], []),
        # the same element: dropped
        ('drop = ["#a"]\nkeep = [".b"]', [], ["two"]),
        ('[[rule]]\npattern = "*"\nkeep = ["div"]\n[[rule]]\ndrop = ["div"]', [], ["two"]),
        ('keep = ["table"]', [], []),
        ('drop = ["#hidden"]', [], []),
    ],
)
def test_override_selector_applies_to_blocks_of_element(
    toml: str, kept: list[str], dropped: list[str]
) -> None:
    html = (
        "<aside><p>one</p><div id=a class=b>two</div>three</aside><a class=card><h2>card</h2></a>"
        "<p><span class=by><b>By</b> X</span><br><br>some <i>text</i>, and more</p>"
        "<div id=hidden style='display:none'>never</div>"
    )
    assert said(html, toml) == (kept, dropped)


def test_innermost_inline_element_decides_override() -> None:
    html = "<p><span><b>By X</b></span></p><a><h2>card</h2></a>"
    assert said(html, 'keep = ["b", "a"]\ndrop = ["span"]') == (["By X", "card"], [])
    assert said(html, 'keep = ["span"]\ndrop = ["b", "a"]') == ([], ["By X", "card"])


def test_nested_inline_elements_are_matched_in_linear_time() -> None:
    html = "<span>" * 1_500 + "some text<br><br>" * 15_000
    assert said(html, 'drop = ["span"]') == ([], [])  # it would take 10 seconds


def test_selectors_match_script_revealed_content_at_its_final_place() -> None:
    hidden = f"<main style='display:none'><p>{prose(1, words=80)}</p><p class=x>ad</p></main>"
    assert said(hidden, 'drop = [".x"]') == ([], ["ad"])
    moved = (
        "<section><template id='B:0'></template></section>"
        "<div hidden id='S:0'><p>late text</p></div>"
    )
    moved += "<script>$RC('B:0','S:0')</script>"
    assert [block.path for block in read(moved, "").content.blocks] == ["body/section/p"]
    assert said(moved, 'drop = ["section"]') == ([], ["late text"])


@pytest.mark.parametrize(
    ("url", "rules"),
    [
        ("https://e.org/news/1", {".all", ".news", ".year"}),
        ("https://e.org/tea", {".all"}),
        ("https://e.org/2024/tea?print=1", {".all", ".year", ".print"}),
        # files have paths
        ("news/1.html", {".all", ".news", ".year"}),
        ("old/news/1.html", {".all"}),
    ],
)
def test_override_rules_apply_to_urls_matching_their_pattern(url: str, rules: set[str]) -> None:
    overrides = Overrides.parse(
        'keep = [".all"]\n[[rule]]\npattern = "/news/*"\nkeep = [".news"]\n'
        "[[rule]]\npattern = 're:/\\d{4}/|news'\nkeep = ['.year']\n"
        '[[rule]]\npattern = "*print=1"\nkeep = [".print"]'
    )
    wanted = rules if "old" not in url else rules | {".year"}
    found = {selector.text for rule in overrides.rules(url) for selector in rule.keep}
    assert found == wanted


def test_page_without_matching_rule_has_no_corrections() -> None:
    toml = '[[rule]]\npattern = "/news/*"\ndrop = ["p"]'
    assert read("<p>text", toml, "https://e.org/tea").corrections is None
    assert read("<p>text", "").corrections is None
    assert "corrections" not in json.loads(zlib.decompress(Page.from_html("<p>text").dump()))


def test_overrides_select_title_and_date() -> None:
    html = (
        "<meta name=day content=2020-01-02><title>Tea | Shop</title><h1>Tea</h1><h1> </h1>"
        "<h1 class=x> Green\n <i>tea</i></h1>"
        "<time class=published datetime='2021-03-04T05:06:07Z'>x</time>"
        "<p class=day>March 5, 2022</p><p class=day>March 6, 2022</p>"
    )
    model = SiteLearner("e.org").fit([Page.from_html(html)])

    def fields(toml: str) -> tuple[object, object]:
        record = model.extract(read(html, toml)).to_dict()
        return record["title"], record["published_at"]

    assert fields("") == ("Tea", "2021-03-04T05:06:07+00:00")
    assert fields('title = "h1.x"\ndate = "meta[name=day]"') == ("Green tea", "2020-01-02")
    assert fields('title = "h1:nth-of-type(n+2)"\ndate = "p.day"') == ("Green tea", "2022-03-05")
    assert fields('title = "h6"\ndate = "h1"') == fields("")
    # the more special rule is asked first
    special = '[[rule]]\npattern = "/news/*"\ntitle = "{}"\ndate = ".day"'
    assert fields('title = "h1"\n' + special.format(".day"))[0] == "March 5, 2022"
    assert fields('title = "h1"\n' + special.format("h6")) == ("Tea", "2022-03-05")
    assert model.extract(read(html, 'title = "h1.x"')).title == "Green tea"


def test_overrides_select_authors() -> None:
    html = (
        "<meta name=author content='Tea Shop Ltd'><title>Tea | Shop</title><h1>Tea</h1>"
        "<div class=byline>By <a>Ada Byron</a> and <a>Bob Frank</a></div><b class=desk>Desk</b>"
    )
    model = SiteLearner("e.org").fit([Page.from_html(html)])

    def authors(toml: str) -> object:
        page = Page.load(read(html, toml).dump())
        return model.extract(page).to_dict()["author"]

    assert authors("") == ["Tea Shop Ltd"]
    assert authors('author = ".byline a"') == ["Ada Byron", "Bob Frank"]
    assert authors('author = ".byline"') == ["Ada Byron", "Bob Frank"]
    assert authors('author = "meta[name=author]"') == ["Tea Shop Ltd"]
    special = '[[rule]]\npattern = "/news/*"\nauthor = "{}"'
    assert authors('author = ".byline a"\n' + special.format(".desk")) == ["Desk"]
    assert authors('author = ".byline a"\n' + special.format("h6")) == ["Ada Byron", "Bob Frank"]


def test_corrections_survive_serialization_and_damaged_ones_raise() -> None:
    page = read(
        "<h1>Tea</h1><p>a</p><time>2020-01-02</time>", 'drop=["p"]\ndate="time"\ntitle="h1"'
    )
    again = Page.load(page.dump())
    assert again == page
    assert again.corrections is not None
    record = json.loads(zlib.decompress(page.dump()))
    for odd in (
        {"drop": {"p": [9]}},
        {"drop": {"p": [-1]}},
        {"drop": [1]},
        {"drop": {"p": ["x"]}},
        {"keep": {"p": 1}},
    ):
        damaged = record | {"corrections": record["corrections"] | odd}
        with pytest.raises(StateError):
            Page.load(zlib.compress(json.dumps(damaged).encode()))


def test_overrides_take_precedence_over_model_and_prior() -> None:
    pages = [
        Page.from_html(article(n, "<p class=x>Sign up to our letter!</p>"), f"/{n}") for n in "abc"
    ]
    model = SiteLearner("e.org").fit(pages)
    toml = 'keep = [".x"]\ndrop = ["article p:last-child"]'
    page = read(article(1, "<p class=x>Sign up to our letter!</p>"), toml)
    for found in (model.extract(page), extract_page(page)):
        assert found.text == f"Page 1\n{prose(1, 1)}\nSign up to our letter!"
        assert sorted(found.probabilities[[3, 4]].tolist()) == [0, 1]
    assert model.probabilities(page)[4] == 1
    # what was decided on the pages that it was learned from gives way, too
    assert "Sign up" not in model.extract(pages[0]).text
    again = Page.from_html(
        article("a", "<p class=x>Sign up to our letter!</p>"), "/a", overrides=Overrides.parse(toml)
    )
    assert "Sign up" in model.extract(again).text


def test_dropped_teasers_stay_dropped_with_keep_teasers(example_corpus: Path) -> None:
    from contentspider.page.input.files import read_pages

    pages = list(read_pages(example_corpus / "html"))
    model = SiteLearner("e.org").fit(pages)
    (listing,) = [page for page in pages if page.url == "stories/index.html"]
    teasers = model.extract(listing, keep_teasers=True)
    assert teasers.page_type == "listing"
    body = (example_corpus / "html" / listing.url).read_bytes()
    overrides = Overrides.parse('drop = ["body"]')
    dropped = Page.from_html(body, listing.url, overrides=overrides)
    assert len(teasers.blocks) > len(model.extract(dropped, keep_teasers=True).blocks)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("keep = [\n 'p',\n 'div >',\n]", "{}:3: 'div >' is not a valid CSS selector (Exp"),
        ('drop = ["a\\"b"]', "{}:1: 'a\"b' is not a valid CSS selector"),
        ("\ntitle = 'h1::text'", "{}:2: 'h1::text' is not a valid CSS selector (Pseudo-elements"),
        ("\n[[rule]]\npattern='*'\n\ndate = ':foo'", "{}:5: ':foo' is not a valid CSS selector"),
        # the same selector stands above, where it is none of this rule's
        ("keep=['p:x(1)']", "{}:1: 'p:x(1)' is not a valid CSS selector"),
        ("keep=['p']\n[[rule]]\nkeep=['q']\n[[rule]]\ndrop=['p', 3]", "{}:5: drop has 3, which"),
        (
            "keep=['p']\nkeeps = []",
            "{}:2: unknown key 'keeps'; use keep, drop, title, date, author, rule",
        ),
        ("pattern='/a'", "{}:1: unknown key 'pattern'; use keep, drop, title, date, author, rule"),
        (
            "[[rule]]\n[[rule]]\n x.y = 1",
            "{}:3: unknown key 'x'; use keep, drop, title, date, author, p",
        ),
        ("[[rule]]\n\n[rule.keep]\n", "{}:3: keep " + wording("page.not-selectors")),
        ("keep = '.ad'", "{}:1: keep " + wording("page.not-selectors")),
        ("\ntitle = ['h1']", "{}:2: title has ['h1']" + wording("page.not-text")),
        ("[rule]\nkeep = []", "{}:1: " + wording("page.rule-not-table")),
        ("rule = [1]", "{}:1: 'rule' is not a table"),
        ("rule = [{keep=['p']},\n{drop=['<']}]", "{}:2: '<' is not a valid CSS selector"),
        ("[[rule]]\npattern = 're:('", "{}:2: " + wording("ground.invalid-pattern", "'re:('")),
        ("[[rule]]\npattern = 3", "{}:2: pattern is not a string"),
        ("keep = [\n'p'\n", "{}:2: not valid TOML: "),
        ("keep = ['p']\ndrop = 'x", "{}:2: not valid TOML: "),
        ("keep ['p']", "{}:1: not valid TOML: Expected "),
        ("keep = ['p']\nkeep = ['p']", "{}:2: not valid TOML: Can"),
    ],
)
def test_invalid_overrides_error_names_line(toml: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / OVERRIDES
    path.write_text(toml)
    with pytest.raises(OverridesError) as error:
        Overrides.load(tmp_path)
    assert str(error.value).startswith(message.format(path))
    assert isinstance(error.value, ContentSpiderError)


def test_unreadable_overrides_file_raises_overrides_error(tmp_path: Path) -> None:
    assert Overrides.load(tmp_path) is None
    path = tmp_path / OVERRIDES
    path.write_bytes(b"keep = ['p']\n# \xe9\n")
    with pytest.raises(OverridesError, match=r"overrides.toml:2: "):
        Overrides.load(tmp_path)
    path.write_bytes(b"\xef\xbb\xbfkeep = ['p']")  # of Windows' editors
    assert repr(Overrides.load(tmp_path)) == "<Overrides: 1 rule>"
    path.unlink()
    path.mkdir()
    with pytest.raises(OverridesError, match=r"cannot be read \(Is a directory\)"):
        Overrides.load(tmp_path)


def test_overrides_beside_model_apply_to_saved_pages(tmp_path: Path) -> None:
    models, folder = tmp_path / "models", tmp_path / "e.org"
    ModelStore(models).save(
        SiteLearner("e.org").fit(Page.from_html(article(n), f"/{n}") for n in range(3))
    )
    folder.mkdir()
    (folder / "one.html").write_text(article(7))
    path = models / "e.org" / OVERRIDES
    path.write_text('[[rule]]\npattern = "/one*"\ndrop = ["article p:last-child"]\ntitle = "p"')
    for place in (models, models / "e.org"):
        (item,) = extract_paths([folder], models=place)
        assert item["content"] == f"Page 7\n{prose(7, 1)}"
        assert item["title"] == prose(7, 1)
    path.write_text("drop = ['<']")
    with pytest.raises(OverridesError, match=r"overrides.toml:1: '<' is not a valid CSS selector"):
        list(extract_paths([folder], models=models))


def test_crawl_applies_overrides_to_held_and_later_pages(site: Site, tmp_path: Path) -> None:
    small_site(site, 9)
    name = site.url.removeprefix("http://").replace(":", "-")
    path = tmp_path / "models" / name / OVERRIDES
    path.parent.mkdir(parents=True)
    path.write_text(
        'keep = ["footer"]\n[[rule]]\npattern = "re:/[1-9]$"\ndrop = ["article p:last-child"]\n'
        'title = "article p"\n'
    )
    learned = ["-s", "CONTENTSPIDER_LEARN_PAGES=4", "-s", "CONCURRENT_REQUESTS=1"]
    first = run("crawl", site.url, "--own-site", "-o", "first.jsonl", *learned, cwd=tmp_path)
    assert "(1 learned, 0 loaded)" in first.stderr
    run("crawl", site.url, "--own-site", "-o", "second.jsonl", cwd=tmp_path)
    for output in ("first.jsonl", "second.jsonl"):
        items = {str(item["url"])[-2:]: item for item in read_jsonl(tmp_path / output)}
        assert len(items) == 9
        for number in range(1, 9):
            content = str(items[f"/{number}"]["content"])
            assert content == f"Page {number}\n{prose(number, 1)}\n© 2024 All rights reserved"
            assert items[f"/{number}"]["title"] == prose(number, 1)
    assert path.read_text().startswith("keep")  # learning has left it alone
    path.write_text("\nkeep = ['<']")
    done = run("crawl", site.url, "--own-site", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert f"{path.relative_to(tmp_path)}:2: '<' is not a valid CSS selector" in done.stderr


def test_broken_overrides_of_redirected_site_make_crawl_incomplete(
    site: Site, tmp_path: Path
) -> None:
    small_site(site, 3)
    host = site.url.replace("127.0.0.1", "localhost")
    site.add("/moved", f"<meta http-equiv=refresh content='0; url={host}/'>")
    name = site.url.removeprefix("http://127.0.0.1").replace(":", "localhost-")
    path = tmp_path / "models" / name / OVERRIDES
    path.parent.mkdir(parents=True)
    path.write_text("keep = 3")
    done = run("crawl", f"{site.url}/moved", "--own-site", cwd=tmp_path, check=False)
    assert done.returncode == 4
    assert done.stderr.count("overrides.toml:1: keep " + wording("page.not-selectors")) == 1
    assert "1 site with overrides.toml that could not be used" in done.stderr
    assert len(read_jsonl(tmp_path / "pages.jsonl")) == 3
