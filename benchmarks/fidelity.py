"""How truly content_markdown and content_html keep what authors wrote, beside other extractors.

    python benchmarks/fidelity.py SITES [--unpack REPOSITORIES] [--only SYSTEM ...]
                                  [--site NAME ...] [--examples] [--node FOLDER]

The gold is the Markdown in the public repositories of websites, and in packages whose websites are
built (`fidelity_sites.toml`). With *--unpack* their pages and sources are taken into the folder
SITES first, out of copies of the repositories, REPOSITORIES/OWNER+NAME; packages are downloaded
from PyPI and npm, AsciiDoc is read by `asciidoctor`. A source's Markdown and that of an extractor
are both rendered by markdown-it-py (tables, strikethrough, footnotes, definition lists, formulas,
front matter; raw HTML as it is) and their elements are compared as multisets, page by page:

heading (level, text), paragraph (outside lists, tables and quotes), item (depth, numbered or not,
its own text), code (to the character, but for space at its ends), language (of each block that
names it, with the block), inline code, emphasis, strong, link (text, target), cell (row, column,
text), image (alternative text, file), quote, footnote, definition (term or definition), formula,
admonition (kind by GitHub's five, title, text), details (title, text), tab (label, first block of
the panel), signature (of an API's object: name, arguments), citation (label, text). No Markdown has
marks for the last three: those of the source are sought, so that only their recall counts. A source
in reStructuredText has only these three.

Of each kind precision, recall and F1 are of all pages of a site, then the mean over the sites whose
sources have at least five of the kind; texts are compared with white space, typographic quotes and
dashes made alike. What a source includes or computes (`{{ x }}`, `--8<--`) may be anything. A note,
tip or folded section of a source has a title on the page, which the author or the theme wrote: one
paragraph, heading and quote more than in the source is no error for each of them.
The *ceiling* is html-to-markdown of the element that the theme wraps around the content, without
the marks of permalinks. The other extractors answer where they are installed, those of npm
(defuddle, @mozilla/readability with turndown) with *--node*, the folder of `node_modules`; what
they say is kept in SITES/peers. With *--only ours* none is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from copy import deepcopy
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
from fidelity_dialects import GROUP, plain, signatures
from fidelity_sites import FRONT_MATTER, fields, half, sites, unpack
from lxml import etree
from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from contentspider import Page, SiteLearner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.html import HtmlElement

    Reader = Callable[[dict[str, str]], str]

KINDS = (
    "heading paragraph item code language inline-code emphasis strong link cell image quote"
    " footnote definition formula admonition details tab signature citation"
).split()
SOUGHT = ("tab", "signature", "citation")  # what no Markdown has marks for, by `found`
LEAST_ELEMENTS = 5  # of a kind in a site's sources: with fewer the site does not count for it
MANY = 1_000_000
OURS = ("ours", "ours, HTML")
NODE = r"""
const fs = require("fs"), {JSDOM} = require("jsdom"), TurndownService = require("turndown");
const {Readability} = require("@mozilla/readability"), {gfm} = require("turndown-plugin-gfm");
const pages = JSON.parse(fs.readFileSync(0));
const turndown = new TurndownService({headingStyle: "atx", codeBlockStyle: "fenced"});
turndown.use(gfm);
(async () => {
  const {Defuddle} = await import("defuddle/node");
  const texts = {"defuddle": [], "readability + turndown": []};
  for (const {url, html} of pages) {
    let text = "";
    try { text = (await Defuddle(html, url, {markdown: true})).content; } catch (error) {
      console.error(url, String(error).slice(0, 200)); }
    texts["defuddle"].push(text);
    try { text = turndown.turndown(
      new Readability(new JSDOM(html, {url}).window.document).parse().content); } catch (error) {
      text = ""; console.error(url, String(error).slice(0, 200)); }
    texts["readability + turndown"].push(text);
  }
  fs.writeFileSync(process.argv[1], JSON.stringify(texts));
})();
"""

# ---- Markdown, made plain

INCLUDED = re.compile(
    r"\{\{|\{%|\{#|-+8<-+|\$\{|\{(?:ref|doc|any|numref|eq|pep|rfc|cite|download)\}"
    r"|^@import|^import .* from |Unresolved directive",
    re.MULTILINE,
)


def renderer(formulas: bool) -> MarkdownIt:
    """Return the parser of both sides; without *formulas* a dollar is a dollar."""
    parser = MarkdownIt("gfm-like", {"html": True, "linkify": False})
    for plugin in (deflist_plugin, footnote_plugin, front_matter_plugin):
        parser.use(plugin)
    if not formulas:
        return parser
    return parser.use(
        dollarmath_plugin,
        double_inline=True,
        allow_digits=False,
        renderer=lambda text, _: f"<tt class=formula>{escape(text)}</tt>",
    )


PARSERS = {formulas: renderer(formulas) for formulas in (False, True)}

# ---- Elements of HTML

QUOTES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑–—−", "-"),
        **dict.fromkeys("\u200b\u200c\u2060\ufeff\u00ad", None),
        "…": "...",
        "\u00a0": " ",
    }
)
DASHES = re.compile(r"-{2,}")  # which generators make one dash of
DOLLAR = re.compile(r" ?\$ ?")
SHORTCODE = re.compile(r"(?<!\w):[a-z][a-z0-9_+-]*:(?!\w)")
NUMBER = re.compile(r"^(?:\d+\.)+ ?(?=\D)")  # of a heading, which some themes add
HASHED = re.compile(r"[.-][0-9A-Za-z_-]{8,}(?=\.\w+\Z)|-[0-9a-f]{20,}(?=\.\w+\Z)")
LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight(?:-source)?|brush:)[-\s]*([\w+#.-]+)")
SAME_LANGUAGES = (
    "bash sh shell console zsh shell-session shellsession",
    "python py python3 ipython3 ipython",
    "javascript js",
    "typescript ts",
    "yaml yml",
    "ruby rb",
    "markdown md",
    "rust rs",
    "go golang",
    "cpp c++",
    "dockerfile docker",
    "pycon pycon3",
)
SAME_LANGUAGE = {name: names.split()[0] for names in SAME_LANGUAGES for name in names.split()[1:]}
SAME_LANGUAGE |= dict.fromkeys("text plain plaintext txt none default notranslate".split(), "")
BREAKS = frozenset("br p li div td th tr h1 h2 h3 h4 h5 h6 pre ul ol dd dt blockquote".split())


TITLE_TAGS = frozenset("div p h3 h4 h5 h6".split())
ALERT_MARKER = re.compile(r"\s*\[!([A-Za-z]+)\][+-]?[ \t]*(.*)\n?")
# The name of a file, or of a tab, before code in an entry.
LABEL = "./*[position() > 1][self::p][following-sibling::*[1][self::pre]]"
JUNK = (
    "//script | //style | //comment()"
    " | //sup[@class='footnote-ref'] | //*[@class='footnote-backref']"
)


class Elements(NamedTuple):
    """The elements of a page, and how many of each kind may be anything."""

    count: Counter[tuple[str, Any]]
    free: Counter[str]


def words(text: str) -> str:
    """Return a *text* with quotes, dashes and white space made alike."""
    text = DOLLAR.sub("$", DASHES.sub("-", text.translate(QUOTES)))
    return " ".join(SHORTCODE.sub("", text).split())


def text_of(element: HtmlElement, *without: str) -> str:
    """Return the words of an *element*, less those of tags in *without*."""

    def walk(node: HtmlElement) -> Iterator[str]:
        if node.tag in without or not isinstance(node.tag, str):
            return
        yield " " if node.tag in BREAKS else ""
        yield node.text or ""
        for child in node:
            yield from walk(child)
            yield child.tail or ""
        yield " " if node.tag in BREAKS else ""

    parts = [element.text or ""]
    for child in element:
        parts += [*walk(child), child.tail or ""]
    return words("".join(parts))


def language_of(block: HtmlElement) -> str:
    """Return the language that a code *block* names, by one name for each."""
    for element in (*block.iter("code"), block):
        if match := LANGUAGE.search(element.get("class") or ""):
            name = re.split(r"[,{:]", match[1].lower())[0]
            return SAME_LANGUAGE.get(name, name)
    return ""


CANONICAL = re.compile(
    r"""<link\b[^>]*\brel=["']?canonical\b[^>]*\bhref=["']?([^"'\s>]+)""", re.IGNORECASE
)


class Links(NamedTuple):
    """The targets of a site's links: the *addresses* of its sources, of a page at *url*.

    *prefix* is the path of the site on its own host, which links from the root have; *host* is the
    name of that host.
    """

    base: str
    host: str
    prefix: str
    addresses: dict[str, str]
    source: str
    url: str

    def target(self, address: str) -> str:
        """Return what an *address* leads to, one for all ways to write it."""
        address = address.strip()
        path, hash_mark, fragment = address.partition("#")
        if path and "://" not in path and not path.startswith("mailto:"):
            own = path.removeprefix("@/").lstrip("/")
            near = urljoin(f"http:///{self.source}", path).removeprefix("http:///")
            for name in (near, own, f"{self.source.partition('/')[0]}/{own}"):
                for ending in ("", ".md", ".mdx"):
                    if name + ending in self.addresses:
                        address = self.base + self.addresses[name + ending] + hash_mark + fragment
        parts = urlsplit(urljoin(self.url, address))
        path = re.sub(r"(?:index)?(?:\.html?|\.mdx?)?\Z", "", unquote(parts.path)).rstrip("/")
        host = urlsplit(self.base).netloc if parts.netloc == self.host else parts.netloc
        path = path.removeprefix(self.prefix) if self.base.endswith(f"{host}/") else path
        return f"{host.removeprefix('www.')}{path}?{parts.query}#{unquote(parts.fragment)}"


def own_host(pages: list[dict[str, str]]) -> str:
    """Return the host that most pages of a site name as their own, "" if none does."""
    addresses = [link[1] for page in pages if (link := CANONICAL.search(page["html"]))]
    hosts = Counter(urlsplit(address).netloc for address in addresses)
    return hosts.most_common(1)[0][0] if hosts else ""


def elements(html: str, links: Links, gold: Elements | None = None) -> Elements:
    """Return the elements of *html*; of an extractor those too that are sought for the *gold*."""
    counted = Elements(Counter(), Counter())
    if not html.strip():
        return counted
    try:
        root = lxml.html.fragment_fromstring(html, create_parent="div")
    except (etree.ParserError, ValueError):
        return counted
    for junk in root.xpath(JUNK):
        junk.drop_tree()
    repeat_spanning(root)
    for film in [each for each in root.iter("a") if is_film(each)]:
        film.drop_tree()
    for quote in root.iter("blockquote"):
        frame_alert(quote)
    for aside in reversed(list(root.iter("aside"))):
        drop_title_of_theme(aside)
    notes = "ancestor-or-self::*[contains(@class, 'footnote')]"
    for element in list(root.iter("li")):
        if element.xpath(notes):
            counted.count["footnote", text_of(element)] += 1
            element.drop_tree()
    for element in root.iter():
        if isinstance(element.tag, str):
            for kind, value in values(element, links):
                counted.count[kind, value] += 1
    if gold:
        for sought in [each for each in counted.count if each[0] in SOUGHT]:
            del counted.count[sought]
        counted.count.update(found(root, gold))
    return counted


def is_film(element: HtmlElement) -> bool:
    """Tell whether a link stands for what a page embeds, of which a source says no words."""
    host = urlsplit(element.get("href") or "").netloc
    return bool(host) and (element.text or "").strip() == host


def frame_alert(quote: HtmlElement) -> None:
    """Make a *quote* that is an alert (``> [!NOTE]``) a box, with its title as first element."""
    first = next(iter(quote), None)
    if first is not None and first.tag == "p" and (marker := ALERT_MARKER.match(first.text or "")):
        quote.tag = "aside"
        quote.set("class", marker[1].lower())
        first.text = (first.text or "")[marker.end() :]
        if not text_of(first) and not len(first):
            first.drop_tree()
        if marker[2]:
            title = lxml.html.Element("div")
            title.text = marker[2]
            quote.insert(0, title)


def drop_title_of_theme(aside: HtmlElement) -> None:
    """Drop the title of a box that only says its kind, which the theme wrote (*Note*)."""
    first = next(iter(aside), None)
    if first is not None and len(aside) > 1 and first.tag in TITLE_TAGS:
        title = text_of(first).rstrip(":").lower()
        if " " not in title or title.replace(" ", "") in GROUP:
            first.drop_tree()


def blocks(element: HtmlElement) -> list[str]:
    """Return the texts of the blocks in an *element*, without formulas (of many notations)."""
    own = words(element.text or "")
    return [text for text in (own, *[text_of(child, "tt") for child in element]) if text]


def admonition(element: HtmlElement, links: Links) -> tuple[str, str, str] | None:
    """Return the group, the first block (its title, if it has one) and the rest of a box."""
    first, *rest = blocks(element) or [""]
    names = (element.get("class") or "").split()
    group = next((GROUP[name] for name in names if name in GROUP), "note")
    return (group, first, " ".join(rest)) if first else None


def details(element: HtmlElement, links: Links) -> tuple[str, str] | None:
    """Return the title and the text of a folded section."""
    title = next(iter(element.iter("summary")), None)
    if title is None:
        return None
    inside = [words(element.text or ""), words(title.tail or "")]
    inside += [text_of(child, "tt") for child in element if child is not title]
    return text_of(title), " ".join(filter(None, inside))


def first_text(element: HtmlElement | None) -> str:
    """Return the text of the first block that has no blocks in an *element*."""
    while element is not None and len(element) and not words(element.text or ""):
        if element[0].tag not in (*BREAKS, "dl", "div", "section", "table", "tbody", "details"):
            break
        element = element[0]
    return "" if element is None else text_of(element)


def tab(element: HtmlElement, links: Links) -> tuple[str, str] | None:
    """Return the label of a panel and the text of its first block."""
    children = list(element)
    label = element.get("label") or element.get("value") or ""
    if element.tag == "section" and children:
        label = text_of(children.pop(0))
    text = first_text(children[0]) if children else ""
    return (words(label), text) if label and text else None


CITED = re.compile(r"\[([^\]]+)\]\s*(.+)")


def object_of(text: str) -> str:
    """Return a signature without its keyword, its module and white space."""
    name, parenthesis, arguments = re.sub(r"\s*->.*|[@`]|[\[\]\\]", "", text).partition("(")
    name = re.split(r"[\s.]", name.strip())[-1]
    arguments = re.sub(r"\s|,(?=\s*\))", "", arguments.rpartition(")")[0])
    return name + parenthesis + arguments if arguments else name


def signature(element: HtmlElement, links: Links) -> str:
    return object_of(words(element.text_content()))


def citation(element: HtmlElement, links: Links) -> tuple[str, str]:
    return words(element.get("title") or ""), text_of(element)


def found(root: HtmlElement, gold: Elements) -> Counter[tuple[str, Any]]:
    """Return the panels, signatures and citations of a *gold* that an extractor has, too.

    A label stands alone right before its panel; a signature is a heading, a term or code, or one
    line of it; a citation begins with its label, or follows it.
    """
    told: Counter[tuple[str, Any]] = Counter()
    for element in root.iter("p", "li", "dt", "h1", "h2", "h3", "h4", "h5", "h6"):
        text = text_of(element)
        label, after = text.rstrip(":").strip("[]"), first_text(element.getnext())
        told.update([("tab", (label, after)), ("citation", (label, after))])
        if cited := CITED.match(text):
            told["citation", cited.groups()] += 1
    for element in root.iter("code", "dt", "h1", "h2", "h3", "h4", "h5", "h6"):
        for line in element.text_content().split("\n"):
            told["signature", object_of(words(line))] += 1
    return told & gold.count


def outside(element: HtmlElement, *tags: str) -> bool:
    return next(element.iterancestors(*tags), None) is None


def values(element: HtmlElement, links: Links) -> Iterator[tuple[str, Any]]:
    """Yield the kind and the value of each element that this one is."""
    tag = element.tag
    if re.fullmatch("h[1-6]", tag):
        yield "heading", (int(tag[1]), NUMBER.sub("", text_of(element)))
    elif tag == "pre":
        lines = "".join(element.itertext()).strip().replace("\t", "    ").split("\n")
        code = "\n".join(line.rstrip() for line in lines)
        yield "code", code
        if language := language_of(element):
            yield "language", (language, code)
    elif tag == "img":
        name = unquote(urlsplit(element.get("src") or "").path).rpartition("/")[2]
        yield "image", (words(element.get("alt") or ""), HASHED.sub("", name))
    elif reader := READERS.get(tag):
        kind, read = reader
        value = read(element, links) if outside(element, "pre") else None
        if value is not None and value != "":
            yield kind, value


def paragraph(element: HtmlElement, links: Links) -> str:
    return text_of(element) if outside(element, "li", "td", "th", "blockquote", "dd") else ""


def item(element: HtmlElement, links: Links) -> tuple[int, bool, str] | None:
    if not outside(element, "td", "th"):  # no list in Markdown
        return None
    lists = list(element.iterancestors("ul", "ol"))
    if labels := element.xpath(LABEL):
        places = [element.index(label) for label in labels]
        element = deepcopy(element)
        for place in reversed(places):
            element[place].drop_tree()
    own = text_of(element, "ul", "ol", "pre", "table", "blockquote", "section", "tabitem")
    return len(lists), bool(lists) and lists[0].tag == "ol", own


def cell(element: HtmlElement, links: Links) -> tuple[int, int, str] | None:
    row = element.getparent()
    table = next(element.iterancestors("table"), None)
    if row is None or row.tag != "tr" or table is None:
        return None
    rows = [each for each in table.iter("tr") if next(each.iterancestors("table")) is table]
    column = sum(1 for _ in element.itersiblings("td", "th", preceding=True))
    return rows.index(row), column, text_of(element)


def repeat_spanning(root: HtmlElement) -> None:
    """Repeat each cell that spans rows or columns, as tables in Markdown do."""
    for cell in root.xpath("//td[@colspan or @rowspan] | //th[@colspan or @rowspan]"):
        spans = [cell.attrib.pop(name, "1") for name in ("colspan", "rowspan")]
        columns, rows = (int(span) if span.isdigit() else 1 for span in spans)
        column = sum(1 for _ in cell.itersiblings("td", "th", preceding=True))
        row = cell.getparent()
        for _ in range(columns - 1):
            cell.addnext(deepcopy(cell))
        for below in list(row.itersiblings("tr"))[: rows - 1]:
            for _ in range(columns):
                below.insert(column, deepcopy(cell))


def link(element: HtmlElement, links: Links) -> tuple[str, str] | None:
    address, text = element.get("href"), text_of(element)
    return (text, links.target(address)) if address and text else None


def inline(element: HtmlElement, links: Links) -> str:
    return text_of(element) if outside(element, "h1", "h2", "h3", "h4", "h5", "h6", "th") else ""


def quote(element: HtmlElement, links: Links) -> str:
    return text_of(element) if outside(element, "blockquote") else ""


def formula(element: HtmlElement, links: Links) -> str:
    if element.get("class") != "formula":
        return ""
    return TWICE_ESCAPED.sub("", "".join(element.text_content().split()))


TWICE_ESCAPED = re.compile(r"\\(?=\\[{}!])")  # for a generator that reads `\\{` as `\{`
READERS: dict[str, tuple[str, Callable[[HtmlElement, Links], Any]]] = {
    "p": ("paragraph", paragraph),
    "li": ("item", item),
    "td": ("cell", cell),
    "th": ("cell", cell),
    "a": ("link", link),
    "code": ("inline-code", inline),
    "kbd": ("inline-code", inline),
    "em": ("emphasis", inline),
    "i": ("emphasis", inline),
    "strong": ("strong", inline),
    "b": ("strong", inline),
    "blockquote": ("quote", quote),
    "dt": ("definition", inline),
    "dd": ("definition", inline),
    "tt": ("formula", formula),
    "aside": ("admonition", admonition),
    "details": ("details", details),
    "section": ("tab", tab),
    "tabitem": ("tab", tab),
    "samp": ("signature", signature),
    "cite": ("citation", citation),
}


# Starlight shows tabs as two spaces, and the comment with the name of a file above the code.
FILE_NAME = re.compile(
    r"^( *```.*\n(?: *---\n)?) *(?://|#|<!--|/\*) *[\w./\[\]-]+\.\w+ *(?:-->|\*/)?\n+", re.MULTILINE
)
COMPUTED = re.compile(r"\{code-cell\}|^```+ *\{(?:python|r|julia|bash)\}", re.MULTILINE)
TABLES = re.compile(r"\{(?:list|csv)-table\}")  # not read
UNRESOLVED = "Unresolved directive"  # Asciidoctor's, for a source that this one includes
# Another source is a part of this one, or a component or directive writes something.
PARTIAL = re.compile(
    r"^import .*\.mdx?['\"]|^ *<(?!Tabs\b|TabItem\b)[A-Z]\w*"
    r"|\{(?:(?:literal)?include|auto\w+|program-output|command-output|jsonschema|conftabs)\}"
    r"|\{%-? *(?:include|for)\b|^\.\. (?:auto\w+|program-output|include|click|jsonschema)::",
    re.MULTILINE,
)
# mdBook shows of Rust's examples only the lines without such a mark.
RUST = re.compile(r"^ *```(?:rust|rs)\b.*?^ *```$", re.DOTALL | re.MULTILINE)
HIDDEN_LINE = re.compile(r"^ *#(?: .*)?\n", re.MULTILINE)


def gold_elements(
    page: dict[str, str], links: Links, parser: MarkdownIt, site: dict[str, Any]
) -> Elements:
    """Return the elements of a page's source, and its title's heading where the page has it."""
    if page["source"].endswith(".rst"):
        return elements(signatures(page["markdown"]), links)
    if page["source"].endswith(".adoc"):
        counted = without_computed(elements(page["markdown"], links))
        counted.free["paragraph"] = page["markdown"].count("<div>")  # "Table 1." and a title
        if UNRESOLVED in page["markdown"]:
            counted.free.update(dict.fromkeys(KINDS, MANY))
        return counted
    source = FRONT_MATTER.sub("", page["markdown"])
    if site["generator"] == "mdBook":
        source = RUST.sub(lambda code: HIDDEN_LINE.sub("", code[0]), source)
    names = 0
    if site["generator"].startswith("Starlight"):
        source, names = FILE_NAME.subn(r"\1", source.replace("\t", "  "))
    markdown, frames, unknown = plain(source)
    counted = elements(parser.render(markdown), links)
    counted.free.update(dict.fromkeys(["paragraph", "heading", "quote"], frames))
    counted.free["paragraph"] += names
    counted.free["admonition"] = unknown
    counted.free["formula"] = source.count("<math")  # an author's MathML is no LaTeX to compare
    without_computed(counted)
    if COMPUTED.search(source):  # what the code prints and draws is in the page alone
        kinds = ("code", "cell", "image", "paragraph", "formula")
        counted.free.update(dict.fromkeys(kinds, MANY))
    if TABLES.search(source):
        counted.free["cell"] = MANY
    if PARTIAL.search(source):
        counted.free.update(dict.fromkeys(KINDS, MANY))
    title = words(fields(page["markdown"]).get("title", ""))
    if title and not any(kind == "heading" and value[0] == 1 for kind, value in counted.count):
        for heading in re.finditer(r"<h([123])\b.*?</h\1>", page["html"], re.DOTALL):
            if title in text_of(lxml.html.fromstring(heading[0])):
                counted.count["heading", (int(heading[1]), title)] += 1
                break
    return counted


def without_computed(counted: Elements) -> Elements:
    """Make what a source includes or computes elements that may be anything."""
    for kind, value in list(counted.count):
        if INCLUDED.search(str(value)):
            counted.free[kind] += counted.count.pop((kind, value))
    return counted


# ---- Extractors


def ours(name: str, pages: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return our Markdown and HTML of the pages of a site that was learned from all of them."""
    read = [Page.from_html(page["html"], page["url"]) for page in pages]
    model = SiteLearner(f"{name}.example").fit(read)
    items = [model.extract(page).to_dict() for page in read]
    return {
        system: [item[f"content_{form}"] for item in items]
        for system, form in zip(OURS, ("markdown", "html"), strict=True)
    }


