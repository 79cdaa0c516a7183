"""The queries and servers of `search_quality.py --engines`: every engine with the same queries.

The items of ten sites, which the sites' models make by the shipped prior, go into one index per
site and engine. There are six kinds of queries, and each query has one right page:

- heading: a heading below the title, whose words are no heading and no title of another page.
- link: the text of a link on another page. All links with that text lead to the right page.
- words: three words of one paragraph of the page, in the order of the paragraph.
- mention: the text of a link in the content of another page. All links with this text lead to the
  right page.
- title: the title of the page, which no other page has.
- tab: the page's element ``title``, which has more than that title: most have the site's name.

A page with the same content as the right page is right, too, and so is a page with the paragraph
that the words come from: many sites repeat a paragraph on dozens of pages. Pages have the link
texts of other
pages in the field ``anchors``, as a crawl gives them. Links
with the text of a query are left out: all links for the first three kinds, the links of one page
for a mention.

With an embedder, SQLite is measured again with vectors: with words and meaning merged, and with
meaning alone. "lsa" is latent semantic analysis, learned from the sections of each site.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from contentspider.crawl.base.links import link_text
from contentspider.index.embedders import EMBEDDER, NamedEmbedder, chosen_embedder
from contentspider.index.engine import Engine, Query, create_engine
from contentspider.index.result_rows import result_rows
from contentspider.index.schema import TEXT_FIELDS, Document, document_fields
from contentspider.index.sections import page_sections
from contentspider.index.sqlite import HybridQuery, SQLiteEngine
from contentspider.index.titles import Titled
from contentspider.index.vectors import VectorTable
from contentspider.index.words import split_words, stemmer_name
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.record import page_fields
from contentspider.state.book.anchors import MAX_ANCHORS, MAX_TARGETS
from tests.servers import SERVERS, index_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from contentspider.evaluation.corpora import Corpus
    from contentspider.index.engines.postgresql import PostgreSQLEngine
    from contentspider.index.engines.typesense import TypesenseEngine

    Item = dict[str, Any]
    # The kind of a query, its words, and the right page. Further pages are right, too.
    Asked = list[str]
    Search = Callable[[str], list[str]]
    # By text and target, the number of pages with such a link.
    Links = dict[str, Counter[str]]

KINDS = ("heading", "link", "words", "mention", "title", "tab")
# Every site has as many queries of these kinds; most sites have fewer mentions, and some no tabs.
FULL_KINDS = KINDS[:3]
ENGINES = ("sqlite", "tantivy", "postgresql", "typesense")
DEPTH = 10
# The queries of each kind per site.
QUERIES = 15
# Sites of other sizes have too few queries, or take too long.
MIN_PAGES, MAX_PAGES = 60, 400
MIN_WORDS, MIN_WORD_CHARS = 12, 4
WORD = re.compile(r"[^\W\d_]+")
# Shorter words are not mistyped, and results after the first ones do not count for mistyped words.
MIN_MISTYPED_CHARS = 4
TYPING_DEPTH = 5
LSA_DIMENSIONS = 200
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def draw_sites(
    corpora: Sequence[Corpus], count: int, seed: int, folder: Path | None
) -> Iterator[tuple[Corpus, list[Item], list[Asked]]]:
    """Yield *count* sites of medium size with their items and queries, in random order.

    A site has `QUERIES` queries of each kind; sites with fewer are left out.
    """
    draw = random.Random(seed)
    for corpus in draw.sample(corpora, len(corpora)):
        is_medium = MIN_PAGES <= len(corpus.gold_paths()) <= MAX_PAGES
        if count and corpus.suite == "sites" and is_medium:
            items = site_items(corpus, folder)
            links = linked_texts(corpus, {item["url"] for item in items})
            queries = site_queries(corpus, items, links, seed)
            add_anchors(items, links, queries)
            if sum(kind in FULL_KINDS for kind, *_ in queries) == QUERIES * len(FULL_KINDS):
                count -= 1
                yield corpus, items, queries


def site_items(corpus: Corpus, folder: Path | None) -> list[Item]:
    """Return the items of a site's pages with content, read from the *folder* or kept there."""
    file = folder / f"{corpus.name}.items.json" if folder else None
    if file and file.is_file():
        return cast("list[Item]", json.loads(file.read_text(encoding="utf-8")))
    pages = [page for page in corpus.pages() if page.content.blocks]
    model = SiteLearner(corpus.name).fit(pages)
    names = ["url", "site", "language", "page_type", "content_html"]
    names += [field.name for field in TEXT_FIELDS if field.name != "anchors"]
    items = []
    for page in pages:
        fields = page_fields(
            page, corpus.name, model.extract(page), model.version, wanted=frozenset(names)
        )
        if fields["content"]:
            items.append({name: fields[name] for name in names if name in fields})
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")
    return items


