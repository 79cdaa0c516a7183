"""Explains the decision on one block of a page in words: who decided it and by what, and the lines
of ``overrides.toml`` that would change it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from contentspider.ground.counts import counted
from contentspider.ground.patterns import compile_pattern
from contentspider.page.input.corrections import Corrections
from contentspider.page.input.overrides import Overrides
from contentspider.page.tree.text import SENTENCE_END, tokens
from contentspider.site.models.record import STATED_VERSION
from contentspider.site.models.selectors import PathTree, cut_names, selectors
from contentspider.site.models.summary import ENOUGH_PAGES
from contentspider.site.vote.labels import OWN, PAPER, VOTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Floats
    from contentspider.site.models.record import Extraction
    from contentspider.site.models.summary import SlotSummary
    from contentspider.site.own.texts import OwnText

    _Decisions = dict[str, list["_Decision"]]  # by the path of the blocks

# The features of a classifier (`contentspider.site.judge.rows`) belong to families. Each family
# tells one of these things about a block.
PLACE, LINKS, LENGTH, NEIGHBOURS, REPEATED = "place", "links", "length", "neighbours", "repeated"
FAMILIES = {
    **dict.fromkeys(("slot", "tags", "end", "tag", "under", "has", "place", "body"), PLACE),
    **dict.fromkeys(("links", "linked"), LINKS),
    **dict.fromkeys(("length", "ends", "shape", "shaped"), LENGTH),
    **dict.fromkeys(("after", "before"), NEIGHBOURS),
    "recurs": REPEATED,
}
TEACHERS = {VOTES: "the vote of", PAPER: "Algorithm 1 on", OWN: "the own texts of"}
# A kind of features with a smaller weight, in margins of the classifier, decides nothing.
MIN_WEIGHT = 0.05
# Without a classifier: from this share of links, and below this length, a text speaks against
# content, and from the other length on for it.
MANY_LINKS, SHORT_CHARS, LONG_CHARS = 0.3, 25, 80
# A place is mixed if this share of its texts is decided as wished already. It is corrected where it
# is not: on all pages, on those of a folder, or on one page only.
MIXED_SHARE = 0.2
SHOWN_CHARS = 60


def blocks_with(page: Page, text: str) -> list[int]:
    """Return the numbers of the blocks of a page that have a *text*, in any case and spacing."""
    wanted = " ".join(text.split()).casefold()
    blocks = enumerate(page.content.blocks)
    return [index for index, block in blocks if wanted in " ".join(block.text.split()).casefold()]


class Model(Protocol):
    """What explanations need of a site's model (`contentspider.site.models.model.SiteModel`)."""

    labels: str
    pages: int
    classifier_name: str
    is_refused: bool
    summary: list[SlotSummary]

    def slot_of(self, path: str) -> str:
        """Return the slot of a path."""

    def weights(self, page: Page, index: int) -> list[tuple[str, float]]:
        """Return the features of a block with their weights."""


