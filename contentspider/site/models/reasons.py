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
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from contentspider.page.input.corrections import Corrections
from contentspider.page.input.overrides import Overrides
from contentspider.page.tree.text import SENTENCE_END, tokens
from contentspider.site.models.model import ENOUGH_PAGES
from contentspider.site.models.record import STATED_VERSION
from contentspider.site.models.selectors import PathTree, selectors
from contentspider.site.vote.labels import OWN, PAPER, VOTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Floats
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction
    from contentspider.site.own.texts import OwnText

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
# A place is corrected on one page only if this share of its texts is decided as wished already.
MIXED_SHARE = 0.2
SHOWN_CHARS = 60


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
    decision; it is None if no selector has the block. If a person's overrides made the decision,
    there are no reasons, doubts and correction.
    """

    text: str
    is_kept: bool
    probability: float
    decided_by: str
    reasons: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    opinions: tuple[str, ...] = ()
    correction: Correction | None = None

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
                f"  to {other} it, write in overrides.toml (of the pages at hand it changes"
                f" {blocks:,} texts on {pages:,}):"
            )
            lines += [f"    {line}" for line in fix]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the lines of `str` for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


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
        model: SiteModel | None = None,
        extractions: Sequence[Extraction] = (),
        voted: Mapping[str, Floats] = MappingProxyType({}),
        own_texts: Mapping[str, Sequence[OwnText]] = MappingProxyType({}),
    ) -> None:
        self.model = model
        self._extractions, self._voted, self._own_texts = extractions, voted, own_texts

    def explain(self, extraction: Extraction, index: int) -> Explanation:
        """Return why the block *index* of a page is kept or dropped."""
        page, is_kept = extraction.page, bool(extraction.kept[index])
        by_person = _correcting(page, index)
        facts = [] if by_person else sorted(self._facts(page, index), key=lambda f: -abs(f.weight))
        return Explanation(
            page.content.blocks[index].text,
            is_kept,
            float(extraction.probabilities[index]),
            by_person or _companion(extraction, index) or self._judge(extraction),
            tuple(fact.text for fact in facts if (fact.weight > 0) == is_kept),
            tuple(fact.text for fact in facts if (fact.weight > 0) != is_kept),
            tuple(self._opinions(page, index)),
            None if by_person else self._correction(extraction, index),
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
        learned = f"(learned by {teacher} {model.pages:,} pages)"
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
        chars, links = len(block.text), block.link_chars / max(len(block.text), 1)
        ending = "ends as a sentence" if block.text[-1] in SENTENCE_END else "is no sentence"
        place, share = self._place(block)
        repeats = sum(block.text in texts for url, texts in self._texts if url != page.url)
        facts = {
            LINKS: (-(links >= MANY_LINKS), f"links are {links:.0%} of its text"),
            LENGTH: (
                (chars >= LONG_CHARS) - (chars < SHORT_CHARS),
                f"its text of {chars:,} characters {ending}",
            ),
            PLACE: (share - 0.5, place),
            REPEATED: (
                -(repeats > 0),
                f"the same text stands on {repeats:,} other pages"
                if repeats
                else "the pages that the model knows repeat its text",
            ),
            NEIGHBOURS: (0, _neighbours(page, index)),
        }
        weights = self._weights(page, index)
        for kind, (usual, text) in facts.items():
            weight = weights[kind] if weights else usual
            if kind == PLACE and weight * usual < 0:
                # The classifier weighs the parts of the place, which other places have, too.
                text = f"its place resembles places of {'content' if weight > 0 else 'boilerplate'}"
            if abs(weight) >= MIN_WEIGHT:
                yield _Fact(weight, text)

    def _weights(self, page: Page, index: int) -> dict[str, float]:
        """Return how strongly each kind of reason (`FAMILIES`) speaks for a block as content, by
        the site's classifier: below 0 against it. Empty without a classifier.
        """
        model = self.model
        weights: defaultdict[str, float] = defaultdict(float)
        if model is not None and not model.is_refused:
            for feature, weight in model.explain(page, index):
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
            for _, is_kept in texts
        ]
        if kept:
            share = sum(kept) / len(kept)
            return (
                f"of the {len(kept):,} texts at its place ({name}) {share:.0%} are content",
                share,
            )
        for known in self.model.summary if self.model else ():
            if known.slot == slot:
                count = f"{known.blocks:,} texts on {known.pages:,} pages"
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
    def _decisions(self) -> dict[str, list[tuple[str, bool]]]:
        """By path, the address of each block's page, and whether the block is kept."""
        decisions: dict[str, list[tuple[str, bool]]] = {}
        for extraction in self._extractions:
            page = extraction.page
            for block, is_kept in zip(page.content.blocks, extraction.kept.tolist(), strict=True):
                decisions.setdefault(block.path, []).append((page.url, is_kept))
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

    def _correction(self, extraction: Extraction, index: int) -> Correction | None:
        """Return the lines that reverse the decision on a block, None if no selector has it. They
        are for its place on all pages. If more than `MIXED_SHARE` of the texts at this place are
        already decided the other way, they are for its page only.
        """
        page, is_kept = extraction.page, bool(extraction.kept[index])
        decisions = {path: list(texts) for path, texts in self._decisions.items()}
        if all(url != page.url for url, _ in self._texts):
            for block, keeps in zip(page.content.blocks, extraction.kept.tolist(), strict=True):
                decisions.setdefault(block.path, []).append((page.url, keeps))
        selector, paths = self._selector(self._slot_of(page.content.blocks[index].path), decisions)
        if not selector:
            return None
        texts = [text for path in paths for text in decisions[path]]
        changed = [url for url, keeps in texts if keeps == is_kept]
        line = f"{'drop' if is_kept else 'keep'} = [{_quoted(selector)}]"
        if len(changed) > (1 - MIXED_SHARE) * len(texts):
            return Correction((line,), len(changed), len(set(changed)))
        parts = urlsplit(page.url)
        pattern = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        lines = ("[[rule]]", f"pattern = {_quoted(pattern)}", line)
        return Correction(lines, changed.count(page.url), 1)

    def _selector(self, slot: str, paths: Collection[str]) -> tuple[str, set[str]]:
        """Return the first selector for a slot that matches the same places as the most precise
        one, among the *paths* and the model's slots, and the paths that it matches; "" if there is
        none.
        """
        # The pages at hand may be one of many: the selector must not match what others have.
        known = {known.slot for known in self.model.summary} if self.model else set[str]()
        tree, (*others, precise) = PathTree(sorted(known.union(paths))), ("", *selectors(slot))
        wanted = _matched(tree, precise)
        same = (other for other in others if other and _matched(tree, other) == wanted)
        return next(same, precise), wanted.intersection(paths)


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


def _neighbours(page: Page, index: int) -> str:
    """Return what stands before and after a block."""
    blocks = page.content.blocks
    before = f'"{_short(blocks[index - 1].text, 30)}"' if index else "nothing"
    after = f'"{_short(blocks[index + 1].text, 30)}"' if index + 1 < len(blocks) else "nothing"
    return f"it stands after {before} and before {after}"


def _quoted(text: str) -> str:
    """Return a text as a string of TOML."""
    return json.dumps(text, ensure_ascii=False)


def _short(text: str, most: int = SHOWN_CHARS) -> str:
    text = " ".join(text[: 4 * most].split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
