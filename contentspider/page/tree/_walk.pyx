# cython: language_level=3, wraparound=False
# distutils: language = c++
"""The walk over a page's tree that finds its blocks, on the nodes of libxml2 themselves: proxies of
the elements alone would cost more than all of this.

Only fields of the nodes are read, and only functions of lxml's public C API are called: nothing is
linked against libxml2. The tree must not change meanwhile.
"""

cimport cython
from libcpp.vector cimport vector
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport XML_COMMENT_NODE, XML_ELEMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE
from lxml.includes.tree cimport xmlNode

from contentspider.page.block._block cimport Block
from contentspider.page.tree._directives cimport Directives, is_excluding
from contentspider.page.tree._elements cimport (
    BASE, BREAK, CELL, EMBED, FILM, IMAGE, INLINE, ITEM, LINK, NOINDEX, NOSCRIPT,
    PREFORMATTED, ROW, SKIPPED, TEMPLATE, CLASS, HREF, ID, SHADOW,
    Elements, Kind, first_child, is_called,
)
from contentspider.page.about._hints cimport HintElements
from contentspider.page.write._images cimport Pictures
from contentspider.page.tree._scripts cimport Segments, drop_stand_ins, is_seen_without_scripts
from contentspider.page.block._text cimport Run
from contentspider.page.tree._tree cimport Paths, Tree

from contentspider.page.text import clean_preformatted
from contentspider.page.tree.tags import is_expression

etree.import_lxml__etree()

# Paths and attributes are kept across pages until they are longer than this together.
cdef Py_ssize_t MAX_CACHE_CHARS = 8_000_000

cdef struct Place:
    Py_ssize_t container, row, cell, item
    bint preformatted

cdef struct Open:  # an element whose children are walked
    xmlNode* node
    bint is_container
    bint is_marked
    Py_ssize_t first_block  # of a ``noscript``, else -1
    Place outer  # where its tail stands, if it is a container


@cython.final
cdef class Walker:
    """Finds the blocks of trees, and keeps what pages of a site share: the paths of elements. What
    the pages' owner says is not to be indexed is left out, if *obeys_directives*.
    """

    cdef Paths paths
    cdef bint obeys_directives

    def __init__(self, bint obeys_directives=True):
        self.paths, self.obeys_directives = Paths(), obeys_directives

    def walk(
        self, page, etree._Element root not None, Py_ssize_t max_blocks, bint attributes,
        bint reveal=False, list kept=None,
    ):
        """Fill *page* with the blocks of the tree below *root*, and return the elements that may
        hold hints, as `HintElements` has them, and whether something hidden was left out; with
        *reveal* nothing is. *kept*, if it is given, gets the element of each of *page*'s
        containers.
        """
        root.text  # raises if there is no node behind the element
        cdef xmlNode* top = root._c_node
        cdef xmlNode* body = NULL
        cdef xmlNode* head = NULL
        cdef xmlNode* child
        cdef HintElements hints = HintElements.__new__(HintElements, root)
        if is_called(top, "html"):
            body = first_child(top, "body")
            # Where <body> is left out, libxml2 takes elements that it does not know (nav, article)
            # for the head's.
            head = first_child(top, "head")
        walk = _Walk(self.paths, page, hints, max_blocks, attributes, reveal, kept)
        walk.directives.are_obeyed = self.obeys_directives
        if top.type == XML_ELEMENT_NODE:
            hints.see(top)
        try:
            if body is NULL:
                walk.read(top, NULL)
            else:
                child = top.children
                while child is not NULL:
                    if child == body:
                        hints.see(body)
                        walk.read(body, head)
                    elif child.type == XML_ELEMENT_NODE:
                        hints.see(child)
                        hints.see_below(child)
                    child = child.next
        finally:
            if self.paths.cached > MAX_CACHE_CHARS:
                self.paths.forget()
        page.truncated = walk.truncated
        page.has_left_out = walk.directives.has_left_out
        page.base = walk.base
        return hints.found, walk.has_hidden