def site_queries(corpus: Corpus, items: Sequence[Item], links: Links, seed: int) -> list[Asked]:
    """Return `QUERIES` queries of each kind, or fewer."""
    titles = title_queries(items)
    candidates: dict[str, Sequence[tuple[str, ...]]] = {
        "heading": heading_queries(items),
        "link": link_queries(links, {item["url"] for item in items}),
        "words": word_queries(items, random.Random(f"{seed}/{corpus.name}")),
        "mention": mention_queries(items, links),
        "title": titles,
        "tab": tab_queries(corpus, titles),
    }
    queries = []
    for kind, pairs in candidates.items():
        draw = random.Random(f"{seed}/{corpus.name}/{kind}")
        drawn = draw.sample(sorted(pairs), min(QUERIES, len(pairs)))
        queries += [[kind, *asked] for asked in drawn]
    return queries


def heading_queries(items: Sequence[Item]) -> list[tuple[str, str]]:
    """Return each heading that is not in the title of its page, and whose words are no heading and
    no title of another page.
    """
    pages_of: dict[str, set[str]] = defaultdict(set)
    for item in items:
        for name in (item.get("title", ""), *(item.get("headings") or ())):
            pages_of[_bare(name)].add(item["url"])
    return [
        (heading, item["url"])
        for item in items
        for heading in dict.fromkeys(item.get("headings") or ())
        if WORD.search(heading)
        and len(pages_of[_bare(heading)]) == 1
        and _bare(heading) not in _bare(item.get("title", ""))
    ]


def title_queries(items: Sequence[Item]) -> list[tuple[str, str]]:
    """Return each title whose words are no title of another page."""
    counts = Counter(_bare(item.get("title", "")) for item in items)
    return [
        (item["title"], item["url"])
        for item in items
        if WORD.search(item.get("title", "")) and counts[_bare(item["title"])] == 1
    ]


