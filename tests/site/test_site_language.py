"""Sites whose pages state a language, and are in another one."""

from __future__ import annotations

import pytest

from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import page_fields

pytest.importorskip("py3langid")

TEXTS = {
    "de": "Die Fähre fährt {} Mal am Tag zur Insel, und im Winter nur, wenn das Wetter gut ist.",
    "da": "Færgen sejler {} gange om dagen til øen, og om vinteren kun, når vejret er godt.",
    "en": "The ferry goes to the island {} times a day, and in winter it is often too late.",
}


def page(number: int, stated: str, language: str) -> Page:
    text = " ".join(TEXTS[language].format(number + line) for line in range(4))
    html = (
        f'<html lang="{stated}"><title>Page {number}</title><body><nav><a href=/>Home</a>'
        f" <a href=/all>All</a></nav><main><h1>Page {number}</h1><p>{text}</p></main>"
    )
    return Page.from_html(html, f"http://e.org/{number}")


def languages(pages: list[Page]) -> list[object]:
    """Return the languages of the items that a model of the site gives, stored and read again."""
    model = SiteLearner("e.org").fit(pages)
    model = SiteModel.parse(model.manifest(), model.dump_weights())
    return [
        page_fields(page, "e.org", model.extract(page), model.version)["language"] for page in pages
    ]


def test_wrong_statement_of_most_pages_is_ignored() -> None:
    german = [page(number, "en-US", "de") for number in range(8)]
    assert languages(german) == ["de"] * 8
    english = [page(number, "en", "en") for number in range(8, 11)]
    assert languages([*german, *english]) == ["de"] * 8 + ["en"] * 3, "each page has its own"


def test_single_page_with_wrong_statement_keeps_it() -> None:
    pages = [page(number, "en", "en") for number in range(8)]
    assert languages([*pages, page(9, "en", "de")]) == ["en"] * 9


def test_wrong_statement_of_any_language_is_ignored() -> None:
    assert languages([page(number, "fr", "de") for number in range(8)]) == ["de"] * 8
    assert languages([page(number, "cs", "en") for number in range(8)]) == ["en"] * 8


def test_statement_of_a_close_language_is_believed() -> None:
    assert languages([page(number, "nb", "da") for number in range(8)]) == ["nb"] * 8


def test_language_is_not_detected_where_pages_look_english(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> str:
        raise AssertionError(text)

    monkeypatch.setattr("contentspider.site.learn.learner.detect_language", fail)
    assert languages([page(number, "en", "en") for number in range(8)]) == ["en"] * 8