class Correction(NamedTuple):
    """The *lines* for ``overrides.toml`` that change a decision. Among the compared pages, they
    change it for *blocks* blocks, which are on *pages* pages.
    """

    lines: tuple[str, ...]
    blocks: int
    pages: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a block is kept or dropped, as *is_kept* tells. `str` gives all of it in lines.

    *text* is the block's text, *probability* how probably it is content, from 0 to 1. *decided_by*
    says who decided it. *reasons* speak for the decision and *doubts* against it, the strongest
    first. *opinions* are of others: the vote, the prior, own texts. *correction* would change the
    decision; it is None if no selector has the block. It is also None if every selector that has
    the block would drop most of the content of its page: *too_wide* is the most precise of them. If
    a person's overrides made the decision, there are no reasons, doubts and correction.
    """

    text: str
    is_kept: bool
    probability: float
    decided_by: str
    reasons: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    opinions: tuple[str, ...] = ()
    correction: Correction | None = None
    too_wide: str = ""

    def __str__(self) -> str:
        verdict, other = ("kept", "drop") if self.is_kept else ("dropped", "keep")
        lines = [
            f'"{_short(self.text)}" is {verdict}: content with {self.probability:.0%}',
            f"  decided by {self.decided_by}",
            *(f"  because {reason}" for reason in self.reasons),
            *(f"  although {doubt}" for doubt in self.doubts),
            *(f"  {opinion}" for opinion in self.opinions),
        ]
        if self.correction:
            fix, blocks, pages = self.correction
            lines.append(
                f"  to {other} it, write in overrides.toml (it changes {counted(blocks, 'texts')}"
                f" on {counted(pages, 'pages')} at hand):"
            )
            lines += [f"    {line}" for line in fix]
        if self.too_wide:
            lines.append(
                "  no line of overrides.toml drops it alone: the most precise selector"
                f" ({self.too_wide}) would also drop most of the page's content"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the lines of `str` for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


class _Decision(NamedTuple):
    """Whether a *text* is kept on the page at an address."""

    url: str
    is_kept: bool
    text: str


class _Fact(NamedTuple):
    """A sentence about a block, with a *weight* above 0 if it speaks for content."""

    weight: float
    text: str


class Reasons:
    """Explains the blocks of a site's pages.

    *model* is the site's model (None: the prior judges its pages). *extractions* are of pages of
    the site to compare with. *voted* has the labels of blocks by their page's address, *own_texts*
    the texts that the site publishes of a page, by its address.
    """

    def __init__(
        self,
        model: Model | None = None,
        extractions: Sequence[Extraction] = (),
        voted: Mapping[str, Floats] = MappingProxyType({}),
        own_texts: Mapping[str, Sequence[OwnText]] = MappingProxyType({}),
    ) -> None:
        self.model = model
        self._extractions, self._voted, self._own_texts = extractions, voted, own_texts
        # The last page with what it is compared with (`_compared`).
        self._last: tuple[Extraction, _Decisions, PathTree] | None = None

    def explain(self, extraction: Extraction, index: int) -> Explanation:
        """Return why the block *index* of a page is kept or dropped."""
        page, is_kept = extraction.page, bool(extraction.kept[index])
        by_person = _correcting(page, index)
        selector = "" if by_person else self._best_selector(extraction, index)
        is_too_wide = is_kept and self._drops_most(extraction, index, selector)
        facts = [] if by_person else sorted(self._facts(page, index), key=lambda f: -abs(f.weight))
        return Explanation(
            page.content.blocks[index].text,
            is_kept,
            float(extraction.probabilities[index]),
            by_person or _companion(extraction, index) or self._judge(extraction),
            tuple(fact.text for fact in facts if (fact.weight > 0) == is_kept),
            tuple(fact.text for fact in facts if (fact.weight > 0) != is_kept),
            tuple(self._opinions(page, index)),
            None if is_too_wide else self._correction(extraction, selector, index),
            selector if is_too_wide else "",
        )

    def _judge(self, extraction: Extraction) -> str:
        """Return who has judged a page."""
        model, unsure = self.model, ", which is unsure about this page" * extraction.is_guess
        if extraction.page.is_document:
            return "the kind of file: all text of a document is content"
        if extraction.model_version == STATED_VERSION:
            return "the data of the page, which state a text that the page does not show"
        if model is None:
            return f"the general prior{unsure}: the site has no model"
        if model.is_refused:
            return f"the general prior{unsure}: the model of the site was refused"
        teacher = TEACHERS.get(model.labels, f"{model.labels} on")
        learned = f"(learned by {teacher} {counted(model.pages, 'pages')})"
        if not extraction.by_prior:
            return f"the site's classifier, {model.classifier_name} {learned}"
        if 1 < model.pages < ENOUGH_PAGES:
            return f"the site's classifier {learned} together with the general prior"
        return f"the general prior{unsure}: the page is unlike those that the model knows {learned}"

    def _facts(self, page: Page, index: int) -> Iterator[_Fact]:
        """Yield what speaks for or against a block as content. The site's classifier says how
        strongly; without a classifier, rules that hold for most sites do.
        """
        block = page.content.blocks[index]
        links = block.link_chars / max(len(block.text), 1)
        place, share = self._place(block)
        repeats = sum(block.text in texts for url, texts in self._texts if url != page.url)
        usual = {
            LINKS: -(links >= MANY_LINKS),
            LENGTH: (len(block.text) >= LONG_CHARS) - (len(block.text) < SHORT_CHARS),
            PLACE: share - 0.5,
            REPEATED: -(repeats > 0),
            NEIGHBOURS: 0,
        }
        weights = self._weights(page, index) or usual
        texts = {
            LINKS: _links(links, weights[LINKS] > 0),
            LENGTH: _length(block.text, weights[LENGTH] > 0),
            # The classifier weighs the parts of the place, which other places have, too.
            PLACE: place
            if weights[PLACE] * usual[PLACE] >= 0
            else f"its place resembles places of {_kind(weights[PLACE] > 0)}",
            REPEATED: _repeated(repeats, weights[REPEATED] > 0),
            NEIGHBOURS: _neighbours(page, index),
        }
        for kind, text in texts.items():
            if abs(weights[kind]) >= MIN_WEIGHT:
                yield _Fact(weights[kind], text)

    def _weights(self, page: Page, index: int) -> Mapping[str, float]:
        """Return how strongly each kind of reason (`FAMILIES`) speaks for a block as content, by
        the site's classifier: below 0 against it. Empty without a classifier.
        """
        model = self.model
        weights: defaultdict[str, float] = defaultdict(float)
        if model is not None and not model.is_refused:
            for feature, weight in model.weights(page, index):
                weights[FAMILIES.get(feature.split()[0], "")] += weight
        return weights

    def _place(self, block: Block) -> tuple[str, float]:
        """Return a sentence about the place of a block, and the share of its texts that are
        content, from 0 to 1.
        """
        slot = self._slot_of(block.path)
        name = "".join(list(selectors(slot))[:2][-1:]) or "body"
        kept = [
            is_kept
            for path, texts in self._decisions.items()
            if self._slot_of(path) == slot
            for _, is_kept, _ in texts
        ]
        if kept:
            share = sum(kept) / len(kept)
            part = {0.0: "none", 1.0: "all"}.get(share, f"{share:.0%}")
            texts = f"of the {counted(len(kept), 'texts')} at its place ({name})"
            return f"{texts} {part} are content", share
        for known in self.model.summary if self.model else ():
            if known.slot == slot:
                count = f"{counted(known.blocks, 'texts')} on {counted(known.pages, 'pages')}"
                kind = "content" if known.is_content else "boilerplate"
                return f"its place ({name}) has {count}, which are {kind}", known.probability
        return f"its place ({name}) is on no page that the model knows", 0.5

    def _slot_of(self, path: str) -> str:
        return self.model.slot_of(path) if self.model else path

    @cached_property
    def _texts(self) -> list[tuple[str, frozenset[str]]]:
        """The addresses of the pages to compare with, and their texts."""
        pages = [extraction.page for extraction in self._extractions]
        return [(page.url, frozenset(b.text for b in page.content.blocks)) for page in pages]

    @cached_property
    def _decisions(self) -> _Decisions:
        """The decisions on the blocks of the pages to compare with."""
        decisions: _Decisions = {}
        for extraction in self._extractions:
            _add_decisions(decisions, extraction)
        return decisions

    def _opinions(self, page: Page, index: int) -> Iterator[str]:
        """Yield what others say of a block."""
        voted = self._voted.get(page.url)
        if voted is not None:
            yield f"the vote of the site's pages: content with {float(voted[index]):.0%}"
        words = f" {' '.join(tokens(page.content.blocks[index].text))} "
        for own in self._own_texts.get(page.url, ()):
            has = "has" if words in f" {' '.join(tokens(own.text))} " else "lacks"
            yield f"the text that the site itself publishes of this page ({own.source}) {has} it"

    def _best_selector(self, extraction: Extraction, index: int) -> str:
        """Return the selector for the place of a block, "" if there is none."""
        tree = self._compared(extraction)[1]
        return self._selector(extraction.page.content.blocks[index].path, tree)

    def _drops_most(self, extraction: Extraction, index: int, selector: str) -> bool:
        """Tell whether a selector has most of the content of a page beside the block *index*."""
        paths = _matched(self._compared(extraction)[1], selector) if selector else set()
        kept = [
            (number, block)
            for number, block in enumerate(extraction.page.content.blocks)
            if extraction.kept[number]
        ]
        others = sum(
            len(block.text) for number, block in kept if number != index and block.path in paths
        )
        return 2 * others > sum(len(block.text) for _, block in kept)

    def _correction(self, extraction: Extraction, selector: str, index: int) -> Correction | None:
        """Return the lines that reverse the decision on the block *index* by its *selector*, None
        without one. They are for all pages, unless the place is mixed, and what they would change
        is not one text of several pages. Else they are for the largest folder where several pages
        have the place and it is not mixed, or for the page only.
        """
        if not selector:
            return None
        decisions, tree = self._compared(extraction)
        paths = _matched(tree, selector) & decisions.keys()
        texts = [text for path in paths for text in decisions[path]]
        is_kept, text = bool(extraction.kept[index]), extraction.page.content.blocks[index].text
        changed = [other for other in texts if other.is_kept == is_kept]
        line = f"{'drop' if is_kept else 'keep'} = [{_quoted(selector)}]"
        if not _is_mixed(texts, changed) or _is_repeated(text, changed):
            return Correction((line,), len(changed), len({other.url for other in changed}))
        for pattern in _patterns(extraction.page.url):
            holds_for = compile_pattern(pattern).search
            here = [other for other in texts if holds_for(other.url)]
            changed = [other for other in here if other.is_kept == is_kept]
            pages = len({other.url for other in changed})
            if pages > 1 and not _is_mixed(here, changed):
                break
        return Correction(("[[rule]]", f"pattern = {_quoted(pattern)}", line), len(changed), pages)

    def _compared(self, extraction: Extraction) -> tuple[_Decisions, PathTree]:
        """Return the decisions on the blocks of the pages to compare with and of a page, and a tree
        of their paths and of the model's slots: the pages at hand may be one of many, and a
        selector must not match what others have.
        """
        if self._last is None or self._last[0] is not extraction:
            decisions, page = self._decisions, extraction.page
            if all(url != page.url for url, _ in self._texts):
                decisions = {path: list(texts) for path, texts in decisions.items()}
                _add_decisions(decisions, extraction)
            known = {known.slot for known in self.model.summary} if self.model else set[str]()
            self._last = extraction, decisions, PathTree(sorted(known.union(decisions)))
        return self._last[1:]

    def _selector(self, path: str, tree: PathTree) -> str:
        """Return the first selector for the slot of a path that matches the same places in a *tree*
        as the most precise one; "" if there is none.
        """
        *others, precise = "", *selectors(self._slot_of(path), cut_names(path))
        wanted = _matched(tree, precise)
        same = (other for other in others if other and _matched(tree, other) == wanted)
        return next(same, precise)


def _add_decisions(decisions: _Decisions, extraction: Extraction) -> None:
    page = extraction.page
    for block, is_kept in zip(page.content.blocks, extraction.kept.tolist(), strict=True):
        decisions.setdefault(block.path, []).append(_Decision(page.url, is_kept, block.text))


def _is_mixed(texts: Sequence[_Decision], changed: Sequence[_Decision]) -> bool:
    """Tell whether a correction that has *changed* some of the texts of a place hits a mixed one
    (`MIXED_SHARE`).
    """
    return len(changed) <= (1 - MIXED_SHARE) * len(texts)


def _is_repeated(text: str, changed: Sequence[_Decision]) -> bool:
    """Tell whether nearly all of the *changed* texts are one *text*, which several pages have."""
    same = [other.url for other in changed if other.text == text]
    return len(set(same)) > 1 and len(same) > (1 - MIXED_SHARE) * len(changed)


def _patterns(url: str) -> list[str]:
    """Return patterns for a page: its folders, the largest first, and its own address.

    >>> _patterns("https://e.org/a/b/c?d")
    ['/a/*', '/a/b/*', '/a/b/c?d']
    """
    parts = urlsplit(url)
    path = parts.path or "/"
    slashes = [at for at, sign in enumerate(path) if sign == "/" and 0 < at < len(path) - 1]
    folders = [f"{path[: at + 1]}*" for at in slashes]
    return [*folders, f"{path}{f'?{parts.query}' if parts.query else ''}"]


def _matched(tree: PathTree, selector: str) -> set[str]:
    if not selector:
        return set()
    return tree.matched(Overrides.parse(f"drop = [{_quoted(selector)}]").tables[0].drop[0])


def _correcting(page: Page, index: int) -> str:
    """Return the correction by a person that decides a block, "" for none."""
    corrections = page.corrections or Corrections()
    for kind, selected in (("keep", corrections.keep), ("drop", corrections.drop)):
        for selector, numbers in selected.items():
            if index in numbers:
                return f"a person: {kind} = [{_quoted(selector)}] in overrides.toml"
    return ""


def _companion(extraction: Extraction, index: int) -> str:
    """Return which other text has kept a block that was judged as boilerplate, "" if the block was
    judged as content or is dropped.
    """
    if not extraction.kept[index] or extraction.probabilities[index] > 0.5:
        return ""
    if extraction.page.content.blocks[index].note:
        return "a text that is content and has its footnote mark"
    return "a text that is content and belongs to it: to a title its text, to a term its definition"


def _kind(is_for: bool) -> str:
    """Return the kind of text that a reason speaks for."""
    return "content" if is_for else "boilerplate"


def _learned(what: str, is_for: bool) -> str:
    """Return a sentence about texts for which the site is not as most sites are."""
    return f"on this site {what} are more often {_kind(is_for)}"


def _links(share: float, is_for: bool) -> str:
    """Return the sentence about the *share* of links that speaks for content, or against it."""
    if is_for == (share >= MANY_LINKS):
        return _learned(f"texts of which {share:.0%} are links", is_for)
    return f"links are {share:.0%} of its text" if share else "it has no links"


def _length(text: str, is_for: bool) -> str:
    """Return the sentence about length and ending that speaks for content, or against it."""
    length, is_long = counted(len(text), "characters"), len(text) >= LONG_CHARS
    is_sentence = text[-1] in SENTENCE_END
    if is_for and is_sentence:
        return f"its text of {length} ends as a sentence" if is_long else "it ends as a sentence"
    if is_for and is_long:
        return f"its text has {length}"
    if not is_for and not is_long:
        return f"its text has only {length}" + ("" if is_sentence else ", and is no sentence")
    if not is_for and not is_sentence:
        return "its text is no sentence"
    kind = "a sentence" if is_sentence else "no sentence"
    return _learned(f"texts such as this ({length}, {kind})", is_for)


def _repeated(pages: int, is_for: bool) -> str:
    """Return the sentence about the other *pages* that have the text."""
    if is_for:
        return _learned("repeated texts", is_for)
    if pages:
        return f"the same text stands on {counted(pages, 'other pages')}"
    return "the pages that the model knows repeat its text"


def _neighbours(page: Page, index: int) -> str:
    """Return what stands before and after a block."""
    texts = [
        f'"{_short(block.text, 30)}"'
        for block in page.content.blocks[max(index - 1, 0) : index + 2]
    ]
    before = f"after {texts[0]}" if index else "at the beginning"
    after = f"before {texts[-1]}" if index + 1 < len(page.content.blocks) else "at the end"
    return f"it stands {before} and {after}"


def _quoted(text: str) -> str:
    """Return a text as a string of TOML."""
    return json.dumps(text, ensure_ascii=False)


def _short(text: str, most: int = SHOWN_CHARS) -> str:
    text = " ".join(text[: 4 * most].split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