def content_element(page: dict[str, str], site: dict[str, Any]) -> str:
    """Return the HTML of the theme's own content element, without permalinks."""
    utf_8 = lxml.html.HTMLParser(encoding="utf-8")
    root = lxml.html.fromstring(page["html"].encode(), parser=utf_8)
    elements = root.cssselect(site["content"])
    for element in elements[:1]:
        for permalink in element.cssselect(site["permalinks"]) if site["permalinks"] else ():
            if len(permalink.text_content().strip()) > 1:  # the whole heading is one
                permalink.drop_tag()
            else:
                permalink.drop_tree()
    return lxml.html.tostring(elements[0], encoding="unicode") if elements else ""


def installed(site: dict[str, Any]) -> dict[str, Reader]:
    """Return the other extractors in Python that are installed."""
    readers: dict[str, Reader] = {}
    with suppress(ImportError):
        import trafilatura

        readers["trafilatura"] = lambda page: (
            trafilatura.extract(
                page["html"],
                url=page["url"],
                output_format="markdown",
                include_formatting=True,
                include_links=True,
                include_tables=True,
                include_images=True,
            )
            or ""
        )
    with suppress(ImportError):
        from html_to_markdown import convert

        def to_markdown(html: str) -> str:
            return convert(html).content or "" if html else ""

        readers["ceiling"] = lambda page: to_markdown(content_element(page, site))
        readers["html-to-markdown"] = lambda page: to_markdown(page["html"])
        from markdownify import markdownify
        from readability import Document

        def readable(page: dict[str, str]) -> str:
            return str(Document(page["html"]).summary(html_partial=True))

        readers["readability + markdownify"] = lambda page: markdownify(
            readable(page), heading_style="ATX"
        )
        readers["readability + html-to-markdown"] = lambda page: to_markdown(readable(page))
    return readers


