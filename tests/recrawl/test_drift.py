"""Sites whose templates change after they were learned: between crawls, and in the midst of one."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from contentspider import Page, SiteLearner
from contentspider.recrawl import drift
from contentspider.recrawl.drift import A_FEW, ENOUGH, LESS_SURE, SHARED_BY, Drift
from contentspider.recrawl.places import slot_key
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.site.models.summary import MIN_CHARS, Baseline
from tests.sites import WRITERS, article, bylined, prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.conftest import Site

THEME = (
    "<html><head><title>{title}</title></head><body><div class=top><ul><li><a href=/>Start</a>"
    "<li><a href=/1>News</a></ul></div><div class=wrap><div class='post-body'><h2>{title}</h2>"
    "<div class=txt>{first}</div><div class=txt>{second}</div></div><div class=aside>{aside}</div>"
    "</div><div class=bottom>All about us and our terms</div></body></html>"
)


def themed(number: int) -> str:
    """Return the article of a number in another theme: its text is the same."""
    return THEME.format(
        title=f"Page {number}",
        first=prose(number, 1),
        second=prose(number, 2),
        aside=f"<a href=/news>Read on: {prose('aside', words=6)}</a>",
    )


def pages(bodies: list[str]) -> list[Page]:
    return [Page.from_html(body, f"http://e.example/{n}") for n, body in enumerate(bodies)]


def test_pages_that_were_not_sent_again_are_known_to_the_model() -> None:
    model = SiteLearner("e.example").fit(pages([article(number) for number in range(40)]))
    changed = pages([themed(number) for number in range(A_FEW)])
    for count, is_found in ((0, True), (40, False)):
        watch = Drift(model)
        for _ in range(count):
            watch.note_known()
        assert all(watch.add(page) for page in changed)
        assert watch.is_found is is_found, f"{A_FEW} strange pages among {count} others"


def test_drift_is_found_for_shared_new_template_but_not_for_single_strange_pages() -> None:
    model = SiteLearner("e.example").fit(pages([article(number) for number in range(40)]))
    watch = Drift(model)
    assert not any(watch.add(page) for page in pages([article(n) for n in range(50, 90)]))
    odd = [article(number).replace("<article>", "<section>" * (number + 1)) for number in range(12)]
    strange = [watch.add(page) for page in pages(odd)]
    assert all(strange) and not watch.is_found, "each in its own way"
    for page in pages([themed(number) for number in range(100, 99 + SHARED_BY)]):
        assert watch.add(page)
        assert watch.add(page), "a page of two items counts once"
        assert not watch.is_found
    assert watch.add(Page.from_html(themed(1), "/last"))
    assert watch.is_found
    assert f"{SHARED_BY} of them at" in watch.evidence()


def test_drift_is_found_on_small_site_with_only_strange_pages() -> None:
    model = SiteLearner("e.example").fit(pages([article(number) for number in range(10)]))
    watch = Drift(model)
    for page in pages([themed(number) for number in range(A_FEW)]):
        assert not watch.is_found
        watch.add(page)
    assert watch.is_found
    assert not Drift(model).is_found


ASIDE = f"Subscribe to our letter. {prose('letter')}"


def with_aside(number: int, aside: str = ASIDE) -> str:
    """Return an article with a text that is the same on all pages beside it."""
    return article(number).replace("<footer>", f"<div class=letter>{aside}</div><footer>")


def swapped(number: int) -> str:
    """Return the article with its text at the other's place."""
    first, second = prose(number, 1), prose(number, 2)
    text = with_aside(number).replace(f"<p>{first}</p><p>{second}</p>", "")
    return text.replace(ASIDE, first).replace(
        "<footer>", f"<div class=letter>{second}</div><footer>"
    )


