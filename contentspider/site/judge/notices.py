"""Finds the notices of a page that is judged alone: about cookies and consent, questions whether the
page was helpful, and signs that a page is being loaded.

Pages of one site show that such text repeats. A single page does not, so names and words tell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools

# The id, class or role of what asks for consent: one name says both what it is about and what it is.
CONSENT = re.compile(
    r"[#.\[](?:(?=[\w-]*(?:cookie|consent|gdpr|ccpa))"
    r"(?=[\w-]*(?:banner|consent|notice|bar(?![a-z])|popup|modal|law|message|overlay|dialog|wall|alert"
    r"|info|toast|disclaimer|prompt|warning|accept))"
    r"|onetrust|didomi|cmplz|cybotcookie|usercentrics|qc-cmp|truste|iubenda-cs|cky-|osano|cc-window"
    r"|cc-banner)",
    re.IGNORECASE,
)
# What asks for consent without a name.
ASKS_FOR_CONSENT = re.compile(
    r"\b(?:we|(?:this|our) (?:web ?)?site)\b.{0,40}\buses?\b.{0,40}\bcookies\b"
    r"|\bcookies?\b.{0,60}\b(?:consent|accept all|preferences|einverstanden|zustimm|akzeptier"
    r"|aceptar|aceptas|accepter|acceptez|accetta|aceitar|accepteren|akceptuj|souhlas)"
    r"|\b(?:wir|diese (?:web)?seite) (?:verwende[nt]|nutz(?:en|t|te)|setz(?:en|t)).{0,40}\bcookies\b"
    r"|\b(?:nous|ce site) utilis(?:ons|e).{0,40}\bcookies\b"
    r"|\b(?:usamos|utilizamos|utiliza|utilizziamo|usiamo).{0,40}\bcookies?\b"
    r"|\b(?:wij|we|deze (?:web)?site) gebruik(?:en|t).{0,40}\bcookies\b",
    re.IGNORECASE,
)
CONTROL_WORDS = re.compile(
    r"cookie|consent|accept|reject|agree|settings|privacy|akzept|accepter|acept|accetta",
    re.IGNORECASE,
)
HELPFUL = re.compile(
    r"(?:(?:was|is|did) (?:this|the) \w+(?: \w+)? (?:helpful|useful|helps?|answer)|did you find (?:this|what)"
    r"|(?:was|is) this helpful|how (?:helpful|useful) was|rate this (?:page|article)"
    r"|war (?:dies|diese|dieser|die|der)\w* .{0,30}(?:hilfreich|nützlich)|(?:cette|cet|ce) .{0,30}-t-(?:elle|il) (?:été )?utile"
    r"|cet(?:te)? \w+ vous a.{0,12}aidé|(?:te|le) (?:ha )?(?:resultado|result[oó]) útil|(?:fue|es) útil est"
    r"|(?:esta|este) \w+ (?:foi|é|ajudou)|questa pagina .{0,12}utile|была ли .{0,20}полезн|このページは.{0,12}役に立"
    r"|此页面.{0,10}有帮助|本页.{0,10}有帮助|这篇.{0,10}有帮助|was deze .{0,20}nuttig)",
    re.IGNORECASE,
)
LOADING = re.compile(
    r"\W*(?:loading|please wait|just a moment|chargement|veuillez patienter|wird geladen|lädt|laden|bitte warten"
    r"|cargando|carregando|caricamento|загрузка|wczytywanie|ładowanie|yükleniyor|読み込み中?|加载中?|載入中|로딩 ?중?)"
    r"(?: \w+){0,3}\W*\Z",
    re.IGNORECASE,
)
MAX_QUESTION_CHARS, MAX_LOADING_CHARS, MAX_BESIDE_CHARS = 100, 50, 200
# A notice has at most this share of the page's text, so that a page about cookies is none.
MAX_NOTICE_SHARE = 0.9
MAX_UNNAMED_SHARE, MAX_NOTICE_CHARS = 0.4, 1_200


def notices(blocks: Sequence[Block]) -> Bools:
    """Return for each block whether it belongs to a notice of the page."""
    texts = [block.text for block in blocks]
    chars = sum(map(len, texts))
    found = np.zeros(len(blocks), dtype=bool)
    for number, block in enumerate(blocks):
        if CONSENT.search(block.path):
            found[number] = True
    if found.any() and _chars(blocks, found) > MAX_NOTICE_SHARE * chars:
        found[:] = False
    for number, text in enumerate(texts):
        if len(text) <= MAX_QUESTION_CHARS and HELPFUL.match(text):
            found |= _beside(blocks, number, MAX_BESIDE_CHARS)
        elif not found[number] and len(text) <= MAX_NOTICE_CHARS and ASKS_FOR_CONSENT.search(text):
            notice = _beside(blocks, number, MAX_NOTICE_CHARS)
            if _is_notice(blocks, notice, chars):
                found |= notice
    shown = sum(
        len(text) for text, is_notice in zip(texts, found.tolist(), strict=True) if not is_notice
    )
    if shown <= MAX_LOADING_CHARS:
        found |= np.array([LOADING.match(text) is not None for text in texts], dtype=bool)
    return found


def _chars(blocks: Sequence[Block], found: Bools) -> int:
    return sum(
        len(block.text) for block, is_found in zip(blocks, found.tolist(), strict=True) if is_found
    )


def _is_notice(blocks: Sequence[Block], notice: Bools, chars: int) -> bool:
    """Tell whether text about cookies is a notice: a small part of the page, with controls."""
    if _chars(blocks, notice) > MAX_UNNAMED_SHARE * chars:
        return False
    controls = [
        block.tag == "button" or (block.link_chars and block.link_chars >= len(block.text) // 2)
        for block, is_found in zip(blocks, notice.tolist(), strict=True)
        if is_found and len(block.text) <= MAX_LOADING_CHARS and CONTROL_WORDS.search(block.text)
    ]
    return any(controls)


def _beside(blocks: Sequence[Block], number: int, most: int) -> Bools:
    """Return which blocks stand in the same element as a block, around it: itself, if they have more
    than *most* characters.
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
