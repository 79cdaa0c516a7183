"""Replaces searched words that an index does not have by similar words of the index.

The last word of a query may be the beginning of a longer word, since people search while they
type. Any other unknown word may have a typing error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from contentspider.index.synonyms import NO_SYNONYMS
from contentspider.index.words import JOINT, LETTER, query_terms, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from contentspider.index.synonyms import Synonyms
    from contentspider.index.words import Term

    # Returns the words of an index that begin with a prefix, each with its number of documents.
    Vocabulary = Callable[[str], Mapping[str, int]]

# Shorter words are neither completed nor corrected: too many words are like them.
MIN_CHARS = 3
MIN_CORRECTED_CHARS = 4
# Words of this length may have two errors, shorter ones one. An error is a letter that is missing,
# superfluous or wrong, or two neighbours that have changed places.
LONG_CHARS = 8
# The most frequent completions of the last word that are searched, and the corrections of a word.
MAX_COMPLETIONS, MAX_CORRECTIONS = 50, 3
# While a word is typed, completions with this share of the documents of the most frequent one are
# searched. Pages with many rare completions (names in code) would come first.
LEAST_SHARE = 0.1
MAX_TYPED_TEXTS = 5  # that may be titles
# Only this many unknown words of a query are replaced: each may be compared with all words of the
# index.
MAX_REPLACED = 5


class Correction(NamedTuple):
    """The *terms* to search in place of a query's terms, and the query's *text* with its corrected
    words. The text is "" if no word was corrected. The completion of a word does not count as a
    correction.
    """

    terms: list[Term]
    text: str


def correct(
    text: str,
    languages: Sequence[str],
    vocabulary: Vocabulary,
    synonyms: Synonyms = NO_SYNONYMS,
) -> Correction:
    """Return the terms of a query's *text*, with words of the index for the words it lacks.

    Words without similar words in the index stay as they are, and so do words with *synonyms*.
    *languages* are the languages of the index (`query_terms`).
    """
    parts = synonyms.parts(text, languages)
    words: list[str] = []
    is_corrected, unknown_count = False, 0
    terms: dict[Term, None] = {}
    for part in parts:
        words += part.words
        part_terms = part.terms
        word = part.words[0]
        is_replaceable = not part.synonyms and not LETTER.match(word)
        is_unknown = is_replaceable and not _is_known(part_terms, vocabulary)
        unknown_count += is_unknown
        if is_unknown and unknown_count <= MAX_REPLACED:
            bare_word = part_terms[0][0][0]
            is_last = part is parts[-1]
            replacements = completions(bare_word, vocabulary) if is_last else []
            if not replacements and (replacements := corrections(bare_word, vocabulary)):
                words[-1], is_corrected = replacements[0], True
            if replacements:
                part_terms = [_any_of(replacements, languages)]
        terms |= dict.fromkeys(part_terms)
    return Correction(list(terms), " ".join(words) if is_corrected else "")


def with_completions(
    text: str,
    languages: Sequence[str],
    vocabulary: Vocabulary,
    synonyms: Synonyms = NO_SYNONYMS,
) -> list[Term]:
    """Return the terms of a query's *text* while its last word is being typed. Words of the index
    that begin with the last word match its term, too.

    The last word is complete if a space follows it, and is too short below `MIN_CHARS` characters.
    If it is the last of several words with a synonym, it is complete, too.
    """
    *first_parts, last_part = synonyms.parts(text, languages)
    terms = dict.fromkeys(term for part in first_parts for term in part.terms)
    *other_words, last_word = last_part.words
    is_complete = bool(other_words) or not text.casefold().endswith(last_word)
    if is_complete or len(last_word) < MIN_CHARS or LETTER.match(last_word):
        return list(terms | dict.fromkeys(last_part.terms))
    (last_term,) = last_part.terms
    bare_word = query_terms(last_word, languages)[0][0][0]
    counts = vocabulary(bare_word)
    words = [
        word
        for word in completions(bare_word, lambda _: counts)
        if counts[word] >= LEAST_SHARE * max(counts.values())
    ]
    open_term = tuple(dict.fromkeys([*last_term, *((word,) for word in words)]))
    return [*(term for term in terms if term != last_term), open_term]


def typed_texts(text: str, terms: Sequence[Term]) -> list[str]:
    """Return suggestions for a query while it is typed: its *text*, with the last word completed.

    The most frequent completions come first. *terms* is the result of `with_completions` for the
    query.
    """
    if not terms or not text[-1:].isalnum():
        return []
    start = text.rstrip()[: -len(split_words(text)[-1])]
    words = [form[0] for form in terms[-1] if len(form) == 1]
    return [f"{start}{word}" for word in words[:MAX_TYPED_TEXTS]]


def _any_of(words: Sequence[str], languages: Sequence[str]) -> Term:
    """Return the term that any form of any of the *words* matches."""
    forms = [form for word in words for form in query_terms(word, languages)[0]]
    return tuple(dict.fromkeys(forms))


def _is_known(terms: Sequence[Term], vocabulary: Vocabulary) -> bool:
    """Tell whether the index has any form of a word with these *terms*."""
    forms = [form[0] for term in terms for form in term]
    return any(len(form) < MIN_CHARS or form in vocabulary(form) for form in forms)


def completions(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return the words of an index that begin with a *word*, the most frequent first."""
    counts = vocabulary(word)
    return sorted(counts, key=lambda other: (-counts[other], other))[:MAX_COMPLETIONS]


def corrections(word: str, vocabulary: Vocabulary) -> list[str]:
    """Return the words of an index that a mistyped *word* may mean, the likeliest first.

    They have the fewest errors between them and the word. Words with the same first letter are
    preferred, since people seldom mistype it.
    """
    if len(word) < MIN_CORRECTED_CHARS or any(map(str.isnumeric, word)):
        return []
    for prefix in (word[0], ""):
        counts = vocabulary(prefix)
        matches = process.extract(
            word,
            [other for other in counts if not other.startswith(JOINT)],
            scorer=OSA.distance,
            processor=None,
            score_cutoff=2 if len(word) >= LONG_CHARS else 1,
            limit=None,
        )
        if matches:
            least = min(errors for _, errors, _ in matches)
            nearest = [match for match, errors, _ in matches if errors == least]
            nearest.sort(key=lambda other: (-counts[other], other))
            return _whole_words_first(nearest)[:MAX_CORRECTIONS]
    return []


def _whole_words_first(words: Sequence[str]) -> list[str]:
    """Return words of an index with stems last: words that are the beginning of another one."""
    return sorted(
        words,
        key=lambda word: any(other != word and other.startswith(word) for other in words),
    )
