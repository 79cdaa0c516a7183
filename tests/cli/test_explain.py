"""``contentspider explain``: why a text is kept or dropped, and the correction that changes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from contentspider.cli import main
from contentspider.page.input.overrides import OVERRIDES, Overrides
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.single_page import extract_page
from contentspider.site.models.reasons import Reasons
from contentspider.site.models.selectors import PathTree
from contentspider.site.own.texts import OwnText
from tests.conftest import read_jsonl, run
from tests.sites import article, prose, small_site

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from contentspider.site.models.model import SiteModel
    from tests.conftest import Site

SHARE = "<div class=share><a href=/a>Share this page</a> <a href=/b>or print it</a></div>"


def shared(number: int) -> Page:
    return Page.from_html(article(number, SHARE), f"https://e.org/{number}")


@pytest.fixture(scope="module")
def model() -> SiteModel:
    return SiteLearner("e.org").fit(map(shared, range(30)))


def test_explained_correction_changes_what_the_next_crawl_keeps(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small_site(site, 8)
    for path, (*kind, body) in site.pages.items():
        site.pages[path] = (*kind, body.replace(b"<footer>", f"{SHARE}<footer>".encode()))
    monkeypatch.chdir(tmp_path)
    crawl = ("crawl", site.url, "--own-site", "-o", "x.jsonl")
    run(*crawl, cwd=tmp_path)
    pages = {str(item["url"]): str(item["content"]) for item in read_jsonl(tmp_path / "x.jsonl")}
    page = f"{site.url}/3"
    assert "Share this page" not in pages[page]
    assert main(["explain", page]) == 0
    assert f"+ {prose(3, 1)[:60]}" in capsys.readouterr().out
    assert main(["explain", page.removeprefix("http://"), "share THIS"]) == 0
    said = capsys.readouterr()
    assert re.search(r"\bis dropped\b", said.out)
    assert "on 7 other pages" in said.out and "links are 9" in said.out
    assert "of 8 pages" in said.out and "the vote" in said.out, "who decided"
    line = re.search(r"^ +(keep = .*share.*)$", said.out, re.MULTILINE)
    where = re.search(r"models\S+" + OVERRIDES, said.err)
    assert line and where
    (tmp_path / where[0]).write_text(line[1])
    run(*crawl, cwd=tmp_path)
    pages = {str(item["url"]): str(item["content"]) for item in read_jsonl(tmp_path / "x.jsonl")}
    assert all("Share this page" in text for text in pages.values())
    assert main(["explain", page, "share"]) == 0
    assert f"person: {line[1]}" in capsys.readouterr().out
    assert main(["explain", page, "no such text"]) == 1
    assert main(["explain", page, "--crawl", "none"]) == 1


def test_page_that_no_crawl_has_is_fetched_and_judged_alone(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add("/", article(1))
    monkeypatch.chdir(tmp_path)
    assert main(["explain", f"{site.url}/", prose(1, 2)[:40]]) == 0
    said = capsys.readouterr()
    assert "fetched" in said.err
    assert "the general prior" in said.out and "is kept" in said.out
    assert 'drop = ["article p"]' in said.out


def test_text_like_content_is_not_dropped_because_of_what_it_has_in_common() -> None:
    cookies = "<div class=cookie-bar>We use cookies to improve your visit to the harbour.</div>"
    pages = [Page.from_html(article(n, cookies), f"https://e.org/{n}") for n in range(30)]
    model = SiteLearner("e.org").fit(pages)
    reasons = Reasons(model, [model.extract(page) for page in pages])
    extraction = model.extract(pages[3])
    texts = [block.text for block in pages[3].content.blocks]
    bar = reasons.explain(extraction, next(i for i, text in enumerate(texts) if "cookies" in text))
    assert not bar.is_kept
    lengths = [reason for reason in bar.reasons if "characters" in reason]
    assert lengths and not any("ends as a sentence" in reason for reason in lengths)
    assert not any("no links" in reason for reason in bar.reasons)
    body = reasons.explain(extraction, texts.index(prose(3, 1)))
    assert body.is_kept and not any("no sentence" in reason for reason in body.reasons)


def test_reasons_speak_for_or_against_the_decision(model: SiteModel) -> None:
    pages = [shared(number) for number in range(12)]
    reasons = Reasons(model, [model.extract(page) for page in pages])
    extraction = model.extract(pages[3])
    texts = [block.text for block in pages[3].content.blocks]
    menu = reasons.explain(extraction, texts.index("Home"))
    assert not menu.is_kept and not menu.doubts
    assert any("same text stands on 11 other pages" in reason for reason in menu.reasons)
    assert menu.correction is not None
    assert menu.correction[1:] == (12, 12)
    body = reasons.explain(extraction, texts.index(prose(3, 1)))
    assert body.is_kept and body.correction is not None
    assert body.correction.lines == ('drop = ["article p"]',)
    assert str(body).count("\n") > 4
    assert not re.search(r"shape|slot ", str(body)), "words, no codes"


def test_correction_by_one_page_spares_the_places_of_other_pages(model: SiteModel) -> None:
    """The imprint has one paragraph; the stories of the site have theirs in another place."""
    html = article(1, SHARE).replace("<article>", "<article><div>", 1)
    page = Page.from_html(html, "https://e.org/imprint")
    index = [block.text for block in page.content.blocks].index(prose(1, 1))
    correction = Reasons(model).explain(model.extract(page), index).correction
    assert correction is not None
    (rule,) = Overrides.parse("\n".join(correction.lines)).tables
    story = Page.from_html(article(2, SHARE), page.url, overrides=Overrides((rule,)))
    assert story.corrections is not None
    assert not any(story.corrections.drop.values()), correction.lines


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("div", "-2x"),
        ("div", "-"),
        ("div", "--wide"),
        ("g:card", "tea"),
        ("p", "2a"),
        ("p", "w-1/2"),
        ("p", "group/item"),
        ("p", "tea dark:text-white/5"),
        ("p", "p-1.5 w-[5px] before:content-['.a'] bg-[#fff]"),
        ("p", "[&>b]:mt-4"),
        ("p", " ".join(f"tea-{word}" for word in prose(3).split())),
    ],
)
def test_corrections_have_valid_selectors_for_strange_names(tag: str, name: str) -> None:
    html = f"<{tag} class='{name}'>{prose(1)}</{tag}><div><i>{prose(2)}</i></div>"
    extraction = extract_page(Page.from_html(html, "https://e.org/"))
    correction = Reasons().explain(extraction, 0).correction
    assert correction is not None
    decision = Overrides.parse(correction.lines[-1])
    corrections = Page.from_html(html, "https://e.org/", overrides=decision).corrections
    assert corrections is not None
    selected = {**corrections.drop, **corrections.keep}
    assert list(selected.values()) == [[0]]


def test_page_is_compared_once_for_all_its_texts(
    model: SiteModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Counted(PathTree):
        def __init__(self, paths: Iterable[str]) -> None:
            made.append(self)
            super().__init__(paths)

    monkeypatch.setattr("contentspider.site.models.reasons.PathTree", Counted)
    extraction = model.extract(Page.from_html(article(1, SHARE), "https://e.org/1"))
    reasons = Reasons(model)
    for index in range(len(extraction.page.content.blocks)):
        reasons.explain(extraction, index)
    assert len(made) == 1


def test_place_that_is_said_to_be_boilerplate_does_not_speak_for_content() -> None:
    from example_site import ExampleSite

    site = ExampleSite(1, articles=10, recipes=0, chapters=0)
    pages = {path: Page.from_html(html, path) for path, html in site.pages.items()}
    model = SiteLearner("e.org").fit(pages.values())
    extraction = model.extract(pages["/imprint.html"])
    for index in range(len(extraction.kept)):
        why = Reasons(model).explain(extraction, index)
        speak_for, against = why.reasons, why.doubts
        if not why.is_kept:
            speak_for, against = against, speak_for
        assert not any("which are content" in fact for fact in against), why.text
        assert not any("which are boilerplate" in fact for fact in speak_for), why.text


def test_saved_page_is_explained_with_its_folder_and_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved").mkdir()
    for number in range(8):
        (tmp_path / f"saved/{number}.html").write_text(article(number, SHARE))
    assert main(["explain", "saved/3.html", "share this"]) == 0
    said = capsys.readouterr()
    assert "of 8 pages" in said.out and "is dropped" in said.out and "on 7 other pages" in said.out
    line = re.search(r"^ +(keep = .*share.*)$", said.out, re.MULTILINE)
    where = re.search(r"models\S+" + OVERRIDES, said.err)
    assert line and where
    (tmp_path / where[0]).parent.mkdir(parents=True)
    (tmp_path / where[0]).write_text(line[1])
    assert main(["extract", "saved", "-o", "out.jsonl"]) == 0
    assert all("Share this page" in str(i["content"]) for i in read_jsonl(tmp_path / "out.jsonl"))
    capsys.readouterr()
    assert main(["explain", "saved/3.html", "share this"]) == 0
    assert "a person: keep" in capsys.readouterr().out
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "page.html").write_text(article(1))
    assert main(["explain", "one/page.html", prose(1, 2)[:40]]) == 0
    assert "the general prior" in capsys.readouterr().out
    (tmp_path / "one" / "empty.html").write_text("")
    assert main(["explain", "one/empty.html"]) == 1


def test_page_in_a_subfolder_is_of_the_site_of_the_saved_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text(article(9))  # beside the folder, and no page of the site
    for number in range(8):
        folder = tmp_path / ("saved" if number < 2 else f"saved/tea/{number}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.html").write_text(article(number, SHARE))

    def explained(page: str, *options: str) -> str:
        assert main(["explain", page, "share this", *options]) == 0
        return capsys.readouterr().out

    assert "of 8 pages" in explained("saved/tea/5/5.html")
    assert "of 8 pages" in explained("tea/5/5.html", "--folder", "saved"), "as items name it"
    assert "of 8 pages" in explained("saved/tea/5/5.html", "--folder", "saved")
    assert "of 6 pages" in explained("saved/tea/5/5.html", "--folder", "saved/tea")
    assert main(["explain", "saved/1.html", "--folder", "saved/tea"]) == 1
    assert main(["explain", "7.html", "--folder", "saved"]) == 1
    rules = tmp_path / "models/tea" / OVERRIDES
    rules.parent.mkdir(parents=True)
    rules.write_text('keep = [".share"]')
    assert "is kept" in explained("saved/tea/5/5.html"), "the nearest known site"


def test_selector_that_would_drop_most_content_is_not_advised() -> None:
    """All texts of the page are in cells without names."""
    texts = [prose(0, part) for part in range(8)]
    html = f"<table><tr><td>{texts[0]}</td><td>{'<br><br>'.join(texts[1:])}</td></tr></table>"
    why = Reasons().explain(extract_page(Page.from_html(html, "https://e.org/1")), 0)
    assert why.is_kept and why.correction is None
    assert "td" in why.too_wide and why.too_wide in str(why) and "overrides.toml (" not in str(why)


def test_correction_is_of_one_page_where_its_place_is_mixed(model: SiteModel) -> None:
    pages = [shared(number) for number in range(12)]
    extractions = [model.extract(page) for page in pages]
    texts = [block.text for block in pages[0].content.blocks]
    index = texts.index(prose(0, 1))
    for extraction in extractions[6:]:
        extraction.kept[[block.tag == "p" for block in extraction.page.content.blocks]] = False
    correction = Reasons(model, extractions).explain(extractions[0], index).correction
    assert correction is not None
    assert correction.lines == ("[[rule]]", 'pattern = "/0"', 'drop = ["article p"]')
    (rule,) = Overrides.parse("\n".join(correction.lines)).tables
    assert rule.holds_for(pages[0].url) and not rule.holds_for(pages[1].url)


def test_correction_of_one_text_of_many_pages_has_no_pattern(model: SiteModel) -> None:
    """The notice has the place of the content of other pages."""
    pages = [
        Page.from_html(
            article(number, "<aside><i>Orders of this week are sent on Monday.</i></aside>")
            if number < 16
            else article(number, f"<aside><i>{prose(number, 7)}</i></aside>"),
            f"https://e.org/{number}",
        )
        for number in range(40)
    ]
    extractions = [model.extract(page) for page in pages]
    index = next(i for i, b in enumerate(pages[3].content.blocks) if "Monday" in b.text)
    for is_kept in (True, False):
        for number, extraction in enumerate(extractions):
            extraction.kept[index] = is_kept == (number < 16)
        correction = Reasons(model, extractions).explain(extractions[3], index).correction
        assert correction is not None
        (line,) = correction.lines
        assert line.startswith("drop" if is_kept else "keep") and "aside" in line
        assert correction[1:] == (16, 16)


def test_correction_is_of_the_folder_whose_pages_have_the_place_alike(model: SiteModel) -> None:
    pages = [
        Page.from_html(article(number), f"https://e.org/{folder}/{number}")
        for folder in ("news/local", "news/world", "shop")
        for number in range(6)
    ]
    extractions = [model.extract(page) for page in pages]
    for extraction in extractions:
        dropped = "/news/" not in extraction.page.url
        extraction.kept[
            [block.tag == "p" for block in extraction.page.content.blocks]
        ] = not dropped
    texts = [block.text for block in pages[0].content.blocks]
    correction = Reasons(model, extractions).explain(extractions[0], texts.index(prose(0, 1)))
    assert correction.correction is not None
    *rule, line = correction.correction.lines
    assert rule == ["[[rule]]", 'pattern = "/news/*"'] and line.startswith("drop")
    assert correction.correction.pages == 12
    for extraction in extractions[7:12]:
        extraction.kept[:] = False
    correction = Reasons(model, extractions).explain(extractions[0], texts.index(prose(0, 1)))
    assert correction.correction is not None
    assert correction.correction.lines[1] == 'pattern = "/news/local/*"'


def test_prior_and_texts_that_keep_each_other_are_named() -> None:
    html = f"<p>{prose(1)}<p>{prose(2)}"
    extraction = extract_page(Page.from_html(html, "https://e.org/"))
    assert "general prior" in Reasons().explain(extraction, 0).decided_by
    extraction.probabilities[1] = 0.1
    assert "a text that is content" in Reasons().explain(extraction, 1).decided_by


def test_own_text_has_whole_words() -> None:
    page = Page.from_html(f"<p>Tea</p><p>{prose(1)}</p>", "https://e.org/")
    own_texts = [OwnText(page.url, text, "feed") for text in ("Steam.", "Hot tea.")]
    opinions = Reasons(own_texts={page.url: own_texts}).explain(extract_page(page), 0).opinions
    assert [" lacks it" in opinion for opinion in opinions] == [True, False]
