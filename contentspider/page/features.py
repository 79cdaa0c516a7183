"""Site-independent features of a page's blocks: what the prior judges them by.

All features are numbers that mean the same on every site: how long a text is, how much of it is
linked, where it stands on the page, what the ids and classes around it call it, what stands beside
it, and how much of the page's hints it repeats.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.page.blocks import BOLD
from contentspider.page.names import ANCESTOR_TAGS, LEAF_TAGS, NAME_GROUPS, PathNames

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.blocks import Block, PageBlocks
    from contentspider.page.hints import Hints

# Chinese, Japanese, Korean and Thai write no spaces between words: each character is a token.
TOKEN = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
SENTENCE_END = frozenset(".!?…。！？؟।\"”»'’)")
DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|\b\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b")
PUNCTUATION = re.compile(r"[,.;:!?،؛。，、；：！？]")
SEPARATORS = re.compile(r"[|»«›‹•·→←>/]")
DIGIT = re.compile(r"\d")
UPPER = re.compile(r"[A-ZÀ-ÖØ-ÞА-ЯЁ]")
# What boilerplate says of itself, in the web's most frequent languages.
NOISE_PHRASES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "related": (
            r"^\W*(?:(?:read|see|watch|photos?|videos?|pictures|gallery|slideshow|quiz|also|more|full"
            r" (?:list|story|coverage)) ?[:>»-]|related|recommended|you (?:may|might) (?:also"
            r" )?like|see also|read (?:more|also|next)|more (?:from|on|in|about|stories)|also"
            r" (?:on|in)|don'?t miss|popular|trending|most"
            r" (?:read|popular|viewed|recent)|latest|recent"
            r" (?:posts|comments|articles)|similar|further reading|lea también|le puede"
            r" interesar|te puede interesar|relacionad|más (?:noticias|leíd)|ähnliche|weitere|das"
            r" könnte|mehr zum|lire aussi|à lire|articles? (?:liés|similaires)|articoli"
            r" correlati|leggi anche|potrebbe interessarti|leia (?:também|mais)|veja também|читайте"
            r" также|похожие|смотрите также|по теме|相关|推荐|延伸阅读|関連|おすすめ|관련|xem"
            r" thêm|bài viết liên quan|اقرأ أيضا)"
        ),
        "comment": (
            r"^\W*(?:\d+ )?(?:comments?|replies|responses?|leave a (?:reply|comment)|post a"
            r" comment|add (?:a )?comment|join the (?:discussion|conversation)|thoughts"
            r" on|reply|log in to|comentarios?|deja"
            r" (?:un|tu)|respuestas?|kommentare?|antworten|commentaires?|laisser un|commenti|lascia"
            r" un|rispondi|comentários?|deixe|комментари|ответить|оставить|评论|留言|コメント|댓글|bình"
            r" luận|تعليق)"
        ),
        "share": (
            r"^\W*(?:share|tweet|e-?mail|print|facebook|twitter|pinterest|whatsapp|linkedin|reddit|follow"
            r" (?:us|me|@)|like"
            r" (?:us|this)|save|bookmark|compart|teilen|partager|condividi|поделиться|分享|シェア|공유)\b"
        ),
        "legal": (
            r"©|\(c\) ?\d{4}|copyright|all rights reserved|terms of|privacy|cookies?\b|todos los"
            r" derechos|alle rechte|tous droits|tutti i diritti|все права|版权|著作権|powered by"
        ),
        "form": (
            r"subscribe|newsletter|sign (?:up|in)|log ?in|register|your"
            r" email|search|submit|suscr|anmelden|inscri|iscriviti|подпис|订阅|登録"
        ),
        "byline": (
            r"^\W*(?:by|posted|published|written|updated|last (?:updated|modified)|filed"
            r" under|tags?|categor(?:y|ies)|in|author|source|photo|image|credit|por|von|par|di|от|автор|作者|投稿)\b"
        ),
        "move": (
            r"^\W*(?:next|prev(?:ious)?|older|newer|back|home|top|up|continue|page \d|skip"
            r" to|siguiente|anterior|weiter|zurück|suivant|précédent|назад|далее|вперед|下一|上一|次へ|前へ)\b"
        ),
        "ad": r"advertis|sponsored|promoted|publicidad|anzeige|publicité|реклама|广告|広告",
    }.items()
}

TEXT_FEATURES = [
    "log_chars",
    "log_words",
    "link_share",
    "links",
    "word_chars",
    "punctuation",
    "commas",
    "ends_sentence",
    "digit_share",
    "upper_share",
    "starts_upper",
    "date",
    "separators",
    "ends_colon",
    "question",
    "bold_share",
    "starts_digit",
    "url",
    "spans",
    "in_row",
    "in_item",
    "repeats_on_page",
] + [f"says_{name}" for name in NOISE_PHRASES]
POSITION_FEATURES = [
    "index_share",
    "index_log",
    "from_end_log",
    "chars_before",
    "long_before",
    "depth",
    "after_h1",
    "from_h1",
    "since_heading",
    "heading_level",
    "heading_related",
    "heading_comment",
    "first_of_path",
    "path_blocks_log",
    "path_char_share",
    "path_link_share",
    "path_mean_chars",
    "position_in_parent",
    "in_first_long_container",
    "h1_before",
    "long_h1_before",
]
PAGE_FEATURES = ["page_blocks", "page_chars", "page_link_share", "page_long_share", "page_h1"]
LEVELS = (0, 1, 2, 3, 4, 6)
LEVEL_FEATURES = [
    f"{name}_{level}"
    for level in LEVELS
    for name in (
        "char_share",
        "link_share",
        "blocks",
        "mean_chars",
        "long_share",
        "position",
        "sibling",
    )
]
TRUNK_FEATURES = [
    "in_trunk",
    "trunk_depth",
    "trunk_share",
    "trunk_before",
    "trunk_after",
    "trunk_link_share",
    "in_stem",
    "stem_share",
]
NEIGHBOURS = (-2, -1, 1, 2)
NEIGHBOUR_FEATURES = [
    f"{name}_{offset:+d}"
    for offset in NEIGHBOURS
    for name in ("log_chars", "link_share", "same_path", "heading", "ends_sentence")
] + [
    "window_chars",
    "window_links",
    "window_sentence",
    "wide_chars",
    "wide_links",
]
HINT_FEATURES = ["in_title", "of_title", "in_description", "of_description"]
FEATURE_NAMES: list[str] = (
    TEXT_FEATURES
    + POSITION_FEATURES
    + PAGE_FEATURES
    + LEVEL_FEATURES
    + TRUNK_FEATURES
    + NEIGHBOUR_FEATURES
    + HINT_FEATURES
    + [f"tag_{name}" for name in LEAF_TAGS]
    + [f"inside_{name}" for name in ANCESTOR_TAGS]
    + [f"{place}_{name}" for place in ("own", "near", "far") for name in NAME_GROUPS]
)

LONG_CHARS = 80  # unlinked text of this length is prose rather than a label
HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
# Four characters of spaced scripts carry about as much as one of Chinese.
WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def text_weight(text: str) -> int:
    """Return the length of *text* in characters of a spaced script (a wide character counts as
    three).
    """
    return len(text) if text.isascii() else len(text) + 2 * len(WIDE.findall(text))


def tokens(text: str) -> list[str]:
    """Return the lower-cased words of *text*; each CJK or Thai character is a token of its own."""
    return TOKEN.findall(text.lower())


# What only the text decides is worked out once for texts that a site's pages may repeat.
MAX_KEPT_CHARS = 200
MAX_KEPT_TEXTS = 50_000
LINK_SHARE, LINKS, BOLD_SHARE, SPANS, IN_ROW, IN_ITEM, REPEATS = map(
    TEXT_FEATURES.index,
    ("link_share", "links", "bold_share", "spans", "in_row", "in_item", "repeats_on_page"),
)


def _text_row(text: str) -> NDArray[np.float32]:
    """Return the features of a text by itself; those of its links, marks and place are left at 0."""
    chars = len(text)
    words = text.count(" ") + 1
    head = text[:2000]  # the share of digits in a longer text is that of its beginning
    sample = len(head)
    start = text[:80]
    return np.array(
        (
            np.log1p(text_weight(text)),
            np.log1p(words),
            0,
            0,
            chars / words,
            len(PUNCTUATION.findall(head)) / sample,
            (head.count(",") + head.count("，") + head.count("、")) / sample,
            text[-1] in SENTENCE_END,
            len(DIGIT.findall(head)) / sample,
            len(UPPER.findall(head)) / sample,
            text[0].isupper(),
            bool(DATE.search(head)) / (1 + chars / 100),
            len(SEPARATORS.findall(head)) / sample,
            text[-1] in ":：",
            "?" in head or "？" in head,
            0,
            text[0].isdigit(),
            "http" in head or "www." in head,
            0,
            0,
            0,
            0,
            *(
                bool(pattern.search(start)) if chars < 400 else False
                for pattern in NOISE_PHRASES.values()
            ),
        ),
        dtype=np.float32,
    )


def _hint_rows(blocks: list[Block], hints: Hints) -> NDArray[np.float32]:
    rows = np.zeros((len(blocks), len(HINT_FEATURES)), dtype=np.float32)
    titles = [set(tokens(text)) for text in hints.titles[:4]]
    descriptions = [set(tokens(text)) for text in hints.descriptions[:4]]
    if not titles and not descriptions:
        return rows
    for index, block in enumerate(blocks):
        words = set(tokens(block.text[:1000]))
        if not words:
            continue
        for column, hint_sets in ((0, titles), (2, descriptions)):
            for hint in hint_sets:
                common = len(words & hint)
                if common:
                    rows[index, column] = max(rows[index, column], common / len(words))
                    rows[index, column + 1] = max(rows[index, column + 1], common / len(hint))
    return rows


class FeatureExtractor:
    """Computes the feature matrix of pages; keeps what it knows of the paths it has met.

    One extractor serves one site: its cache grows with the site's template, not with its pages.
    """

    def __init__(self) -> None:
        self.names = PathNames()
        self._texts: dict[str, NDArray[np.float32]] = {}

    def features(self, page: PageBlocks, hints: Hints) -> NDArray[np.float32]:
        """Return one row of `FEATURE_NAMES` for each block of the page, as float32."""
        blocks = page.blocks
        count = len(blocks)
        if not count:
            return np.zeros((0, len(FEATURE_NAMES)), dtype=np.float32)
        text = self._text_rows(blocks)
        weight = np.expm1(text[:, 0])
        links = text[:, 2] * weight
        is_long = (weight - links >= LONG_CHARS) & (text[:, 2] < 0.5)
        heading = np.array([HEADINGS.get(block.tag, 0) for block in blocks], dtype=np.float32)
        names = np.stack([self.names.row(block.path) for block in blocks])
        hint = _hint_rows(blocks, hints)
        position = self._position_rows(page, text, weight, links, is_long, heading)
        level, trunk = _container_rows(page, weight, links, is_long)
        neighbour = _neighbour_rows(blocks, text, heading, weight, links)
        total = weight.sum()
        page_row = np.array(
            [
                np.log1p(count),
                np.log1p(total),
                links.sum() / total,
                weight[is_long].sum() / total,
                (heading == 1).sum(),
            ],
            dtype=np.float32,
        )
        return np.hstack(
            [text, position, np.tile(page_row, (count, 1)), level, trunk, neighbour, hint, names]
        ).astype(np.float32)

    def _text_rows(self, blocks: list[Block]) -> NDArray[np.float32]:
        if len(self._texts) > MAX_KEPT_TEXTS:
            self._texts.clear()
        found = []
        for block in blocks:
            row = self._texts.get(block.text)
            if row is None:
                row = _text_row(block.text)
                if len(block.text) <= MAX_KEPT_CHARS:
                    self._texts[block.text] = row
            found.append(row)
        rows = np.stack(found)
        times = Counter(block.text for block in blocks)
        rows[:, LINK_SHARE] = [block.link_chars / len(block.text) for block in blocks]
        rows[:, LINKS] = np.log1p([block.links for block in blocks])
        rows[:, BOLD_SHARE] = [block.bold_chars / len(block.text) for block in blocks]
        rows[:, SPANS] = [
            sum(mark != BOLD for *_, mark in block.spans) / (block.text.count(" ") + 1)
            for block in blocks
        ]
        rows[:, IN_ROW] = [block.row > 0 for block in blocks]
        rows[:, IN_ITEM] = [block.item > 0 for block in blocks]
        rows[:, REPEATS] = [min(times[block.text] - 1, 5) for block in blocks]
        return rows

    def _position_rows(
        self,
        page: PageBlocks,
        text: NDArray[np.float32],
        weight: NDArray[np.float32],
        links: NDArray[np.float32],
        is_long: NDArray[np.bool_],
        heading: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        blocks = page.blocks
        count = len(blocks)
        rows = np.zeros((count, len(POSITION_FEATURES)), dtype=np.float32)
        index = np.arange(count)
        rows[:, 0] = index / count
        rows[:, 1] = np.log1p(index)
        rows[:, 2] = np.log1p(count - 1 - index)
        total = max(weight.sum(), 1.0)
        rows[:, 3] = (np.cumsum(weight) - weight) / total
        long_weight = np.where(is_long, weight, 0)
        long_total = long_weight.sum()
        if long_total:
            rows[:, 4] = (np.cumsum(long_weight) - long_weight) / long_total
        rows[:, 5] = [block.path.count("/") for block in blocks]
        h1 = np.flatnonzero(heading == 1)
        if len(h1):
            rows[:, 6] = index >= h1[0]
            last = np.searchsorted(h1, index, side="right") - 1
            distance = index - h1[np.maximum(last, 0)]
            rows[:, 7] = np.sign(distance) * np.log1p(np.abs(distance))
        else:
            rows[:, 6], rows[:, 7] = -1, -9
        related, comment = TEXT_FEATURES.index("says_related"), TEXT_FEATURES.index("says_comment")
        since, level, is_related, is_comment = 0, 0.0, 0.0, 0.0
        by_path: dict[str, list[int]] = {}
        for number, block in enumerate(blocks):
            if heading[number]:
                since, level = 0, float(heading[number])
                is_related, is_comment = float(text[number, related]), float(text[number, comment])
            rows[number, 8:12] = np.log1p(since), level, is_related, is_comment
            since += 1
            by_path.setdefault(block.path, []).append(number)
        for members in by_path.values():
            chars, linked = weight[members].sum(), links[members].sum()
            rows[members[0], 12] = 1
            rows[members, 13] = np.log1p(len(members))
            rows[members, 14] = chars / total
            rows[members, 15] = linked / max(chars, 1)
            rows[members, 16] = np.log1p(chars / len(members))
        rows[:, 17] = [min(page.positions[block.container], 30) for block in blocks]
        if is_long.any():
            first = blocks[int(np.argmax(is_long))]
            parent = page.parents[first.container]
            rows[:, 18] = [page.parents[block.container] == parent for block in blocks]
        h1_after_prose = (heading == 1) & (rows[:, 4] > 0)
        rows[:, 19] = np.cumsum(heading == 1)
        rows[:, 20] = np.cumsum(h1_after_prose)
        return rows


def _container_rows(
    page: PageBlocks,
    weight: NDArray[np.float32],
    links: NDArray[np.float32],
    is_long: NDArray[np.bool_],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Features of the elements around each block, and of the element that holds most of the prose."""
    blocks = page.blocks
    parents = page.parents
    size = len(parents)
    chars, linked, number, prose = (np.zeros(size) for _ in range(4))
    holders = np.array([block.container for block in blocks])
    np.add.at(chars, holders, weight)
    np.add.at(linked, holders, links)
    np.add.at(number, holders, 1)
    np.add.at(prose, holders, np.where(is_long, weight, 0))
    first = np.full(size, len(blocks), dtype=np.int64)
    np.minimum.at(first, holders, np.arange(len(blocks)))
    last = np.full(size, -1, dtype=np.int64)
    np.maximum.at(last, holders, np.arange(len(blocks)))
    for element in range(size - 1, 0, -1):  # parents come before their children
        parent = parents[element]
        chars[parent] += chars[element]
        linked[parent] += linked[element]
        number[parent] += number[element]
        prose[parent] += prose[element]
        first[parent] = min(first[parent], first[element])
        last[parent] = max(last[parent], last[element])
    total = max(chars[0], 1.0)
    rows = np.zeros((len(blocks), len(LEVEL_FEATURES)), dtype=np.float32)
    parent_of = np.maximum(np.array(parents), 0)
    positions = np.array(page.positions)
    current = holders.copy()
    order = np.arange(len(blocks))
    column = level = 0
    for wanted in LEVELS:
        while level < wanted:
            current = parent_of[current]
            level += 1
        safe = np.maximum(chars[current], 1)
        rows[:, column] = chars[current] / total
        rows[:, column + 1] = linked[current] / safe
        rows[:, column + 2] = np.log1p(number[current])
        rows[:, column + 3] = np.log1p(chars[current] / np.maximum(number[current], 1))
        rows[:, column + 4] = prose[current] / safe
        rows[:, column + 5] = (order - first[current]) / np.maximum(
            last[current] - first[current], 1
        )
        rows[:, column + 6] = np.minimum(positions[current], 20)
        column += 7
    # The trunk is the deepest element with 70 % of the page's prose; the stem the one with 40 %.
    trunk_rows = np.zeros((len(blocks), len(TRUNK_FEATURES)), dtype=np.float32)
    mass = prose if prose[0] else chars
    members = {}
    for name, share in (("trunk", 0.7), ("stem", 0.4)):
        candidates = np.flatnonzero(mass >= share * mass[0])
        element = int(
            candidates[-1]
        )  # document order: the last of a chain of ancestors is the deepest
        below = np.zeros(size, dtype=bool)
        below[element] = True
        for child in range(element + 1, size):
            below[child] = below[parents[child]]
        members[name] = (element, below[holders])
    trunk, inside = members["trunk"]
    stem, in_stem = members["stem"]
    depth = page.paths[trunk].count("/")
    trunk_rows[:, 0] = inside
    trunk_rows[:, 1] = [block.path.count("/") - depth for block in blocks]
    trunk_rows[:, 2] = chars[trunk] / total
    trunk_rows[:, 3] = np.log1p(np.maximum(first[trunk] - order, 0))
    trunk_rows[:, 4] = np.log1p(np.maximum(order - last[trunk], 0))
    trunk_rows[:, 5] = linked[trunk] / max(chars[trunk], 1)
    trunk_rows[:, 6] = in_stem
    trunk_rows[:, 7] = chars[stem] / total
    return rows, trunk_rows


