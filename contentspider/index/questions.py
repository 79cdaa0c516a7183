"""Finds the subject of a question: its words without question words and function words."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from contentspider.index.words import split_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class QuestionWords(NamedTuple):
    """The words that questions of a language begin with (*questions*), and words that say nothing
    about the subject, such as articles and pronouns (*function_words*).
    """

    questions: frozenset[str]
    function_words: frozenset[str]


def subject_of(text: str, languages: Sequence[str]) -> str:
    """Return the subject of a question, such as "delete report".

    A text that is not a question is returned unchanged, because each word of a name or a title may
    matter. A question in another language than *languages* (BCP 47 tags) is returned unchanged, and
    so is a question that has only function words.

    >>> subject_of("How do I delete a report?", ["en-GB"])
    'delete report'
    >>> subject_of("The delete report", ["en"]), subject_of("Wer ist wer?", ["de"])
    ('The delete report', 'Wer ist wer?')
    """
    words = split_words(text)
    for language in dict.fromkeys(tag.partition("-")[0].lower() for tag in languages):
        lists = _question_words().get(language)
        if lists and words and words[0] in lists.questions:
            stop_words = lists.questions | lists.function_words
            if subject := [word for word in words if word not in stop_words]:
                return " ".join(subject)
    return text


@cache
def _question_words() -> Mapping[str, QuestionWords]:
    """Return the question words by language."""
    text = (files("contentspider.index") / "questions.json").read_text(encoding="utf-8")
    return {
        language: QuestionWords(*(frozenset(words.split()) for words in lists.values()))
        for language, lists in json.loads(text).items()
    }
