"""Of a question the words of its subject are searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query, create_engine
from contentspider.index.questions import subject_of
from contentspider.index.result_rows import result_rows
from contentspider.testing.engines import document, ids

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "languages", "expected"),
    [
        ("Where can I find the opening hours?", ["en"], "find opening hours"),
        ("Wie kann ich meinen Zugang löschen", ["en", "de-AT"], "zugang löschen"),
        ("où est la gare", ["fr"], "gare"),
        ("cómo borrar un informe", ["es"], "borrar informe"),
        ("как удалить отчет", ["ru"], "удалить отчет"),
        # Names and titles keep all of their words.
        ("The Who", ["en"], "The Who"),
        ("what is it", ["en"], "what is it"),
        ("The delete of a report", ["en"], "The delete of a report"),
        # "Was" begins German questions, and "come" Italian ones, but not English ones.
        ("come to the party", ["en"], "come to the party"),
        ("how do I delete a report", ["ja", "de"], "how do I delete a report"),
        ("how do I delete a report", [], "how do I delete a report"),
        ("", ["en"], ""),
        ("?!", ["en"], "?!"),
    ],
)
def test_subject_of_question(text: str, languages: list[str], expected: str) -> None:
    assert subject_of(text, languages) == expected


def test_question_finds_the_page_on_its_subject_first(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:{tmp_path / 'pages.db'}")
    engine.open(is_writer=True)
    talk = "How do I do what I do? I do a report, and then I delete a line."
    engine.upsert(
        [
            document(1, title="Talk", content=talk, language="en"),
            document(2, title="Delete reports", content="Delete reports here.", language="en"),
        ]
    )
    engine.flush()
    assert ids(engine, "how do I delete a report") == [2, 1]
    query = Query("how do I delete a report")
    first, second = result_rows(query, engine.search(query))
    assert [text for text, is_match in second.pieces if is_match] == ["report", "delete"]
    assert first.id.endswith("2")
    engine.close()