def answer_of(name: str, reader: Reader, page: dict[str, str]) -> str:
    """Return what a *reader* says of a page."""
    try:
        return reader(page)
    except Exception as error:  # noqa: BLE001 - theirs; said, and a miss
        print(f"{name}: {page['url']}: {error!r}", file=sys.stderr)
        return ""


def peers(
    site: dict[str, Any], pages: list[dict[str, str]], cache: Path, node: Path | None
) -> dict[str, list[str]]:
    """Return what the others say of a site's pages, from *cache* where they said it before."""
    cache.mkdir(exist_ok=True)
    stored = cache / f"{site['name']}.json"
    texts = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    for name, reader in installed(site).items():
        if name not in texts:
            texts[name] = [answer_of(name, reader, page) for page in pages]
    if node and "defuddle" not in texts:
        answer = cache / f"{site['name']}.node.json"
        subprocess.run(
            ["node", "-e", NODE, str(answer.resolve())],
            input=json.dumps(pages).encode(),
            env={**os.environ, "NODE_PATH": str(node.resolve())},
            cwd=node.resolve().parent,
            check=True,
            timeout=900,
        )
        texts |= json.loads(answer.read_text("utf-8"))
        answer.unlink()
    stored.write_text(json.dumps(texts, ensure_ascii=False), "utf-8")
    return dict(texts)


