"""Finds the notices of a page that is judged alone: about cookies and consent, questions whether
the page was helpful, and signs that a page is being loaded.

Pages of one site show that such text repeats. A single page does not, so names and words tell.
"""

from __future__ import annotations

import re
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools


def _any_of(phrases: str) -> str:
    """Return a pattern for any of the *phrases*, which stand on a line each."""
    return "(?:" + "|".join(phrases.strip().split("\n")) + ")"


# Ids, classes and roles of consent notices: names with a word for the topic and one for the kind.
CONSENT = re.compile(
    r"[#.\[](?:(?=[\w-]*(?:cookie|consent|gdpr|ccpa))(?=[\w-]*(?:banner|consent|notice|bar(?![a-z])"
    r"|popup|modal|law|message|overlay|dialog|wall|alert|info|toast|disclaimer|prompt|accept))"
    r"|onetrust|didomi|cmplz|cybotcookie|usercentrics|qc-cmp|truste|iubenda-cs|cky-|osano"
    r"|cc-window|cc-banner)",
    re.IGNORECASE,
)
CONSENT_WORDS = (
    "cookie consent gdpr ccpa onetrust didomi cmplz usercentrics qc-cmp truste iubenda cky- osano"
    " cc-window cc-banner"
).split()
# What asks for consent without a name.
ASKS_FOR_CONSENT = re.compile(
    _any_of(
        r"""
\b(?:we|(?:this|our) (?:web ?)?site)\b.{0,40}\buses?\b.{0,40}\bcookies\b
\bcookies?\b.{0,60}\b(?:consent|accept all|preferences|einverstanden|zustimm|akzeptier)
\bcookies?\b.{0,60}\b(?:acepta|accepte|accetta|aceita|akceptuj|souhlas)
\b(?:wir|diese (?:web)?seite) (?:verwende[nt]|nutz(?:en|t)|setz(?:en|t)).{0,40}\bcookies\b
\b(?:nous|ce site) utilis(?:ons|e).{0,40}\bcookies\b
\b(?:usamos|utilizamos|utiliza|utilizziamo|usiamo).{0,40}\bcookies?\b
\b(?:wij|we|deze (?:web)?site) gebruik(?:en|t).{0,40}\bcookies\b
"""
    ),
    re.IGNORECASE,
)
CONTROLS = re.compile(
    r"cookie|consent|accept|reject|agree|settings|privacy|akzept|acept|accett|aceit", re.IGNORECASE
)
HELPFUL = re.compile(
    _any_of(
        r"""
(?:was|is|did) (?:this|the) \w+(?: \w+)? (?:helpful|useful|helps?|answer)
(?:was|is) this (?:helpful|useful)
did you find (?:this|what you)
how (?:helpful|useful) was
rate this (?:page|article)
war (?:dies|die|der)\w* .{0,30}(?:hilfreich|nützlich)
c(?:ette|et|e) .{0,30}-t-(?:elle|il) (?:été )?utile
cet(?:te)? \w+ vous a.{0,12}aidé
¿?(?:te|le) (?:ha )?(?:resultado|resultó) útil
¿?(?:fue|es) útil est
est[ae] \w+ (?:foi|é|ajudou)
questa pagina .{0,12}utile
была ли .{0,20}полезн
このページは.{0,12}役に立
(?:此页面|本页|这篇).{0,10}有帮助
was deze .{0,20}nuttig
"""
    ),
    re.IGNORECASE,
)
LOADING = re.compile(
    r"\W*(?:loading|please wait|just a moment|chargement|veuillez patienter|wird geladen|lädt|laden"
    r"|bitte warten|cargando|carregando|caricamento|загрузка|wczytywanie|ładowanie|yükleniyor"
    r"|読み込み中?|加载中?|載入中|로딩 ?중?)(?: \w+){0,3}\W*\Z",
    re.IGNORECASE,
)
MAX_QUESTION_CHARS, MAX_LOADING_CHARS, MAX_BESIDE_CHARS = 100, 50, 200
# A notice has at most this share of the page's text, so that a page about cookies is none: by its
# name, and by its words.
MAX_NAMED_SHARE, MAX_UNNAMED_SHARE, MAX_NOTICE_CHARS = 0.9, 0.4, 1_200


def notices(blocks: Sequence[Block]) -> Bools:
    """Return for each block whether it belongs to a notice of the page."""
    chars = sum(len(block.text) for block in blocks)
    asks = {path: _asks(path) for path in {block.path for block in blocks}}
    found = np.array([asks[block.path] for block in blocks], dtype=bool)
    if _chars(blocks, found) > MAX_NAMED_SHARE * chars:
        found[:] = False
    for number, block in enumerate(blocks):
        if len(block.text) <= MAX_QUESTION_CHARS and HELPFUL.match(block.text):
            found |= _beside(blocks, number, MAX_BESIDE_CHARS)
        elif len(block.text) <= MAX_NOTICE_CHARS and _asks_for_consent(block.text):
            notice = _beside(blocks, number, MAX_NOTICE_CHARS)
            if _is_notice(blocks, notice, chars):
                found |= notice
    if chars - _chars(blocks, found) <= MAX_LOADING_CHARS:
        found |= np.array([LOADING.match(block.text) is not None for block in blocks], dtype=bool)
    return found


def _asks(path: str) -> bool:
    """Tell whether names in a path say that an element asks for consent."""
    low = path.lower()  # the words are searched first, which is much cheaper
    return any(word in low for word in CONSENT_WORDS) and CONSENT.search(path) is not None


def _asks_for_consent(text: str) -> bool:
    has_word = "ookie" in text or "OOKIE" in text
    return has_word and ASKS_FOR_CONSENT.search(text) is not None


def _chars(blocks: Sequence[Block], found: Bools) -> int:
    return sum(len(block.text) for block in compress(blocks, found.tolist()))


def _is_notice(blocks: Sequence[Block], notice: Bools, chars: int) -> bool:
    """Tell whether text about cookies is a notice: a small part of the page, with controls."""
    if _chars(blocks, notice) > MAX_UNNAMED_SHARE * chars:
        return False
    return any(
        block.tag == "button" or block.link_chars > len(block.text) // 2
        for block in compress(blocks, notice.tolist())
        if len(block.text) <= MAX_LOADING_CHARS and CONTROLS.search(block.text)
    )


def _beside(blocks: Sequence[Block], number: int, most: int) -> Bools:
    """Return which blocks stand in the same element as a block, around it: the block alone, if they
    have more than *most* characters.
    """
    found = np.zeros(len(blocks), dtype=bool)
    found[number] = True
    around = blocks[number].path.rpartition("/")[0] + "/"
    first, last = number, number
    while first > 0 and blocks[first - 1].path.startswith(around):
        first -= 1
    while last + 1 < len(blocks) and blocks[last + 1].path.startswith(around):
        last += 1
    if around.count("/") > 1 and sum(len(block.text) for block in blocks[first : last + 1]) <= most:
        found[first : last + 1] = True
    return found