@cython.final
cdef class _Walk:
    """The walk over one tree: the open elements, the open run of text, and what was found."""

    cdef list blocks, tags, paths  # the page's
    cdef Py_ssize_t max_blocks
    cdef bint keep_attributes, reveal, truncated, has_hidden
    cdef bint has_moved  # the element at hand was read where a template has its place
    cdef str base

    cdef HintElements hints
    cdef Directives directives
    cdef Elements elements
    cdef vector[Open] open
    cdef Tree tree
    cdef Segments segments
    cdef list noscripts  # the first block of each, and the one behind the last
    cdef Place place
    cdef Py_ssize_t rows, cells, items

    cdef Run run
    cdef Pictures pictures

    def __cinit__(
        self, Paths paths, page, HintElements hints, Py_ssize_t max_blocks, bint attributes,
        bint reveal, list kept,
    ):
        self.hints, self.reveal = hints, reveal
        self.blocks, self.tags, self.paths = page.blocks, page.tags, page.paths
        self.max_blocks, self.keep_attributes, self.base = max_blocks, attributes, ""
        self.elements = Elements.__new__(Elements)
        self.tree = Tree.__new__(Tree, page, self.elements, paths, hints.root, kept)
        self.segments, self.noscripts = Segments.__new__(Segments), []
        self.run = Run.__new__(Run)
        self.directives = Directives.__new__(Directives)
        self.pictures = Pictures.__new__(Pictures, self.tree, self.blocks)

    cdef read(self, xmlNode* start, xmlNode* head):
        """Read the blocks below *start* (the body); those of *head* come first, if there is one. It
        shows the elements below *start* to `hints`.
        """
        cdef bint is_element = start.type == XML_ELEMENT_NODE  # else nothing is below it
        cdef bint in_head = head is not NULL
        cdef xmlNode* node
        cdef Py_ssize_t tag
        cdef Kind kind
        cdef Open ended
        cdef xmlNode* content
        self.segments.body = start
        self.elements.read_document(start.doc)
        if is_element:
            self.elements.read_attributes(start)
        self.place.container = self.tree.enter(
            self.elements.tag_number("body"), -1, start if is_element else <xmlNode*>NULL
        )
        if self.keep_attributes:
            self.tree.add_attributes(start if is_element else <xmlNode*>NULL, 0)
        self.tree.keep(0)
        if is_element:
            self.run.add_texts(start.children)
        self.run.breaks = 0
        if in_head:
            node = head.children
        else:
            node = start.children if is_element else <xmlNode*>NULL
        while True:
            if node is NULL:
                if self.open.empty():
                    if not in_head:
                        break
                    in_head = False
                    node = start.children
                    continue
                ended = self.open.back()
                self.open.pop_back()
                node = ended.node
                if ended.is_container:
                    self.flush()
                    self.go_to(ended.outer)
                    if ended.first_block >= 0:
                        self.noscripts.append((ended.first_block, len(self.blocks)))
                if ended.is_marked:
                    self.run.close_mark()
            elif node.type == XML_ELEMENT_NODE:
                self.has_moved = False
                if not in_head:
                    self.hints.see(node)
                tag = self.elements.tag_of(node)
                kind = self.elements.tags[tag].kind
                if kind == NOSCRIPT and (
                    in_head and self.open.empty() or not is_seen_without_scripts(node)
                ):
                    kind = SKIPPED
                    if not in_head and self.takes_pictures():
                        self.pictures.add_noscript(node, self.run.end)
                elif kind == NOINDEX:
                    kind = SKIPPED if self.directives.are_obeyed else INLINE
                    if kind == SKIPPED:
                        self.directives.note(node)
                if kind == SKIPPED or kind == BASE:
                    if kind == BASE and not self.base:
                        self.elements.read_attributes(node)
                        self.base = self.elements.address()
                    if in_head and self.open.empty():  # its tail is no text of the body's
                        node = node.next
                        continue
                elif kind == BREAK:
                    self.run.breaks += 1
                    if self.place.preformatted:
                        self.run.add(b"\n")
                    elif self.run.breaks > 1:
                        self.flush()
                    else:
                        self.run.add(b" ")
                else:
                    self.elements.read_attributes(node)
                    if kind == TEMPLATE:
                        content = self.segments.of_template(
                            node, self.elements.values[ID], self.elements.values[SHADOW]
                        )
                        if content is not NULL:
                            self.start(node, tag, kind)
                            node = content.children
                            self.run.add_texts(node)
                            continue
                    elif not self.is_hidden(node):
                        if kind in (IMAGE, FILM, EMBED) and self.takes_pictures():
                            self.pictures.add(node, self.run.end)
                        if kind != IMAGE and kind != FILM:
                            self.start(node, tag, INLINE if kind == EMBED else kind)
                            node = node.children
                            self.run.add_texts(node)
                            continue
                if not in_head and not self.has_moved:
                    self.hints.see_below(node)
                if self.run.is_muted:
                    self.directives.pass_by(node)
                    self.run.is_muted = self.directives.open != 0
            elif node.type == XML_COMMENT_NODE:
                if self.directives.are_obeyed:
                    self.directives.read(node)
                    self.run.is_muted = self.directives.open != 0
            elif node.type != XML_PI_NODE and node.type != XML_ENTITY_REF_NODE:
                node = node.next  # text, which was read with what stands before it
                continue
            node = node.next
            self.run.add_texts(node)
        self.flush()
        self.pictures.share(None, -1)  # those that stand alone at the page's end
        if self.noscripts:
            drop_stand_ins(self.blocks, self.noscripts)

    cdef bint takes_pictures(self) noexcept:
        return not self.truncated and not self.run.is_muted

    cdef bint is_hidden(self, xmlNode* node) except -1:
        """Tell whether the element at hand is left out: it is hidden, or not to be indexed."""
        cdef const char* names = self.elements.values[CLASS]
        if self.directives.are_obeyed and (
            self.elements.is_excluded or (names is not NULL and is_excluding(names))
        ):
            self.directives.note(node)
            return True
        if self.reveal or not self.elements.is_hidden():
            return False
        if self.segments.is_segment(node, self.elements.values[ID], &self.has_moved):
            return self.has_moved
        self.has_hidden = True
        return True

    cdef start(self, xmlNode* node, Py_ssize_t tag, Kind kind):
        cdef Open element
        element.node = node
        element.is_container = kind != INLINE and kind != LINK and kind != TEMPLATE
        element.outer = self.place
        element.is_marked = False
        element.first_block = -1
        if not element.is_container:
            if kind == LINK:
                element.is_marked = self.run.open_mark(self.elements.link_number())
            else:
                element.is_marked = self.run.open_mark(self.elements.tags[tag].mark)
        else:
            self.flush()
            self.place.container = self.tree.enter(tag, self.place.container, node)
            if kind == ROW:
                self.rows += 1
                self.place.row = self.rows
            elif kind == CELL:
                self.cells += 1
                self.place.cell = self.cells
            elif kind == ITEM:
                self.items += 1
                self.place.item = self.items
            elif kind == PREFORMATTED:
                self.place.preformatted = True
            self.go_to(self.place)
            if kind == NOSCRIPT:
                element.first_block = len(self.blocks)
            if self.elements.tags[tag].is_custom and self.elements.values[HREF] is not NULL:
                element.is_marked = self.run.open_mark(self.elements.link_number())
        if self.keep_attributes:
            self.tree.add_attributes(node, self.place.container)
        self.open.push_back(element)

    cdef int go_to(self, Place place) except -1:
        self.place = place
        self.run.preformatted = place.preformatted
        self.run.breaks = 0
        return 0

    cdef int flush(self) except -1:
        """End the open run of text; it becomes a block if there is text in it."""
        cdef str text
        if self.run.used:
            if self.place.preformatted:
                text = clean_preformatted(self.run.read())
                if text:
                    self.add_block(text)
            elif len(self.blocks) < self.max_blocks:
                self.add_block(self.run.read())
            else:
                self.truncated = True
        self.pictures.leave(self.place.container)
        if self.run.parts:
            self.run.clear()
        return 0

    cdef int add_block(self, str text) except -1:
        cdef Block block
        if len(self.blocks) >= self.max_blocks:
            self.truncated = True
            return 0
        self.run.close_marks(text)
        if (
            u"{" in text
            and not self.place.preformatted
            and not self.run.has_code(self.elements)
            and is_expression(text)
        ):
            return 0
        block = Block.__new__(Block)
        block.text = text
        block.container = self.tree.keep(self.place.container)
        block.path, block.tag = self.paths[block.container], self.tags[block.container]
        block.row, block.cell, block.item = self.place.row, self.place.cell, self.place.item
        block.images = block.films = block.known_spans = ()
        self.pictures.place(block, self.place.container, self.place.preformatted)
        if not self.run.marks.empty():
            self.run.give_spans(block, self.elements)
        self.blocks.append(block)
        return 0