def _shifted(values: NDArray[np.float32], offset: int) -> NDArray[np.float32]:
    """Return *values* of the block *offset* places on; -1 beyond the ends of the page."""
    result = np.full_like(values, -1)
    if offset > 0:
        result[:-offset] = values[offset:]
    else:
        result[-offset:] = values[:offset]
    return result


def _window_mean(values: NDArray[np.float32], reach: int) -> NDArray[np.float32]:
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    index = np.arange(len(values))
    low, high = np.maximum(index - reach, 0), np.minimum(index + reach + 1, len(values))
    return np.asarray((sums[high] - sums[low]) / (high - low), dtype=np.float32)


def _neighbour_rows(
    blocks: list[Block],
    text: NDArray[np.float32],
    heading: NDArray[np.float32],
    weight: NDArray[np.float32],
    links: NDArray[np.float32],
) -> NDArray[np.float32]:
    ids: dict[str, int] = {}
    paths = np.array([ids.setdefault(block.path, len(ids)) for block in blocks], dtype=np.float32)
    ends = text[:, TEXT_FEATURES.index("ends_sentence")]
    columns: list[NDArray[np.floating[Any]]] = []
    for offset in NEIGHBOURS:
        if abs(offset) >= len(blocks):
            columns += [np.full(len(blocks), -1, dtype=np.float32)] * 5
            continue
        columns += [
            _shifted(text[:, 0], offset),
            _shifted(text[:, 2], offset),
            (_shifted(paths, offset) == paths).astype(np.float32),
            _shifted(heading, offset),
            _shifted(ends, offset),
        ]
    columns += [
        _window_mean(text[:, 0], 5),
        _window_mean(links, 5) / np.maximum(_window_mean(weight, 5), 1),
        _window_mean(ends, 5),
        _window_mean(text[:, 0], 20),
        _window_mean(links, 20) / np.maximum(_window_mean(weight, 20), 1),
    ]
    return np.stack(columns, axis=1).astype(np.float32)