# ---- Comparison


class Tally(NamedTuple):
    """Of a kind on a site: how many elements agree, were told, and are in the source."""

    right: int = 0
    told: int = 0
    gold: int = 0

    def f1(self) -> float:
        return 2 * self.right / max(1, self.told + self.gold)


class Difference(NamedTuple):
    """A page's elements of a kind that only the source has, and that only the extractor has."""

    url: str
    missing: list[Any]
    extra: list[Any]


def compare(gold: Elements, said: Elements, kind: str) -> tuple[Tally, Difference]:
    """Return how the elements of a *kind* agree on one page."""
    wanted, told = (
        Counter({value: n for (each, value), n in side.count.items() if each == kind})
        for side in (gold, said)
    )
    missing, extra = wanted - told, told - wanted
    free = min(gold.free[kind], extra.total())
    tally = Tally((wanted & told).total(), told.total() - free, wanted.total())
    return tally, Difference("", list(missing), list(extra) if extra.total() > free else [])


def judge(
    site: dict[str, Any], record: dict[str, Any], texts: dict[str, list[str]]
) -> dict[tuple[str, str], tuple[Tally, list[Difference]]]:
    """Return the tally and the differences of each system and kind."""
    sums: dict[tuple[str, str], Tally] = defaultdict(Tally)
    differences: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    parser = PARSERS[site.get("formulas", False)]
    host = own_host(record["pages"])
    for number, page in enumerate(record["pages"]):
        links = Links(
            base=record["base"],
            host=host,
            prefix=site.get("prefix", ""),
            addresses=record["addresses"],
            source=page["source"],
            url=page["url"],
        )
        rendered = links._replace(source="", addresses={})
        gold = gold_elements(page, links, parser, site)
        for system, said in texts.items():
            html = said[number]
            if not system.endswith("HTML"):
                html = parser.render(re.sub(r"\\\\\((.+?)\\\\\)", r"$\1$", html))
            counted = elements(html, rendered, gold)
            for kind in SOUGHT if page["source"].endswith(".rst") else KINDS:
                tally, difference = compare(gold, counted, kind)
                sums[system, kind] = Tally(
                    *(a + b for a, b in zip(sums[system, kind], tally, strict=True))
                )
                if difference.missing or difference.extra:
                    differences[system, kind].append(difference._replace(url=page["url"]))
    return {
        (system, kind): (sums[system, kind], differences[system, kind])
        for system in texts
        for kind in KINDS
    }