def test_drift_is_found_when_text_moves_to_place_of_boilerplate() -> None:
    model = SiteLearner("e.example").fit(pages([with_aside(number) for number in range(40)]))
    parsed = SiteModel.parse(model.manifest(), model.dump_weights())
    assert parsed.baseline == model.baseline
    watch = Drift(parsed)
    assert not any(watch.add(page) for page in pages([with_aside(n) for n in range(50, 90)]))
    for number, page in enumerate(pages([swapped(number) for number in range(SHARED_BY)])):
        assert not watch.is_found, number
        assert watch.add(page), "its places are known"
    assert watch.is_found and not watch.strange
    assert f"{SHARED_BY} pages with their text at body/div.letter come out empty" in (
        watch.evidence()
    )
    old = Drift(SiteModel.parse(model.manifest() | {"baseline": None}, model.dump_weights()))
    assert not any(old.add(page) for page in pages([swapped(n) for n in range(20)]))
    assert not old.is_found, "a model of few pages says nothing of it"


def test_drift_is_found_when_model_confidence_falls() -> None:
    model = SiteLearner("e.example").fit(pages([with_aside(number) for number in range(40)]))
    assert model.baseline is not None
    assert not model.baseline.empty
    model.baseline = Baseline(model.baseline.confidence + 2 * LESS_SURE, {"body/p": 0.5})
    watch = Drift(model)
    found = [watch.add(page) for page in pages([with_aside(n) for n in range(50, 52 + ENOUGH)])]
    assert found == [False] * (ENOUGH - 1) + [True] * 3, "held once that is the rule"
    assert watch.is_found and "its model is sure of half of" in watch.evidence()


NOTICE = "Comments are kept by another service now: sign in there to take part in what is said."


def noticed(number: int, notice: str = NOTICE) -> str:
    """Return an article with a new sentence below its text."""
    return article(number).replace("</article>", f"<div id=talk>{notice}</div></article>")


def test_new_sentence_on_most_pages_is_found_as_template_change() -> None:
    model = SiteLearner("e.example").fit(pages([article(number) for number in range(40)]))
    assert NOTICE in model.extract(Page.from_html(noticed(1), "/1")).text
    watch = Drift(model)
    for page in pages([noticed(number) for number in range(100, 100 + SHARED_BY)]):
        assert not watch.is_found
        assert watch.add(page), "it waits"
    assert watch.is_found and not watch.strange
    assert f"{SHARED_BY} pages with the same text at body/" in watch.evidence()
    for page in pages([article(number) for number in range(200, 200 + SHARED_BY)]):
        assert not watch.add(page)
    assert not watch.is_found, "no more than half of the pages have it"


def test_sentence_of_slot_that_changed_on_many_pages_is_no_template_change() -> None:
    model = SiteLearner("e.example").fit(pages([article(number) for number in range(40)]))
    added = pages([noticed(number) for number in range(100, 100 + SHARED_BY)])
    paths = {block.path for block in added[0].content.blocks if block.text == NOTICE}
    watch = Drift(model, {slot_key(model.slot_of(path)) for path in paths})
    assert not any(watch.add(page) for page in added)
    assert not watch.is_found


def test_pages_with_differing_new_sentences_wait_until_place_is_known() -> None:
    model = SiteLearner("e.example").fit(pages([article(number) for number in range(40)]))
    others = pages([noticed(number, prose("talk", number)) for number in range(100, 108)])
    watch = Drift(model)
    assert [watch.add(page) for page in others] == [True] * 4 + [False] * 4
    # seven of ten others at the place are no more than 70 percent, eight of eleven are
    same = pages([noticed(number) for number in range(200, 210)])
    watch = Drift(model)
    found = [watch.add(page) for page in others[:3] + same]
    assert found == [True] * 4 + [False] * 7 + [True] * 2
    assert watch.recurring[1] == 10


def test_field_in_another_place_is_found_as_template_change() -> None:
    model = SiteLearner("e.example").fit(pages([bylined(number) for number in range(60)]))
    assert model.fields["author"].places
    watch = Drift(model)
    for page in pages([bylined(number) for number in range(61, 101)]):
        assert not watch.add(page)
    assert watch.unshown == ("", 0)
    watch = Drift(model)
    for page in pages([bylined(number, "penned") for number in range(101, 100 + 2 * SHARED_BY)]):
        assert not watch.is_found
        # A page that states its writer does not depend on the place.
        assert watch.add(page) is ("author" not in page.metadata.stated)
    assert watch.is_found and not watch.is_of_content
    assert f"{SHARED_BY} pages do not show the field author" in watch.evidence()


