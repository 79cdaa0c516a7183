# cython: language_level=3, wraparound=False
# distutils: language = c++
"""Collects the elements with hints of a page, such as titles, meta elements, dates and authors."""

cimport cython
from libc.string cimport strcmp, strstr
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport XML_ELEMENT_NODE, XML_TEXT_NODE, xmlAttr, xmlNode

from contentspider.page.tree._elements cimport attribute_of

import re

from lxml.etree import tostring

etree.import_lxml__etree()


# A page with more marked dates or authors is a list.
cdef int MAX_MARKS = 200, MAX_AUTHORS = 20  # `HintElements.above` has room for MAX_MARKS
# An author's name is shorter, but an element that is marked as an author may contain the whole page.
cdef Py_ssize_t MAX_MARK_CHARS = 1_000
# RDFa properties that mark an own text of the page. Without a vocabulary, "text" and "description"
# can be properties of any object.
cdef frozenset STATED = frozenset(
    "articleBody schema:articleBody content:encoded schema:text recipeIngredient"
    " schema:recipeIngredient recipeInstructions schema:recipeInstructions".split()
)
# The vocabulary that may precede a property of RDFa.
cdef object SCHEMA = re.compile(r"(?:schema:|https?://(?:www\.)?schema\.org/)", re.IGNORECASE)
# Ids and classes of readers' comments, and of boxes with links to other pages.
cdef object OTHERS = re.compile(
    r"(?:^|[\s_-])(?:comments?|commentlist|replies|respond|related|recommended|recommendations"
    r"|suggested|suggestions|tweets?|twitter-tweet|toots?|read-?more"
    r"|more-(?:stories|articles|posts|news)|sidebar|most-read|trending)(?:$|[\s_-])",
    re.IGNORECASE,
)
# Classes of the element around the date of a page's last change.
cdef object CHANGED = re.compile(r"last[_-]?(?:updated?|modified)", re.IGNORECASE)
# A card is a small box with the headline and the date of another page: it has few elements. The
# whole card may be a link, which then has more text than a date and "Published on".
cdef int MAX_CARD_ELEMENTS = 60
cdef Py_ssize_t MAX_DATE_LINK_CHARS = 18
# Classes of the microformat hAtom, which Blogger uses.
cdef object HATOM = re.compile(r"(?:^|\s)(?:published|updated)(?:$|\s)")
# Classes of an author in hAtom and h-entry.
cdef object CARD = re.compile(r"(?:^|\s)(?:p-author|author\s(?:.*\s)?vcard|vcard\s(?:.*\s)?author)(?:$|\s)")
# Types of feeds.
cdef object FEED = re.compile(r"\s*application/(?:rss\+xml|atom\+xml|feed\+json)\b", re.IGNORECASE)
# The name in an author's card.
cdef str NAME = (
    ".//*[@itemprop='name' or @property='name' or @property='schema:name'"
    " or @property='http://schema.org/name' or @property='https://schema.org/name'"
    " or contains(concat(' ', @class, ' '), ' p-name ')"
    " or contains(concat(' ', @class, ' '), ' fn ')]"
)
# Limits for stated texts. Each ingredient of a recipe is one element; its markup is longer than its
# text.
cdef int MAX_STATED = 200
cdef Py_ssize_t MAX_STATED_CHARS = 500_000