Results = dict[str, dict[tuple[str, str], tuple[Tally, list[Difference]]]]


def print_table(title: str, results: Results, measure: Callable[[Tally], float]) -> None:
    """Print the kinds by the systems that answered everywhere: means of sites with the kind."""
    answered = [{system for system, _ in result} for result in results.values()]
    systems = sorted(set.intersection(*answered) if answered else (), key=order)
    print(f"\n{title}\n\n| kind | sites | elements | {' | '.join(systems)} |")
    print("|---|---|---|" + "---|" * len(systems))
    for kind in KINDS:
        counted = [
            result for result in results.values() if result["ours", kind][0].gold >= LEAST_ELEMENTS
        ]
        if counted:
            means = [
                sum(measure(result[system, kind][0]) for result in counted) / len(counted)
                for system in systems
            ]
            best = max(
                mean for mean, system in zip(means, systems, strict=True) if system != "ceiling"
            )
            shown = [f"**{mean:.3f}**" if mean == best else f"{mean:.3f}" for mean in means]
            total = sum(result["ours", kind][0].gold for result in counted)
            print(f"| {kind} | {len(counted)} | {total} | {' | '.join(shown)} |")


def order(system: str) -> tuple[int, str]:
    """Return where a system stands in a table."""
    return (0 if system in OURS else 2 if system == "ceiling" else 1), system