def test_own_field_in_another_place_is_found_as_template_change(tmp_path: Path) -> None:
    examples = [(f"http://e.example/{number}", WRITERS[number // 2 % 4]) for number in (1, 3)]
    entries = ", ".join(f'{{url = "{url}", value = "{value}"}}' for url, value in examples)
    file = tmp_path / "fields.toml"
    file.write_text(f"[writer]\nexamples = [{entries}]")
    options = LearningOptions(fields=str(file))
    bodies = [bylined(number).replace("<meta ", "<b ") for number in range(40)]
    model = SiteLearner("e.example", options).fit(pages(bodies))
    assert model.own_fields["writer"].places
    watch = Drift(model)
    for page in pages([bylined(number, "penned") for number in range(SHARED_BY)]):
        assert watch.add(page)
    assert watch.unshown == ("writer", SHARED_BY) and watch.is_found


class Places:
    """A model that has seen a part of each page, which says so itself."""

    baseline: Baseline | None = None

    def unseen_prose(self, page: SimpleNamespace) -> tuple[int, int]:
        return page.chars, page.unseen

    def extract(self, page: SimpleNamespace) -> SimpleNamespace:
        return SimpleNamespace(blocks=[])

    def slot_of(self, path: str) -> str:
        return {"body/p": "usual"}.get(path, path)

    def unstated_fields(self, page: SimpleNamespace) -> dict[str, bool]:
        return {}

    def unseen_slots(self, page: SimpleNamespace) -> list[tuple[str, int]]:
        return page.slots


def watched(*found: tuple[int, int, list[tuple[str, int]]]) -> Drift:
    watch = Drift(Places())  # type: ignore[arg-type]
    for number, (chars, unseen, slots) in enumerate(found):
        watch.add(SimpleNamespace(url=number, chars=chars, unseen=unseen, slots=slots))  # type: ignore[arg-type]
    return watch


def test_page_is_strange_if_most_prose_is_at_new_places() -> None:
    few = watched((MIN_CHARS - 1, MIN_CHARS - 1, []))
    assert (few.pages, few.strange, few.shared) == (0, 0, 0)
    short = SimpleNamespace(url="short", chars=MIN_CHARS - 1, unseen=MIN_CHARS - 1, slots=[])
    assert not few.add(short)  # type: ignore[arg-type]
    page = SimpleNamespace(url="page", chars=MIN_CHARS, unseen=MIN_CHARS, slots=[])
    assert few.add(page) and few.strange == 1  # type: ignore[arg-type]
    half = watched((1_000, 500, []), (1_000, 501, []))
    assert (half.pages, half.strange) == (2, 1)
    assert not half.is_found


def test_rare_page_kind_is_not_new_template() -> None:
    strange, known = (1_000, 900, [("a", 20)]), (1_000, 0, [])
    assert not watched(*[strange] * 10, *[known] * 500).is_found
    assert watched(*[strange] * 11, *[known] * 500).is_found


def test_short_pages_do_not_count_in_baseline() -> None:
    """What a model's own pages are compared with is counted as what comes later is."""
    short, long = (Page.from_html(f"<p>{'x' * chars}") for chars in (MIN_CHARS - 1, MIN_CHARS))
    found = Baseline.of([(short, [0.9]), (long, [0.1]), (short, [0.1])], lambda path: path)
    assert found == Baseline(0.9, {"body/p": 1.0})
    assert Baseline.of([(short, [0.9])], lambda path: path) == Baseline(0.0)


def test_slots_with_little_text_are_not_template_evidence() -> None:
    found = watched(*[(1_000, 900, [("a", 10), ("a", 9), ("b", 15), ("b", 5)])] * 3)
    assert found.shared == 3
    assert "3 of them at b" in found.evidence()


def test_drift_requires_more_than_half_of_pages_to_be_strange() -> None:
    strange, known = (1_000, 900, []), (1_000, 0, [])
    assert not watched(*[strange] * 5, *[known] * 5).is_found
    assert watched(*[strange] * 6, *[known] * 5).is_found
    assert not watched(*[strange] * 4).is_found, "they are too few"


def test_empty_pages_count_beyond_usual_share_of_their_slot() -> None:
    model = Places()
    model.baseline = Baseline(0.9, {"usual": 0.25})
    watch = Drift(model)  # type: ignore[arg-type]
    watch._at.update(usual=20, other=20)
    watch._empty.update(usual=15)
    assert watch.emptied == ("", 0), "no more than half of them beyond a quarter"
    watch._empty["usual"] += 1
    assert watch.emptied == ("usual", 11)
    watch._empty["other"] = 12
    assert watch.emptied == ("other", 12)
    model.baseline = None
    assert watch.emptied == ("usual", 16)
    watch.pages = 801
    assert not watch.is_found, "so many of a rare kind are nothing"
    watch.pages = 800
    assert watch.is_found


class Sureness(Places):
    """A model that is as sure of a page, and keeps as much of its blocks, as its address says."""

    baseline = Baseline(0.9, {"usual": 0.5})

    def unseen_prose(self, page: SimpleNamespace) -> tuple[int, int]:
        return MIN_CHARS, 0

    def extract(self, page: SimpleNamespace) -> SimpleNamespace:
        confidence, probability = map(float, page.url.split()[:2])
        probabilities = np.array([probability])
        return SimpleNamespace(confidence=confidence, probabilities=probabilities, blocks=[])


def sure(watch: Drift, *found: float, probability: float = 0.9, tag: str = "p") -> list[bool]:
    return [
        watch.add(Page.from_html(f"<{tag}>{prose(1)}", f"{confidence} {probability} {watch.pages}"))
        for confidence in found
    ]


def test_drift_is_found_when_half_of_pages_lose_confidence() -> None:
    less = 0.9 - LESS_SURE
    watch = Drift(Sureness())  # type: ignore[arg-type]
    assert not any(sure(watch, *[less - 0.1] * (ENOUGH // 2), *[0.9] * (ENOUGH // 2)))
    assert not watch.is_found, "the other half is as sure as ever"
    assert sure(watch, less - 0.1) == [True]
    assert watch.is_found
    assert f"its model is sure of half of {ENOUGH + 1} pages by 0.75 or less" in watch.evidence()
    watch = Drift(Sureness())  # type: ignore[arg-type]
    assert not any(sure(watch, *[less] * (ENOUGH - 1))) and not watch.is_found
    assert sure(watch, less, less - 0.01) == [False, True], "it is one of the less sure half"
    assert watch.is_found


def test_empty_page_is_held_unless_its_slot_was_usually_empty() -> None:
    watch = Drift(Sureness())  # type: ignore[arg-type]
    assert sure(watch, 0.9, probability=0.1, tag="p") == [False]
    assert sure(watch, 0.9, probability=0.1, tag="h2") == [True]
    assert (watch.pages, watch.strange, watch.emptied) == (2, 0, ("body/h2", 1))


def test_drift_watch_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "MAX_SLOTS", 2)
    monkeypatch.setattr(drift, "MAX_CONFIDENCES", ENOUGH - 1)
    known = Drift(SiteLearner("e.example").fit(pages([article(number) for number in range(40)])))
    for page in pages([article(number) for number in range(50, 60)]):
        known.add(page)
    assert (len(known._sentences), len(known._places)) == (2, 1)
    assert watched(*[(1_000, 900, [("a", 20)])] * 3).shared == 3
    assert watched(*[(1_000, 900, [("a", 20), ("b", 20)])] * 3).shared == 1
    watch = Drift(Sureness())  # type: ignore[arg-type]
    assert not any(sure(watch, *[0.1] * (ENOUGH + 1)))


def bodies_of(items: dict[str, dict[str, object]]) -> dict[str, list[str]]:
    return {path: str(item["content"]).split("\n") for path, item in items.items()}


def test_theme_changed_between_crawls_is_relearned_without_page_changes(
    site: Site, tmp_path: Path
) -> None:
    again = Recrawls(site, tmp_path)
    first = again.crawl()
    again.changes()
    again.articles = {f"/{number}": themed(number) for number in range(1, 12)}
    items = again.crawl()
    assert "its template has changed" in again.said and "the new model is used" in again.said
    assert items["/3"]["model_version"] != first["/3"]["model_version"]
    assert bodies_of(items)["/3"] == ["Page 3", prose(3, 1), prose(3, 2)]
    assert again.changes() == {}, "their text is the same"
    again.crawl()
    assert "new model" not in again.said


def test_notice_added_between_crawls_is_excluded_from_items(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    first = again.crawl()
    again.changes()
    again.articles = {f"/{number}": noticed(number) for number in range(1, 12)}
    items = again.crawl()
    assert "with the same text at" in again.said and "the new model is used" in again.said
    assert bodies_of(items) == bodies_of(first)
    assert again.changes() == {}
    assert bodies_of(again.crawl()) == bodies_of(first)
    assert "new model" not in again.said


def test_byline_that_moves_between_crawls_is_found_again(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles = {f"/{number}": bylined(number) for number in range(1, 40)}
    first = again.crawl()
    again.articles = {
        path: body.replace("class=who", "class=penned") for path, body in again.articles.items()
    }
    items = again.crawl()
    assert "do not show the field author" in again.said
    authors = {path: item["author"] for path, item in items.items()}
    assert authors == {path: item["author"] for path, item in first.items()}
    assert authors["/3"] == [WRITERS[1]] and authors["/5"] == [WRITERS[2]]
    again.crawl()
    assert "do not show" not in again.said


def test_template_appearing_late_in_crawl_is_learned_within_it(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles = {f"/{number}": article(number) for number in range(1, 60)}
    again.articles |= {f"/late/{number}": themed(number) for number in range(60, 80)}
    found, waiting = site.answer, Event()

    def late(path: str) -> tuple[int, str, bytes]:
        """Answer for the late pages when the site has been learned."""
        while path.startswith("/late") and not list(tmp_path.glob("models/*/manifest.json")):
            waiting.wait(0.02)
        return found(path)

    site.answer = late
    items = again.crawl("-s", "CONTENTSPIDER_LEARN_PAGES=40")
    assert "its template has changed" in again.said
    early = {items[f"/{number}"]["model_version"] for number in range(1, 40)}
    late = {items[f"/late/{number}"]["model_version"] for number in range(60, 80)}
    assert len(early) == len(late) == 1 and early != late, "what was written stays"
    bodies = bodies_of(items)
    for number in range(60, 80):
        assert bodies[f"/late/{number}"] == [f"Page {number}", prose(number, 1), prose(number, 2)]
    for number in range(1, 60):
        assert bodies[f"/{number}"] == [f"Page {number}", prose(number, 1), prose(number, 2)]


def test_few_strange_pages_are_extracted_with_existing_model(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl()
    again.changes()
    again.articles |= {f"/new/{number}": themed(number) for number in range(3)}
    items = again.crawl()
    assert "new model" not in again.said
    assert set(items) >= {"/new/0", "/new/1", "/new/2"}
    assert set(again.changes().values()) == {"new"}


def test_site_with_text_moved_to_place_of_boilerplate_is_relearned(
    site: Site, tmp_path: Path
) -> None:
    again = Recrawls(site, tmp_path)
    again.articles = {f"/{number}": with_aside(number) for number in range(1, 40)}
    again.crawl()
    again.articles = {f"/{number}": swapped(number) for number in range(1, 40)}
    items = again.crawl()
    assert "come out empty" in again.said and "the new model is used" in again.said
    assert bodies_of(items)["/3"] == ["Page 3", prose(3, 1), prose(3, 2)]
    again.crawl()
    assert "new model" not in again.said
