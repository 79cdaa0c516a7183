"""Finds the notices of a page that is judged alone: about cookies and consent, questions whether
the page was helpful, entries of menus for assistants, labels of advertisements, words for people
who have not paid, and signs that a page is being loaded.

Pages of one site show that such text repeats. A single page does not, so names and words tell.
"""

from __future__ import annotations

import re
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.tree.text import runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools


def _any_of(phrases: str) -> str:
    """Return a pattern for any of the *phrases*, which stand on a line each."""
    return "(?:" + "|".join(phrases.strip().split("\n")) + ")"


# Ids, classes and roles of consent notices: names with a word for the topic and another one for the
# kind (a form of consent is none), or the name of a product.
_KINDS = (
    "banner|notice|bar(?![a-z])|popup|modal|law|message|overlay|dialog|wall|alert|info|toast"
    "|disclaimer|prompt|accept"
)
CONSENT = re.compile(
    rf"[#.\[](?:(?=[\w-]*(?:cookie|gdpr|ccpa))(?=[\w-]*(?:consent|{_KINDS}))"
    rf"|(?=[\w-]*consent)(?=[\w-]*(?:{_KINDS}))"
    r"|onetrust|didomi|cmplz|cybotcookie|usercentrics|qc-cmp|truste(?![a-z])|iubenda-cs|cky-|osano"
    r"|cc-window|cc-banner)",
    re.IGNORECASE,
)
# The id of a heading, or of the section below it, is often made of the heading's words: it tells
# the topic of a text, and does not mark a notice.
HEADING_ID = re.compile(r"(?<=/)(h[1-6])#[\w-]+")
ID = re.compile(r"#([\w-]+)")
HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
CONSENT_WORDS = (
    "cookie consent gdpr ccpa onetrust didomi cmplz usercentrics qc-cmp truste iubenda cky- osano"
    " cc-window cc-banner"
).split()
# What asks for consent without a name.
ASKS_FOR_CONSENT = re.compile(
    _any_of(
        r"""
\b(?:we|(?:this|our) (?:web ?)?site)\b.{0,40}\buses?\b.{0,40}\bcookies\b
\bwe and our .{0,20}partners\b.{0,60}\b(?:store|access|use|process)
\bwir und unsere .{0,20}partner\b.{0,60}\b(?:speicher|verarbeit|verwend|nutz)
\bnous et nos .{0,20}partenaires\b
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
# Without the question mark, some languages ask in the words of a statement.
HELPFUL = re.compile(
    _any_of(
        r"""
(?:was|is) (?:this(?: \w+){0,2}|the (?:page|article|information|content|answer)) (?:helpful|useful)
did (?:this|the (?:page|article|information|content|answer))(?: \w+){0,2} (?:helps?|answer)
how is (?:this|the) (?:guide|page|article|document)
(?:glad|sorry) to hear (?:it|that)[.!] please\b
\d+ out of \d+ found this helpful
did you find (?:this(?: \w+){0,2} (?:helpful|useful)|what you)
how (?:helpful|useful) was (?:this|the (?:page|article|information|content|answer))
rate this (?:page|article)
war (?:dies|die|der)\w* .{0,30}(?:hilfreich|nützlich)
c(?:ette|et|e) .{0,30}-t-(?:elle|il) (?:été )?utile
cet(?:te)? \w+ vous a.{0,12}aidé
¿?(?:te|le) (?:ha )?(?:resultado|resultó) útil
¿?(?:fue|es) útil est.{0,30}\?
est[ae] \w+ (?:(?:foi|é) (?:\w+ )?útil|(?:\w+ )?ajudou).{0,30}\?
questa pagina .{0,12}utile.{0,30}\?
была ли .{0,20}полезн
このページは.{0,12}役に立
(?:此页面|本页|这篇).{0,10}有帮助
was deze .{0,20}nuttig
"""
    ),
    re.IGNORECASE,
)
FEEDBACK = re.compile(r"(?:page )?feedback", re.IGNORECASE)
# The entries of menus that give a page to an assistant.
ASSISTANTS = r"(?:chatgpt|claude|copilot|cursor|gemini|grok|perplexity|v0|vs code)"
ASSISTANT = re.compile(
    r"(?:copy|view)(?: this| the)?(?: page)?(?: as)? (?:markdown|plain text)(?: for (?:ai|llms?))?"
    rf"|copy page(?: for (?:ai|llms?))?|open in {ASSISTANTS}|ask {ASSISTANTS}(?: about this page)?"
    r"|ask (?:questions|ai) about this page",
    re.IGNORECASE,
)
# What sells a page: the label of an advertisement, and the words at the end of what is free.
SELLS = re.compile(
    r"(?:advertisement|advertising|anzeige|werbung|publicité|publicidad|pubblicità|advertentie)"
    r"|this (?:article|content|story|post) is (?:only )?(?:for|available to|reserved for) \w*\s?"
    r"(?:subscribers|members)(?: only)?[.!]?"
    r"|(?:subscribe|sign in|log in|register)(?: now)? to (?:continue|keep) reading"
    r"(?: this \w+)?[.!]?",
    re.IGNORECASE,
)
LOADING = re.compile(
    r"\W*(?:loading|please wait|just a moment|chargement|veuillez patienter|wird geladen|lädt|laden"
    r"|bitte warten|cargando|carregando|caricamento|загрузка|wczytywanie|ładowanie|yükleniyor"
    r"|読み込み中?|加载中?|載入中|로딩 ?중?)(?: \w+){0,3}\W*\Z",
    re.IGNORECASE,
)
# What follows the question is at most the answers to choose from: "Yes No".
QUESTION_END, MAX_ANSWER_CHARS = re.compile("[?？؟]"), 30
MAX_QUESTION_CHARS, MAX_LOADING_CHARS, MAX_BESIDE_CHARS = 100, 50, 200
# A notice has at most this share of the page's text, so that a page about cookies is none: by its
# name, and by its words.
MAX_NAMED_SHARE, MAX_UNNAMED_SHARE, MAX_NOTICE_CHARS = 0.9, 0.4, 1_200


def notices(blocks: Sequence[Block]) -> Bools:
    """Return for each block whether it belongs to a notice of the page."""
    found = _named_notices(blocks)
    chars = _chars(blocks)
    for number in range(len(blocks)):
        notice = _notice_at(blocks, number, chars)
        found[notice.start : notice.stop] = True
    if chars - _chars(compress(blocks, found.tolist())) <= MAX_LOADING_CHARS:
        found |= np.array([LOADING.match(block.text) is not None for block in blocks], dtype=bool)
    return found


def _named_notices(blocks: Sequence[Block]) -> Bools:
    """Return for each block whether names say that it asks for consent; none of them do if nearly
    the whole page is named so.
    """
    topics = {"-".join(runs(block.text.lower())) for block in blocks if block.tag in HEADINGS}
    asks = {path: _asks(path, topics) for path in {block.path for block in blocks}}
    found = np.array([asks[block.path] for block in blocks], dtype=bool)
    if _chars(compress(blocks, found.tolist())) > MAX_NAMED_SHARE * _chars(blocks):
        found[:] = False
    return found


def _asks(path: str, topics: set[str]) -> bool:
    """Tell whether names in a path say that an element asks for consent. *topics* has the words of
    the page's headings as ids have them.
    """
    low = path.lower()  # the words are searched first, which is much cheaper
    if not any(word in low for word in CONSENT_WORDS):
        return False
    names = ID.sub(lambda name: "" if name[1] in topics else name[0], HEADING_ID.sub(r"\1", low))
    return CONSENT.search(names) is not None


def _notice_at(blocks: Sequence[Block], number: int, chars: int) -> range:
    """Return the numbers of the blocks of the notice that a block's words begin or ask for, an
    empty range if they do not. The page has so many *chars*.
    """
    block = blocks[number]
    size = len(block.text)
    if size <= MAX_QUESTION_CHARS and _asks_for_help(block.text):
        return _with_answers(blocks, _beside(blocks, number, MAX_BESIDE_CHARS))
    if size <= MAX_LOADING_CHARS and ASSISTANT.fullmatch(block.text.strip()):
        return range(number, number + 1)
    if size <= MAX_QUESTION_CHARS and SELLS.fullmatch(block.text.strip()):
        return range(number, number + 1)
    is_link = 2 * block.link_chars > size  # such as "Cookie consent" in a footer
    if size <= MAX_NOTICE_CHARS and not is_link and _asks_for_consent(block.text):
        notice = _beside(blocks, number, MAX_NOTICE_CHARS)
        if _is_notice(blocks[notice.start : notice.stop], chars):
            return notice
    return range(0)


def _asks_for_help(text: str) -> bool:
    """Tell whether a text asks whether the page was helpful, and says little else."""
    _, *answers = QUESTION_END.split(text, maxsplit=1)
    return HELPFUL.match(text) is not None and len("".join(answers)) <= MAX_ANSWER_CHARS


def _with_answers(blocks: Sequence[Block], question: range) -> range:
    """Return a *question* whether the page was helpful with its heading and with the buttons that
    answer it, which may stand beside it among the page's text (Docsy).
    """
    first, last = question.start, question.stop
    if first and blocks[first - 1].tag in HEADINGS and FEEDBACK.fullmatch(blocks[first - 1].text):
        first -= 1
    while last < len(blocks) and blocks[last].tag == "button":
        last += 1
    return range(first, last)


def _asks_for_consent(text: str) -> bool:
    has_word = "ookie" in text or "OOKIE" in text or "artner" in text or "artenaire" in text
    return has_word and ASKS_FOR_CONSENT.search(text) is not None


def _chars(blocks: Iterable[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _is_notice(notice: Sequence[Block], chars: int) -> bool:
    """Tell whether blocks about cookies are a notice: a small part of the page, with controls."""
    if _chars(notice) > MAX_UNNAMED_SHARE * chars:
        return False
    return any(
        block.tag == "button" or block.link_chars > len(block.text) // 2
        for block in notice
        if len(block.text) <= MAX_LOADING_CHARS and CONTROLS.search(block.text)
    )


def _beside(blocks: Sequence[Block], number: int, most: int) -> range:
    """Return the numbers of the blocks in the element around a block: its own alone, if they have
    more than *most* characters.
    """
    alone = range(number, number + 1)
    around = blocks[number].path.rpartition("/")[0] + "/"
    if around.count("/") <= 1:
        return alone
    first, last, left = number, number, most - len(blocks[number].text)
    while left >= 0 and first > 0 and blocks[first - 1].path.startswith(around):
        first -= 1
        left -= len(blocks[first].text)
    while left >= 0 and last + 1 < len(blocks) and blocks[last + 1].path.startswith(around):
        last += 1
        left -= len(blocks[last].text)
    return range(first, last + 1) if left >= 0 else alone