def print_sites(results: Results, system: str) -> None:
    """Print the F1 of each kind on each site."""
    print(f"\nF1 of each site: {system}\n\n| site | half | {' | '.join(KINDS)} |")
    print("|---|---|" + "---|" * len(KINDS))
    for name, result in results.items():
        tallies = [result[system, kind][0] for kind in KINDS]
        shown = [f"{t.f1():.3f}" if t.gold >= LEAST_ELEMENTS else "" for t in tallies]
        print(f"| {name} | {half(name)} | {' | '.join(shown)} |")


def print_examples(results: Results, most: int = 10) -> None:
    """Print our worst kinds of single sites, each with two differences."""
    worst = sorted(
        (tally.f1(), -tally.gold, name, kind)
        for name, result in results.items()
        for (system, kind), (tally, _) in result.items()
        if system == "ours" and tally.gold >= LEAST_ELEMENTS
    )[:most]
    for f1, _, name, kind in worst:
        tally, differences = results[name]["ours", kind]
        print(f"\n{name}, {kind}: F1 {f1:.3f} ({tally.right} of {tally.gold}, {tally.told} told)")
        for difference in (differences[0], differences[len(differences) // 2]):
            print(f"  {difference.url}")
            print(f"    only in the source: {str(difference.missing[:2])[:400]}")
            print(f"    only in ours:       {str(difference.extra[:2])[:400]}")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="SITES", help="pages beside their sources")
    parser.add_argument("--unpack", type=Path, metavar="REPOSITORIES", help="fill SITES first")
    parser.add_argument("--only", nargs="*", help="these systems: ours, ceiling, trafilatura, ...")
    parser.add_argument("--site", nargs="*", help="these sites")
    parser.add_argument("--examples", action="store_true", help="show where ours is worst")
    parser.add_argument("--node", type=Path, metavar="FOLDER", help="node_modules with the others")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = [site for site in sites() if not options.site or site["name"] in options.site]
    results: Results = {}
    started = time.perf_counter()
    for number, site in enumerate(chosen, 1):
        if options.unpack:
            unpack(site, options.unpack, options.folder)
        record = json.loads((options.folder / f"{site['name']}.json").read_text("utf-8"))
        record["base"] = f"https://{site['name']}.example/"
        for page in record["pages"]:
            page["url"] = record["base"] + page["address"]
        texts = ours(site["name"], record["pages"])
        if options.only != ["ours"]:
            texts |= peers(site, record["pages"], options.folder / "peers", options.node)
        if options.only:
            texts = {s: said for s, said in texts.items() if s in OURS or s in options.only}
        results[site["name"]] = judge(site, record, texts)
        seconds = time.perf_counter() - started
        print(f"{number}/{len(chosen)} {site['name']} {seconds:.0f} s", file=sys.stderr)
    for name in ("choosing", "judging"):
        part = {site: result for site, result in results.items() if half(site) == name}
        print_table(f"F1, {len(part)} sites for {name}", part, Tally.f1)
    print_table(f"F1, all {len(results)} sites", results, Tally.f1)
    print_table("Precision, all", results, lambda t: t.right / max(1, t.told))
    print_table("Recall, all", results, lambda t: t.right / max(1, t.gold))
    for system in ("ours", "ceiling"):
        if all((system, "heading") in result for result in results.values()):
            print_sites(results, system)
    if options.examples:
        print_examples(results)


if __name__ == "__main__":
    main()
