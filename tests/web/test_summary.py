"""Summaries: which sentences are chosen, and how they are measured."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider import Page
from contentspider.page.write.summary import document_counts, summarise
from tests.conftest import read_jsonl, run, serve
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path


def summed_up(html: str, *hints: str, pages: int = 0, others: tuple[str, ...] = ()) -> str:
    counts = document_counts(others) if others else None
    return summarise(Page.from_html(html).content.blocks, hints, pages, counts)


FILLER = "Our team is happy to help you with that every day. "


def test_short_page_is_its_own_summary() -> None:
    assert (
        summed_up("<h1>Tea</h1><p>One. Two is here.</p><p>Three</p>") == "One. Two is here. Three"
    )
    assert summed_up("") == ""


def test_summary_has_first_sentence_and_sentences_like_title_in_order() -> None:
    html = (
        "<p>Tea grows on the hills of Darjeeling. It rains there a lot in summer.</p><p>"
        + "".join(f"{prose(number, words=9).rstrip('.')}. " for number in range(8))
        + "The harvest begins when the first leaves open in March.</p>"
    )
    first, last = "Tea grows on the hills of Darjeeling.", "first leaves open in March."
    found = summed_up(html, "When the harvest of the first leaves begins in March")
    assert found.startswith(first) and found.endswith(last)
    alone = summed_up(html)
    assert alone.startswith(first) and last not in alone


def test_sentences_repeated_on_all_pages_are_left_out_of_summary() -> None:
    own = "Oolong rests under wet cloths until half of it has oxidised. "
    html = f"<p>{FILLER}{FILLER}{own}{FILLER}{FILLER}{FILLER}{FILLER}</p>"
    found = summed_up(html, "Oolong", pages=20, others=(FILLER,) * 20)
    assert "Oolong rests under wet cloths" in found
    assert found.count("happy to help") <= 1, "once said is enough"


def test_summary_length_is_limited() -> None:
    text = "".join(f"<p>{prose(number, words=60)}</p>" for number in range(40))
    assert len(summed_up(text).split()) <= 120
    assert summed_up(f"<p>{'word ' * 5_000}. {'other ' * 10}</p>" * 6)


@pytest.mark.parametrize("end", ["。", "！", "？"])
def test_sentences_end_with_cjk_punctuation(end: str) -> None:
    sentences = [
        f"茶葉は山の上で育ちます{number}番目の文です{end}" for number in "一二三四五六七八"
    ]
    found = summed_up(f"<p>{''.join(sentences)}</p>")
    assert found.startswith(sentences[0])
    assert all(part in sentences for part in found.split(" "))


def test_summarise_command_summarises_pages_of_folder(tmp_path: Path) -> None:
    for number in range(12):
        text = "".join(f"{prose(number, part, words=12)} " for part in range(9))
        title = prose(number, "title", words=4)
        (tmp_path / f"{number}.html").write_text(
            f"<title>{title}</title><nav><a href=/>Home</a></nav><h1>{title}</h1><p>{text}</p>"
        )
    done = run("summarise", str(tmp_path), cwd=tmp_path)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["url"] for one in found] == sorted(f"{number}.html" for number in range(12))
    for one in found:
        number = one["url"].removesuffix(".html")
        assert one["title"] == prose(int(number), "title", words=4)
        assert one["summary"].startswith(prose(int(number), 0, words=12))
    run("summarise", str(tmp_path), "-o", "out.jsonl", cwd=tmp_path)
    assert (tmp_path / "out.jsonl").read_text() == done.stdout


@pytest.mark.thorough
def test_items_have_summary_only_if_requested(tmp_path: Path) -> None:
    with serve() as site:
        for number in range(6):
            links = "".join(f"<a href=/{one}>{one}</a> " for one in range(1, 6))
            text = " ".join(prose(number, part, words=12) for part in range(9))
            site.add(f"/{number or ''}", f"<title>Page</title><nav>{links}</nav><p>{text}</p>")
        asked = ["-s", "CONTENTSPIDER_SUMMARY=True"]
        for name, options in (("a", asked), ("b", asked), ("c", [])):
            run("crawl", f"{site.url}/", "-o", f"{name}.jsonl", *options, cwd=tmp_path)
    first, second, without = (
        {str(item["url"]): item for item in read_jsonl(tmp_path / f"{name}.jsonl")}
        for name in "abc"
    )
    assert len(first) == len(second) == len(without) == 6
    for url, item in first.items():
        summary = str(item["summary"])
        assert 2 <= summary.count(".") <= 5
        assert all(sentence in str(item["content"]) for sentence in summary.split(". "))
        assert second[url]["summary"] == summary
        assert without[url]["summary"] == ""
        assert second[url]["change"] == without[url]["change"] == "unchanged"
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "1.html").write_text(f"<p>{prose(1)} {prose(2)}")
    run("extract", "pages", "--summary", "-o", "pages.jsonl", cwd=tmp_path)
    [item] = read_jsonl(tmp_path / "pages.jsonl")
    assert item["summary"] == f"{prose(1)} {prose(2)}"