@cython.final
cdef class HintElements:
    """The elements with hints, in document order.

    *found* has a tuple for each element: its kind, its attributes, its text, and the number of
    elements before it. The kinds and their attributes and texts are:

    - ``title``, ``meta`` (name, content), ``link`` to the canonical address (``rel``, ``href``),
      ``feed`` for a link to a feed (``type``, ``href``) and ``script`` with JSON-LD (``type``,
      source);
    - ``headline`` for each ``h1``;
    - ``date`` for ``time`` and elements marked as dates (``itemprop`` and classes, date), without
      those of comments, of other pages' cards and of quoted posts;
    - ``author`` (``itemprop``, name);
    - ``stated`` for own texts marked by RDFa (``property``, markup).
    """

    def __cinit__(self, etree._Element root not None):
        self.root = root
        self.found = []
        self.place = -1

    cdef int see(self, xmlNode* node) except -1:
        """Add an element if it has a hint. The walk calls this in document order."""
        cdef const char* name = <const char*>node.name
        cdef xmlAttr* attribute
        self.place += 1
        if node.ns is not NULL and node.ns.href is not NULL:
            return 0
        if name[0] == c"m" and strcmp(name, "meta") == 0:
            content = attribute_of(node, "content")
            about = (
                attribute_of(node, "name")
                or attribute_of(node, "property")
                or attribute_of(node, "itemprop")
            )
            if content and about:
                self.found.append(("meta", about, content, self.place))
        elif name[0] == c"l" and strcmp(name, "link") == 0:
            about = attribute_of(node, "rel")
            if "canonical" in about.lower():
                self.found.append(("link", about, attribute_of(node, "href"), self.place))
            elif "alternate" in about.lower():
                about = attribute_of(node, "type")
                if FEED.match(about):
                    self.found.append(("feed", about, attribute_of(node, "href"), self.place))
            elif attribute_of(node, "itemprop") == "image":
                self.found.append(("meta", "image", attribute_of(node, "href"), self.place))
        elif name[0] == c"s" and strcmp(name, "script") == 0:
            about = attribute_of(node, "type")
            if "ld+json" in about.lower():
                self.found.append(("script", about, etree.textOf(node) or "", self.place))
        elif name[0] == c"t" and strcmp(name, "title") == 0:
            self.found.append(("title", "", etree.textOf(node) or "", self.place))
        elif name[0] == c"h" and name[1] == c"1" and name[2] == 0:
            if self.headline is NULL:
                self.headline = node
                self.drop_cards()
            self.found.append(("headline", "", "", self.place))
        elif name[0] == c"a" and strcmp(name, "abbr") == 0:
            if HATOM.search(attribute_of(node, "class")):
                self.add_date(node)
        elif self.marks < MAX_MARKS:
            attribute = node.properties
            while attribute is not NULL:
                if is_mark(attribute):
                    if attribute.name[0] == c"p":
                        self.add_stated(node)
                    if add_author(self.root, node, self.place, self.found, self.authors):
                        self.authors += 1
                    else:
                        self.add_date(node)
                    break
                attribute = attribute.next
        return 0

    cdef int add_date(self, xmlNode* node) except -1:
        """Add an element that marks a date, unless the date is another page's."""
        if self.marks >= MAX_MARKS or is_of_others(node, self.headline):
            return 0
        if add_date(node, self.place, self.found):
            if self.headline is NULL:
                self.above[self.marks] = node
                self.above_at[self.marks] = len(self.found) - 1
                self.above_count = self.marks + 1
            self.marks += 1
        return 0

    cdef int drop_cards(self) except -1:
        """Remove the dates above the headline that stand in cards of other pages."""
        cdef int number
        for number in range(self.above_count - 1, -1, -1):
            if is_in_card(self.above[number], self.headline):
                del self.found[self.above_at[number]]
        return 0

    cdef int add_stated(self, xmlNode* node) except -1:
        """Add an own text marked by RDFa, unless it is inside the previous one."""
        cdef xmlNode* above = node
        while above is not NULL and above != self.last_stated:
            above = above.parent
        if self.stated >= MAX_STATED or above is not NULL:
            return 0
        for name in attribute_of(node, "property").split():
            if name in STATED:
                element = etree.elementFactory(self.root._doc, node)
                markup = tostring(element, encoding="unicode", method="html", with_tail=False)
                self.found.append(("stated", name, markup[:MAX_STATED_CHARS], self.place))
                self.stated += 1
                self.last_stated = node
                break
        return 0

    cdef int see_below(self, xmlNode* top) except -1:
        """Add the elements with hints below *top*."""
        cdef xmlNode* node = top.children
        if node is NULL:
            return 0
        while True:
            if node.type == XML_ELEMENT_NODE:
                self.see(node)
                if node.children is not NULL:
                    node = node.children
                    continue
            while node.next is NULL:
                node = node.parent
                if node == top:
                    return 0
            node = node.next


cdef bint is_mark(xmlAttr* attribute) noexcept:
    """Tell whether an attribute may mark a date, an author or an own text of the page."""
    cdef const char* name = <const char*>attribute.name
    cdef const char* value
    if name[0] == c"d":
        return strcmp(name, "datetime") == 0
    # Names are compared before values, because loading values from memory is most of the cost.
    if not (
        name[0] == c"i" and strcmp(name, "itemprop") == 0
        or name[0] == c"r" and strcmp(name, "rel") == 0
        or name[0] == c"p" and strcmp(name, "property") == 0
        or name[0] == c"c" and strcmp(name, "class") == 0
    ):
        return False
    if attribute.children is NULL or attribute.children.content is NULL:
        return False
    value = <const char*>attribute.children.content
    if name[0] == c"c":
        return strstr(value, "p-author") is not NULL or strstr(value, "vcard") is not NULL
    if name[0] == c"i":
        return strstr(value, "uthor") is not NULL or strstr(value, "ate") is not NULL
    if name[0] == c"p":
        return (
            strstr(value, "articleBody") is not NULL
            or strstr(value, "content:encoded") is not NULL
            or strstr(value, "schema:text") is not NULL
            or strstr(value, "recipeIn") is not NULL
            or strstr(value, "uthor") is not NULL
            or strstr(value, "date") is not NULL
        )
    return strstr(value, "author") is not NULL


cdef bint is_of_others(xmlNode* node, xmlNode* headline) except -1:
    """Tell whether an element is in a comment or in a box about other pages. An element around the
    *headline* is neither.
    """
    cdef xmlNode* above = node
    cdef int articles = 0
    while above is not NULL and above.type == XML_ELEMENT_NODE:
        if strcmp(<const char*>above.name, "article") == 0:
            articles += 1
        above = above.parent
    above = node
    while above is not NULL and above.type == XML_ELEMENT_NODE:
        name = <bytes>above.name
        if name in (b"body", b"html") or is_around(above, headline):
            return False
        # An article inside an article is a comment, or a teaser of another article.
        if name == b"aside" or name == b"blockquote" or name == b"article" and articles > 1:
            return True
        if above != node and (
            OTHERS.search(attribute_of(above, "class") + " " + attribute_of(above, "id"))
            or name == b"a" and (linked_heading(above) or has_more_text(above, node))
            or name == b"li" and has_sibling(above) and linked_heading(above)
        ):
            return True
        above = above.parent
    return False


