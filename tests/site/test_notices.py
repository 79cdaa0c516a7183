"""Notices of pages that are judged alone, and text that only looks like them."""

from __future__ import annotations

import pytest

from contentspider import extract_html

TEXT = "".join(
    f"<p>The ferry of route {number} leaves the quay at ten and comes back in the evening.</p>"
    for number in range(5)
)


def shown(body: str) -> str:
    return extract_html(f"<title>Ferry</title><main><h1>Ferry</h1>{TEXT}{body}{TEXT}</main>").text


@pytest.mark.parametrize(
    "own",
    [
        "Was this trip helpful? We hope that it was, and that you will sail with us again soon.",
        "How useful was the old lighthouse to the captains who came home in the fog?",
        "Did the doctor help the captain?",
        "Did you find this island on the map?",
        "Este navio é seguro?",
        "Esta viagem foi a mais longa do verão.",
        "Es útil este mapa para los capitanes.",
        "Questa pagina del diario è utile a chi viaggia.",
    ],
)
def test_questions_about_other_things_stay(own: str) -> None:
    assert own in shown(f"<p>{own}</p>")


@pytest.mark.parametrize(
    ("entry", "is_menu"),
    [
        ("Copy page as Markdown for LLMs", True),
        ("Open in ChatGPT", True),
        ("Ask questions about this page", True),
        ("View this page as plain text", True),
        ("Open in the morning", False),
        ("Ask questions about this page of the diary", False),
    ],
)
def test_menus_of_assistants_go(entry: str, is_menu: bool) -> None:
    assert (entry not in shown(f"<div role=menu><p>{entry}</p></div>")) == is_menu


@pytest.mark.parametrize(
    ("words", "is_notice"),
    [
        ("Advertisement", True),
        ("This article is for subscribers only.", True),
        ("Subscribe to continue reading this article", True),
        ("3 out of 5 found this helpful", True),
        ("Glad to hear it! Please tell us how we can improve.", True),
        ("Advertisement in ferries began in 1920.", False),
        ("This article is for subscribers of the old ferry line, who paid by the year.", False),
        ("The captain was glad to hear it. Please wait at the quay.", False),
    ],
)
def test_words_for_those_who_have_not_paid_and_answers_go(words: str, is_notice: bool) -> None:
    assert (words not in shown(f"<p>{words}</p>")) == is_notice


def test_question_goes_with_its_heading_and_its_answers() -> None:
    asked = "<h2>Feedback</h2><p>Was this page helpful?</p><button>Yes</button><button>No</button>"
    assert shown(asked) == shown("")


def test_consent_that_names_partners_goes() -> None:
    box = (
        "<div class=gdpr><h3>Your privacy</h3><p>We and our 842 partners store and access"
        " information on a device.</p><button>Manage options</button><button>Consent</button></div>"
    )
    assert shown(box) == shown("")
    own = "<p>We and our partners in the harbour store ropes and use them in the evening.</p>"
    assert "ropes" in shown(own)


@pytest.mark.parametrize(
    "question",
    [
        "Did you find this page useful?",
        "Este artigo foi útil para você?",
        "Este artigo ajudou você?",
        "¿Fue útil esta página?",
        "Questa pagina ti è stata utile?",
    ],
)
def test_questions_about_the_page_go(question: str) -> None:
    assert question not in shown(f"<div><p>{question}</p><button>OK</button></div>")


@pytest.mark.parametrize(
    "opening",
    [
        "<div class=consent-form>",  # the consent of parents
        "<div class=trusted-people>",
        '<section id="cookie-consent"><h2>Cookie consent</h2>',
    ],
)
def test_names_of_topics_are_no_notices(opening: str) -> None:
    own = "Parents sign the form at the quay before their child may travel alone on the ferry."
    assert own in shown(f"<article>{opening}<p>{own}</p></article>")


def test_ids_of_headings_are_no_names_of_notices() -> None:
    assert "The banner of the ship" in shown(
        "<h2 id=cookie-banner>The banner of the ship</h2>" + TEXT
    )


def test_link_to_preferences_does_not_hide_its_neighbours() -> None:
    links = "".join(f"<p><a href=/{name}>{name}</a></p>" for name in ("Prices", "Cookie consent"))
    own = "The harbour office is open on all days of the week from nine in the morning."
    assert own in shown(f"<div><p>{own}</p>{links}</div>")


def test_many_notices_take_linear_time() -> None:
    body = (TEXT + "<p>Was this page helpful?</p>") * 5_000
    found = extract_html(f"<title>Ferry</title><main>{body}</main>")
    assert "helpful" not in found.text