def tab_queries(corpus: Corpus, titles: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the text of the element ``title`` of each page that has more than one of the *titles*
    there, as the tab of a browser shows it.
    """
    queries = []
    for title, page in titles:
        tree = _page_tree(corpus, page)
        tab = " ".join((tree.findtext(".//title") or "").split())
        if _bare(title) != _bare(tab) and f" {_bare(title)} " in f" {_bare(tab)} ":
            queries.append((tab, page))
    return queries


def _page_tree(corpus: Corpus, page: str) -> lxml.html.HtmlElement:
    return lxml.html.fromstring((corpus.folder / "html" / page).read_bytes())


def linked_texts(corpus: Corpus, pages: set[str]) -> Links:
    """Return by link text and target how many of the *pages* have such a link to another page."""
    targets_of: Links = defaultdict(Counter)
    for page in sorted(pages):
        for text, target in _page_links(_page_tree(corpus, page), page):
            targets_of[text][target] += 1
    return targets_of


def add_anchors(items: Sequence[Item], links: Links, queries: Sequence[Sequence[str]]) -> None:
    """Add to each item the link texts of other pages, except the texts of queries."""
    queried = {_bare(words) for kind, words, *_ in queries if kind in FULL_KINDS}
    mentions = Counter((words, page) for kind, words, page, *_ in queries if kind == "mention")
    texts_of: dict[str, Counter[str]] = defaultdict(Counter)
    for text, targets in links.items():
        if text and _bare(text) not in queried and len(targets) <= MAX_TARGETS:
            for target, count in targets.items():
                if count > mentions[text, target]:
                    texts_of[target][text] += count - mentions[text, target]
    for item in items:
        counts = texts_of[item["url"]]
        best = sorted(counts, key=lambda text: (-counts[text], text))
        item["anchors"] = best[:MAX_ANCHORS]


def mention_queries(items: Sequence[Item], links: Links) -> list[tuple[str, str]]:
    """Return the queries of `link_queries` that are links in the content of a page."""
    mentions = {
        (text, target)
        for item in items
        if item.get("content_html")
        for text, target in _page_links(lxml.html.fromstring(item["content_html"]), item["url"])
    }
    return [
        pair for pair in link_queries(links, {item["url"] for item in items}) if pair in mentions
    ]


def _page_links(tree: lxml.html.HtmlElement, page: str) -> set[tuple[str, str]]:
    """Return text and target of each link from a page to other pages of its site."""
    links = set()
    for link in tree.iter("a"):
        target = linked_page(page, str(link.get("href") or ""))
        if target not in ("", page):
            links.add((link_text(link), target))
    return links


def _bare(text: str) -> str:
    return " ".join(split_words(text))


def link_queries(links: Links, pages: set[str]) -> list[tuple[str, str]]:
    """Return each text of two words or more whose links on other pages lead to one page alone."""
    return [
        (text, target)
        for text, targets in links.items()
        for target in targets.keys() & pages
        if len(targets) == 1 and len(WORD.findall(text)) > 1
    ]


def linked_page(page: str, href: str) -> str:
    """Return the path of the page that a link on a page leads to, or "" outside of the site."""
    try:
        address = urlsplit(urljoin(f"http://site/{page}", href.strip()))
    except ValueError:  # a page may have any text as an address
        return ""
    return unquote(address.path).removeprefix("/") if address.netloc == "site" else ""


def is_long_word(word: str) -> bool:
    """Tell whether a word has `MIN_WORD_CHARS` characters, and no digit."""
    return len(word) >= MIN_WORD_CHARS and not any(map(str.isnumeric, word))


def word_queries(items: Sequence[Item], draw: random.Random) -> list[tuple[str, ...]]:
    """Return three words of one paragraph of each page, the page, and others that have it."""
    pages_of: dict[str, set[str]] = defaultdict(set)
    for item in items:
        for line in item["content"].split("\n"):
            pages_of[line].add(item["url"])
    queries = []
    for item in items:
        paragraphs = [
            (words, line)
            for line in item["content"].split("\n")
            if len(words := [word for word in split_words(line) if is_long_word(word)]) >= MIN_WORDS
        ]
        if paragraphs:
            words, line = draw.choice(paragraphs)
            places = sorted(draw.sample(range(len(words)), 3))
            others = sorted(pages_of[line] - {item["url"]})
            queries.append((" ".join(words[place] for place in places), item["url"], *others))
    return queries


class LSA:
    """Latent semantic analysis of the sections of some documents, as an embedder."""

    def __init__(self, documents: Sequence[Document]) -> None:
        texts = [text for document in documents for text in VectorTable.texts_of(document)]
        words = TfidfVectorizer(sublinear_tf=True)
        self._model = make_pipeline(words, TruncatedSVD(LSA_DIMENSIONS, random_state=0))
        self._model.fit(texts)

    def embed(self, texts: list[str]) -> Any:
        """Return the vectors of texts."""
        return self._model.transform(texts)


def embedder_named(name: str, items: Sequence[Item]) -> NamedEmbedder | None:
    """Return "lsa", learned from *items*, or the embedder that `chosen_embedder` has for a name."""
    if name == "lsa":
        return NamedEmbedder(name, LSA(documents_of(items)))
    os.environ[EMBEDDER] = name
    try:
        return chosen_embedder()
    finally:
        del os.environ[EMBEDDER]


def hybrid_searches(engine: SQLiteEngine, name: str) -> dict[str, Search]:
    """Return by name the search of an index with vectors, and a search by meaning alone."""

    def by_meaning(words: str) -> list[str]:
        assert engine._vectors is not None
        nearest = engine._vectors.nearest(Query(words))
        query = HybridQuery(words, limit=DEPTH, nearest=nearest)
        hits = engine._search_terms(query, [], Titled()).hits if nearest else []
        return [str(hit.record["id"]) for hit in hits]

    (search,) = searches(engine, "sqlite", "").values()
    return {f"sqlite, words and {name}": search, f"sqlite, {name} alone": by_meaning}


def searches(engine: Engine, scheme: str, language: str) -> dict[str, Search]:
    """Return by name what answers a query with ids: the engine, and its server asked directly."""

    def search(words: str) -> list[str]:
        return [str(hit.record["id"]) for hit in engine.search(Query(words, limit=DEPTH)).hits]

    answers: dict[str, Search] = {scheme: search}
    if scheme == "typesense":
        answers["typesense, asked directly"] = typesense_directly(cast("TypesenseEngine", engine))
    elif scheme == "postgresql":
        for rank in ("ts_rank", "ts_rank_cd"):
            name = f"postgresql, asked directly, {rank}"
            answers[name] = postgresql_directly(cast("PostgreSQLEngine", engine), language, rank)
    return answers


def typesense_directly(engine: TypesenseEngine) -> Search:
    """Return a search of the same collection by Typesense's defaults."""

    def search(words: str) -> list[str]:
        fields = ",".join(field.name for field in TEXT_FIELDS)
        result = engine._search(q=words, query_by=fields, per_page=DEPTH)
        return [hit["document"]["id"] for hit in result["hits"]]

    return search


def postgresql_directly(engine: PostgreSQLEngine, language: str, rank: str) -> Search:
    """Return a search of the same texts by the query of PostgreSQL's documentation."""
    from contentspider.index.engines.postgresql import LETTERS

    # PostgreSQL has no stemmer for some of Snowball's languages.
    names = engine._execute("SELECT cfgname FROM pg_ts_config")
    name = stemmer_name(language)
    configuration = name if name in {row["cfgname"] for row in names} else "simple"
    texts = (
        (f"array_to_string({each.name}, ' ')" if each.is_list else each.name, LETTERS[each.weight])
        for each in TEXT_FIELDS
    )
    vector = " || ".join(
        f"setweight(to_tsvector(%(configuration)s::regconfig, coalesce({text}, '')), '{letter}')"
        for text, letter in texts
    )
    statement = (
        f"SELECT id FROM {{table}}, websearch_to_tsquery(%(configuration)s, %(words)s) query,"
        f" LATERAL (SELECT {vector} AS found) vectors"
        f" WHERE query @@ found ORDER BY {rank}(found, query) DESC LIMIT {DEPTH}"
    )

    def search(words: str) -> list[str]:
        rows = engine._execute(cast("Any", statement), configuration=configuration, words=words)
        return [row["id"] for row in rows]

    return search


def documents_of(items: Sequence[Item]) -> list[Document]:
    """Return the documents of items."""
    return [
        Document(item["url"], "benchmark", number, "", document_fields(item))
        for number, item in enumerate(items, 1)
    ]


@contextmanager
def filled_engine(
    scheme: str, items: Sequence[Item], embedder: NamedEmbedder | None = None
) -> Iterator[Engine]:
    """Give an engine with a new index of the *items*, with vectors if there is an *embedder*."""
    with ExitStack() as stack:
        if scheme in SERVERS:
            url = stack.enter_context(index_url(SERVERS[scheme][1]))
        else:
            folder = stack.enter_context(TemporaryDirectory(prefix="contentspider-"))
            url = f"{scheme}:{Path(folder, 'index')}"
        engine = stack.enter_context(closing(create_engine(url)))
        if embedder is not None:
            engine.use_embedder(embedder)
        engine.open(is_writer=True)
        documents = documents_of(items)
        for start in range(0, len(documents), engine.max_documents):
            refusals = engine.upsert(documents[start : start + engine.max_documents])
            for refusal in refusals:
                print(scheme, refusal, file=sys.stderr)
        engine.flush()
        yield engine


def right_pages(items: Sequence[Item], queries: Sequence[Asked]) -> list[tuple[str, str, set[str]]]:
    """Return the kind and the words of each query, and all pages that are right: those that it
    names, and the pages with the same content as one of them.
    """
    pages_of: dict[str, set[str]] = defaultdict(set)
    for item in items:
        pages_of[item["content"]].add(item["url"])
    alike = {item["url"]: pages_of[item["content"]] for item in items}
    return [
        (kind, words, set[str]().union(*(alike[page] for page in pages)))
        for kind, words, *pages in queries
    ]


def reciprocal_rank(ids: Sequence[str], right: set[str]) -> float:
    """Return 1 / rank of the first right page, or 0.0 if no result is right."""
    return next((1 / rank for rank, page in enumerate(ids, 1) if page in right), 0.0)


def mistyped(words: str, draw: random.Random) -> str:
    """Return words with one slip in a word of at least `MIN_MISTYPED_CHARS` letters, "" if none has
    as many: a letter is missing, twice there or wrong, or two neighbours have changed places.
    """
    places = [match for match in WORD.finditer(words) if len(match[0]) >= MIN_MISTYPED_CHARS]
    if not places:
        return ""
    match = draw.choice(places)
    at = match.start() + draw.randrange(len(match[0]) - 1)
    before, pair, after = words[:at], words[at : at + 2], words[at + 2 :]
    slips = [pair[1], pair[0] + pair, draw.choice(LETTERS) + pair[1], pair[1] + pair[0]]
    return before + draw.choice(slips) + after


def top_share(ids: Sequence[str], right: set[str]) -> float:
    """Return 1.0 if one of the first `TYPING_DEPTH` results is right, else 0.0."""
    return float(not right.isdisjoint(ids[:TYPING_DEPTH]))


def shows_section(engine: Engine, heading: str, right: set[str]) -> float | None:
    """Return 1.0 if the right page's first section is the one with the searched heading, else 0.0.

    Return None if the page is not among the results, or if the heading is the page's title or has
    no anchor.
    """
    query = Query(heading, limit=DEPTH)
    for row in result_rows(query, engine.search(query)):
        if row.url in right:
            name = heading.lstrip("# ")  # headings of items begin with their level
            if name == row.title or not any(
                section.url != row.url and section.headings[-1] == name
                for section in page_sections(row.record)
            ):
                return None
            return float(bool(row.sections) and row.sections[0].heading == name)
    return None


def add_hybrid(
    values: Mapping[str, Mapping[str, list[float]]],
    embedder: str,
    items: Sequence[Item],
    queries: Sequence[tuple[str, str, set[str]]],
) -> None:
    """Add the reciprocal ranks of `hybrid_searches` on a site to *values*."""
    with filled_engine("sqlite", items, embedder_named(embedder, items)) as engine:
        for name, search in hybrid_searches(cast("SQLiteEngine", engine), embedder).items():
            for kind, words, right in queries:
                values[name][kind].append(reciprocal_rank(search(words), right))


def compare_engines(
    corpora: Sequence[Corpus],
    schemes: Sequence[str],
    folder: Path | None,
    sites: int,
    seed: int,
    embedder: str = "",
) -> None:
    """Print MRR@10 of each engine and kind of queries: 150 queries of each kind if *sites* is 10.

    An *embedder* adds the rows of `hybrid_searches`.

    A second table has queries with a typing error: the share with a right page among the first
    `TYPING_DEPTH`, beside the share for the right spelling. *folder* keeps the items of the sites.
    """
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    sections: dict[str, list[float]] = defaultdict(list)
    for corpus, items, drawn in draw_sites(corpora, sites, seed, folder):
        queries = right_pages(items, drawn)
        language = str(corpus.about.get("language", ""))
        for scheme in schemes:
            with filled_engine(scheme, items) as engine:
                for name, search in searches(engine, scheme, language).items():
                    draw = random.Random(f"{seed} {corpus.name}")
                    for kind, words, right in queries:
                        ids = search(words)
                        values[name][kind].append(reciprocal_rank(ids, right))
                        if slip := mistyped(words, draw):
                            found[name]["right"].append(top_share(ids, right))
                            found[name]["slip"].append(top_share(search(slip), right))
                for kind, words, right in queries:
                    is_shown = shows_section(engine, words, right)
                    if kind == "heading" and is_shown is not None:
                        sections[scheme].append(is_shown)
        if embedder:
            add_hybrid(values, embedder, items, queries)
        print(corpus.name, len(items), "pages", len(queries), "queries", file=sys.stderr)
    print(f"| MRR@10 | {' | '.join(KINDS)} |\n|{'---|' * (len(KINDS) + 1)}")
    for name, ranks in values.items():
        cells = [f"{mean(ranks[kind]):.3f} ({len(ranks[kind])})" for kind in KINDS]
        print(f"| {name} | {' | '.join(cells)} |")
    print(
        f"\n| first {TYPING_DEPTH} | right spelling | one slip | ratio | queries |\n|{'---|' * 5}"
    )
    for name, shares in found.items():
        right, mistaken = mean(shares["right"]), mean(shares["slip"])
        ratio, count = mistaken / right, len(shares["slip"])
        print(f"| {name} | {right:.3f} | {mistaken:.3f} | {ratio:.3f} | {count} |")
    for scheme, shown in sections.items():
        print(
            f"\n{scheme}: the first section shown has the searched heading: {mean(shown):.3f}"
            f" of {len(shown)}"
        )