cdef bint is_in_card(xmlNode* node, xmlNode* headline) noexcept:
    """Tell whether a date above the *headline* stands in a box with a heading that is a link."""
    cdef xmlNode* above = node.parent
    while above is not NULL and above.type == XML_ELEMENT_NODE and not is_around(above, headline):
        if linked_heading(above):
            return True
        above = above.parent
    return False


cdef bint linked_heading(xmlNode* box) noexcept:
    """Tell whether the first elements in a *box* are a heading (``h2`` to ``h6``) and a link, one in
    the other, or whether the box is a link around a heading.
    """
    cdef xmlNode* node = box
    cdef xmlNode* inner
    cdef int count = 0
    while count < MAX_CARD_ELEMENTS:
        node = following(node, box)
        if node is NULL:
            return False
        if node.type != XML_ELEMENT_NODE:
            continue
        count += 1
        if node.name[0] == c"h" and c"2" <= node.name[1] <= c"6" and node.name[2] == 0:
            inner = node
            while inner is not NULL and inner != box.parent:
                if strcmp(<const char*>inner.name, "a") == 0:
                    return True
                inner = inner.parent
            inner = following(node, node)
            while inner is not NULL:
                if inner.type == XML_ELEMENT_NODE and strcmp(<const char*>inner.name, "a") == 0:
                    return True
                inner = following(inner, node)
    return False


cdef xmlNode* following(xmlNode* node, xmlNode* top) noexcept:
    """Return the node after *node* in document order below *top*; NULL after the last one."""
    if node.type == XML_ELEMENT_NODE and node.children is not NULL:
        return node.children
    while node != top:
        if node.next is not NULL:
            return node.next
        node = node.parent
    return NULL


cdef bint has_more_text(xmlNode* link, xmlNode* date) except -1:
    """Tell whether a *link* around a *date* has more text than a date has."""
    cdef xmlNode* node = link
    cdef Py_ssize_t size = 0
    cdef int count = 0
    while size <= MAX_DATE_LINK_CHARS and count < 4 * MAX_CARD_ELEMENTS:
        node = following(node, link)
        if node is NULL:
            return False
        count += 1
        if node.type == XML_TEXT_NODE and not is_around(date, node):
            size += len(node.content.strip())
    return True


cdef bint has_sibling(xmlNode* item) noexcept:
    """Tell whether a list has another item."""
    cdef xmlNode* other = item.parent.children if item.parent is not NULL else NULL
    while other is not NULL:
        if other != item and other.type == XML_ELEMENT_NODE:
            return True
        other = other.next
    return False


cdef bint is_around(xmlNode* above, xmlNode* inner) noexcept:
    while inner is not NULL and inner != above:
        inner = inner.parent
    return inner is not NULL


cdef str properties_of(xmlNode* node):
    """Return the properties of microdata or RDFa that an element has, in lower case."""
    return SCHEMA.sub("", attribute_of(node, "itemprop") or attribute_of(node, "property")).lower()


cdef bint add_author(
    etree._Element root, xmlNode* node, int place, list found, int authors
) except -1:
    """Append an element that names an author to *found*, unless *found* has `MAX_AUTHORS` already;
    tell whether it names one.
    """
    cdef Py_ssize_t size = 0
    cdef list parts = []
    itemprop = properties_of(node)
    rel = attribute_of(node, "rel").lower()
    if "author" not in itemprop.split() and "author" not in rel.split():
        if not CARD.search(attribute_of(node, "class")):
            return False
    if authors < MAX_AUTHORS:
        author = etree.elementFactory(root._doc, node)
        # An author's card contains more than the name.
        name = next(iter(author.xpath(NAME)), None)
        for part in (author if name is None else name).itertext():
            parts.append(part)
            size += len(part)
            if size > MAX_MARK_CHARS:
                break
        found.append(("author", itemprop, "".join(parts), place))
    return True


cdef bint add_date(xmlNode* node, int place, list found) except -1:
    """Append an element to *found* if it marks a date, and tell whether it does."""
    itemprop = properties_of(node)
    is_abbreviation = strcmp(<const char*>node.name, "abbr") == 0
    if strcmp(<const char*>node.name, "time") != 0 and "date" not in itemprop and not is_abbreviation:
        return False
    text = attribute_of(node, "datetime") or attribute_of(node, "content")
    if is_abbreviation:
        text = attribute_of(node, "title") or text
    elif strcmp(<const char*>node.name, "data") == 0:
        text = attribute_of(node, "value") or text
    about = itemprop + " " + attribute_of(node, "class").lower()
    if about == " " and node.parent.type == XML_ELEMENT_NODE:
        if CHANGED.search(attribute_of(node.parent, "class")):
            about = "modified"
    found.append(("date", about, text or etree.textOf(node) or "", place))
    return True
