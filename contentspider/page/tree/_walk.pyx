# cython: language_level=3, wraparound=False
# distutils: language = c++
"""The walk over a page's tree that finds its blocks.

It reads the nodes of libxml2 directly, because creating lxml's Python objects for them would take
longer than the whole walk. It only reads fields of nodes and calls lxml's public C API, so nothing
is linked against libxml2. The tree must not change during the walk.
"""

cimport cython
from libc.string cimport strcmp, strncmp, strstr
from libcpp.vector cimport vector
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport XML_COMMENT_NODE, XML_ELEMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE
from lxml.includes.tree cimport XML_TEXT_NODE, xmlAttr, xmlNode

from contentspider.page.tree._block cimport Block
from contentspider.page.tree._directives cimport Directives, is_excluding
from contentspider.page.tree._elements cimport (
    BASE, BREAK, BUTTON, CELL, CONTAINER, EMBED, FIELD, FILM, FORMULA, IMAGE, INLINE, ITEM, LINK,
    NOINDEX, NOSCRIPT, NUMBERED, PREFORMATTED, QUOTE, ROW, SCRIPT, SKIPPED, TABLE, TEMPLATE, CLASS,
    COLSPAN, HREF, ID, NAME, ROLE, ROWSPAN, SHADOW, STYLE, Elements, Kind, attribute_of, first_child, is_called,
)
from contentspider.page.tree._hints cimport HintElements
from contentspider.page.tree._images cimport Pictures
from contentspider.page.tree._scripts cimport Segments, drop_stand_ins, is_seen_without_scripts
from contentspider.page.tree._text cimport Run
from contentspider.page.tree._furniture cimport (
    anchor_of, has_heading, has_text_after, is_box_sign, is_code_control, is_code_line,
    has_letters, has_sign, is_block_of_code, is_control, is_fold_label, is_folded_source, is_furniture, is_gutter,
    is_gutter_of_code, is_heading_of_notes, is_note_marker, is_of_class, is_panel, is_tooltip,
    is_tree, is_unseen, is_whole_text, language_of, leads_to, links_own_heading, names_part_of_api,
    next_element, previous_element, text_below, word_marker,
)
from contentspider.page.tree._table cimport Tables
from contentspider.page.tree._tree cimport Names, Paths, Tree

import re

from contentspider.page.tree import containers
from contentspider.page.tree.drawn import drop_separators, join_lines, join_signature, make_rows
from contentspider.page.tree.tabs import lone_tabs, pair_tabs, selects_rows
from contentspider.page.tree.text import clean_preformatted, clean_text
from contentspider.page.tree.formulas import formula_in_picture, formula_of
from contentspider.page.tree.verse import break_lines, is_verse
from contentspider.page.tree.tags import (
    CHECKED, CODE, DELETED, DISPLAYED_FORMULA, FORMULA as FORMULA_MARK, NO_NUMBER as NONE, NOTE, QUOTE_SIGNS,
    UNCHECKED, is_expression, quote_marks, raised,
)

etree.import_lxml__etree()

# Longer raised texts are no powers.
cdef Py_ssize_t MAX_RAISED_CHARS = 20
cdef Py_ssize_t MAX_SIGN_CHARS = 6
cdef tuple WORD_BULLETS = ("o", "n", "l", "q", "v")
cdef int MAX_QUOTED_DEPTH = 5  # of the first text in a quotation

# The cache of paths and attributes is emptied when it has more characters than this.
cdef Py_ssize_t MAX_CACHE_CHARS = 8_000_000

cdef Py_ssize_t NO_NUMBER = NONE
# An integer as HTML reads it, up to a size.
cdef object INTEGER = re.compile(r"[ \t\n\f\r]*([+-]?[0-9]{1,9})")
# Blocks name at most this many cells around their table. Tables further in have the same names.
cdef Py_ssize_t MAX_OUTER_TABLES = 4
cdef Py_ssize_t MAX_SPAN = 1_000  # columns or rows that a cell covers

# The kinds and roles of containers, which are compared for each element.
cdef str NUMBERS_NAME = containers.NUMBERS
cdef str BULLETS_NAME = containers.BULLETS
cdef str DEFINITIONS_NAME = containers.DEFINITIONS
cdef str ITEM_NAME = containers.ITEM
cdef str TERM_NAME = containers.TERM
cdef str DETAILS_NAME = containers.DETAILS
cdef str SUMMARY_NAME = containers.SUMMARY
cdef str TABLE_NAME = containers.TABLE
cdef str TABS_NAME = containers.TABS
cdef str SIGNATURE_NAME = containers.SIGNATURE
cdef str API_NAME = containers.API
cdef str CALLOUT_NAME = containers.CALLOUT
cdef str CALLOUTS_NAME = containers.CALLOUTS
cdef str ENTRIES_NAME = containers.ENTRIES
cdef str PANEL_NAME = containers.PANEL
cdef str LABEL_NAME = containers.LABEL
cdef str NOTE_NAME = containers.NOTE

# The label of a tab has at most this many characters.
cdef Py_ssize_t MAX_LABEL_CHARS = 100
cdef Py_ssize_t MAX_TAB_SETS = 300  # the labels of further ones stay where they are
# How Word writes the entry of a list: a paragraph with this style, which begins with its marker.
cdef object BOX_COLOUR = re.compile(r"--callout-color:\s*var\([\w-]*-(\w+)")
cdef object WORD_ENTRY = re.compile(r"mso-list:\s*l\d+\s+level(\d)")

# What a table is that only arranges other things, and that the walk reads as those.
cdef enum Layout:
    NO_LAYOUT, BOX_LAYOUT, CALLOUTS_LAYOUT, ENTRIES_LAYOUT

cdef struct Place:
    Py_ssize_t container, row, cell, item
    Py_ssize_t within  # the number of the value of `Block.within`
    Layout layout  # of the table that is the only child here, or is around
    bint in_signature
    bint preformatted
    bint in_code  # within a preformatted element
    Py_ssize_t table, colspan, rowspan  # the innermost table, and what the cell covers
    Py_ssize_t row_table  # the table that the row belongs to (0: in no row)
    Py_ssize_t number, note  # numbers of the list entry and footnote around
    char numbering  # how the list entry is numbered: a, A, i, I, or 0
    bint is_reversed  # the numbers of the list fall
    bint begins_list  # the list entry is the first one of a list right after another
    xmlNode* heading  # the innermost heading around, or NULL

cdef struct Open:  # an element whose children are being walked
    xmlNode* node
    bint is_container
    bint is_line  # a line of code, or an inline element whose style makes it a block
    bint is_raised, is_quoted  # its text is: it changes characters, or has quotation marks
    bint is_note  # the link of a footnote's marker
    bint is_apart  # a space follows it
    int marks  # the number of marks that begin with the element
    Py_ssize_t first_block  # of a ``noscript``, else -1
    Py_ssize_t number, step  # the number of the next list entry, and the step to the entry after it
    char numbering
    Place outer  # the place of the text after the element


@cython.final
cdef class Walker:
    """Finds the blocks of pages, and caches the tag paths that pages of a site share. With
    *obeys_directives* it leaves out text that the site's owner excludes from indexing.
    """

    cdef Paths paths
    cdef bint obeys_directives

    def __init__(self, bint obeys_directives=True):
        self.paths, self.obeys_directives = Paths(), obeys_directives

    def walk(
        self, page, etree._Element root not None, Py_ssize_t max_blocks, bint attributes,
        bint reveal=False, list kept=None,
    ):
        """Fill *page* with the blocks of the tree below *root*. Return the elements that may hold
        hints (see `HintElements`), and whether hidden elements were left out. With *reveal* hidden
        elements are read as well. If *kept* is a list, the element of each container of *page* is
        appended to it.
        """
        root.text  # raises if there is no node after the element
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
        if walk.tree.has_numbered_names():
            walk.number_paths()
        page.truncated = walk.truncated
        page.has_left_out = walk.directives.has_left_out
        page.ignores_directives = not self.obeys_directives
        page.base = walk.base
        return hints.found, walk.has_hidden


@cython.final
cdef class _Walk:
    """The state of the walk over one tree: the open elements, the open run of text, and the
    results.
    """

    cdef list blocks, tags, paths  # the page's
    cdef Py_ssize_t max_blocks
    cdef bint keep_attributes, reveal, truncated, has_hidden
    cdef bint has_moved  # the current element was already read in place of a template
    cdef str base

    cdef HintElements hints
    cdef Directives directives
    cdef Elements elements
    cdef vector[Open] open
    cdef Tree tree
    cdef Segments segments
    cdef list noscripts  # the first block of each, and the block after its last
    cdef Place place
    cdef Py_ssize_t rows, items, callouts, tab_sets
    cdef Tables tables
    cdef list outer_cells  # the value of `Block.outer` in each table, by number
    cdef list withins  # the values of `Block.within`
    cdef dict panels  # the label of each panel of tabs that is to come, both as addresses
    cdef set labels  # the labels of panels
    cdef list word_entries  # the open lists of Word: their kind, and the numbers of list and entry
    cdef dict notes  # the numbers of the footnotes that have a marker, by their ids
    cdef list note_ids  # the ids of these footnotes, by number
    cdef str language  # of the current preformatted element
    cdef list quotations  # the closing marks of the open ones

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
        self.tables, self.outer_cells = Tables.__new__(Tables), [()]
        self.notes, self.note_ids, self.language, self.quotations = {}, [""], "", []
        self.withins, self.panels, self.labels, self.word_entries = [()], {}, set(), []
        self.place.colspan = self.place.rowspan = 1
        self.place.number = NO_NUMBER
        self.directives = Directives.__new__(Directives)
        self.pictures = Pictures.__new__(Pictures, self.tree, self.blocks)

    cdef read(self, xmlNode* start, xmlNode* head):
        """Read the blocks in *head*, if it is not NULL, and then below *start* (the body). The
        elements below *start* are passed to `hints`.
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
                elif ended.is_line:
                    self.end_line()
                if ended.is_raised:
                    self.run.is_raised = self.run.is_lowered = False
                if ended.is_quoted:
                    self.end_quotation()
                if ended.is_apart:
                    self.run.add(b" ")
                self.place.in_code = ended.outer.in_code
                while ended.marks:
                    self.run.close_mark()
                    ended.marks -= 1
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
                if kind == SKIPPED or kind == BASE or kind == SCRIPT or kind == FIELD:
                    if kind == BASE and not self.base:
                        self.elements.read_attributes(node)
                        self.base = self.elements.address()
                    elif kind == SCRIPT or kind == FIELD and self.place.item:
                        self.add_shown(node, kind)
                    # The text after the element belongs to the head.
                    if in_head and self.open.empty():
                        node = node.next
                        continue
                elif kind == BREAK:
                    self.run.breaks += 1
                    if self.place.preformatted:
                        self.run.add(b"\n")
                    elif self.run.breaks > 1:
                        self.flush()
                    else:
                        self.run.add_break(self.elements)
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
                    elif not self.is_left_out(node, kind):
                        if kind == IMAGE and is_emoji(node, self.elements.values[CLASS]):
                            self.run.add(<bytes>attribute_of(node, "alt").encode())
                        elif kind == IMAGE and self.add_formula_of_picture(node):
                            pass
                        elif kind == IMAGE and self.place.preformatted and is_callout(node):
                            self.run.add(<bytes>f"({attribute_of(node, 'alt')})".encode())
                        elif kind in (IMAGE, FILM, EMBED) and self.takes_pictures():
                            self.pictures.add(node, self.run.end)
                        if kind == FORMULA:
                            self.add_formula(node)
                        elif kind != IMAGE and kind != FILM:
                            email = self.elements.email()
                            self.start(node, tag, INLINE if kind == EMBED else kind)
                            if email:
                                self.run.add(<bytes>email.encode())
                                node = NULL
                                continue
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
                node = node.next  # text, which was read with the node before it
                continue
            node = node.next
            self.run.add_texts(node)
        self.flush()
        self.pictures.share(None, -1)  # pictures after the last block
        if self.noscripts:
            drop_stand_ins(self.blocks, self.noscripts)

    cdef bint takes_pictures(self) noexcept:
        return not self.truncated and not self.run.is_muted

    cdef bint is_left_out(self, xmlNode* node, Kind kind) except -1:
        """Tell whether an element is hidden, or its text does not belong to the page's text."""
        if self.labels and <size_t>node in self.labels:
            return True
        if kind == IMAGE and (
            is_shown_formula_picture(node, self.elements.values[CLASS]) or is_sign_of_box(node)
        ):
            return True
        if kind == CELL and (
            self.place.layout == CALLOUTS_LAYOUT and is_first_cell(node) or is_gutter_of_code(node)
        ):
            return True
        if self.elements.values[CLASS] is not NULL and is_control(self.elements.values[CLASS]):
            return True
        if kind == CONTAINER and self.place.preformatted and self.elements.values[CLASS] is not NULL:
            if is_gutter(self.elements.values[CLASS]) and not has_letters(node):
                return True  # Expressive Code
        if self.place.in_signature and self.elements.values[CLASS] is not NULL:
            if strstr(self.elements.values[CLASS], "symbol--copy") is not NULL:  # Dokka
                return True
            if kind == LINK and text_below(node, MAX_SIGN_CHARS) in ("Source", "#"):  # Haddock
                return True
        if not self.place.preformatted and is_code_control(node, self.elements, kind):
            return True
        if kind == CONTAINER and (
            is_fold_label(node, self.elements.values[CLASS])
            or is_tooltip(self.elements.values[CLASS])
            or is_heading_of_notes(node, self.elements)
        ):
            return True
        if kind == INLINE or kind == LINK or kind == BUTTON or kind == CELL:
            if is_furniture(
                node, self.elements, kind, self.place.heading, self.place.preformatted
            ):
                return True
        return self.is_hidden(node)

    cdef bint is_hidden(self, xmlNode* node) except -1:
        """Tell whether the current element is hidden, or excluded from indexing."""
        cdef const char* names = self.elements.values[CLASS]
        if self.directives.are_obeyed and (
            self.elements.is_excluded or (names is not NULL and is_excluding(names))
        ):
            self.directives.note(node)
            return True
        if self.reveal or <size_t>node in self.panels:
            return False
        if not self.elements.is_hidden():
            if not is_folded_source(node, names):
                return False
            self.has_hidden = True
            return True
        if first_child(node, "math") is not NULL:  # MediaWiki hides MathML beside a picture
            return False
        if self.segments.is_segment(node, self.elements.values[ID], &self.has_moved):
            return self.has_moved
        if is_panel(node):
            return False
        self.has_hidden = True
        return True

    cdef start(self, xmlNode* node, Py_ssize_t tag, Kind kind):
        cdef Open element
        cdef bint is_code = False
        element.node = node
        element.outer = self.place
        element.is_container = element.is_line = element.is_raised = element.is_quoted = False
        element.is_note = element.is_apart = False
        element.marks = 0
        element.first_block = -1
        element.number, element.step, element.numbering = NO_NUMBER, 0, 0
        if self.place.heading is not NULL and node.prev is not NULL:
            if is_called(node.prev, "button") or (
                kind == BUTTON and node.prev.type == XML_ELEMENT_NODE
            ):
                self.run.add(b" ")
        kind = self.drawn_as(node, &tag, self.read_as(node, kind), &is_code)
        if kind == INLINE or kind == LINK or kind == TEMPLATE:
            self.start_inline(node, tag, kind, &element)
        elif self.place.preformatted and (self.place.in_code or kind == NUMBERED or kind == ITEM):
            # Each line of code is an element of its own.
            element.is_line = kind != CELL
            if element.is_line:
                self.run.end_line()
        else:
            element.is_container = True
            self.start_container(node, tag, kind, &element)
            self.place.in_code = self.place.in_code or is_code
        if self.notes:
            if self.elements.values[ID] is not NULL:
                self.enter_note(self.notes.get(self.elements.values[ID], 0))
            elif kind == LINK and self.elements.values[NAME] is not NULL:  # Word
                self.enter_note(self.notes.get(self.elements.values[NAME], 0))
        if self.keep_attributes:
            self.tree.add_attributes(node, self.place.container)
        self.open.push_back(element)

    cdef Kind read_as(self, xmlNode* node, Kind kind) except *:
        """Return the kind of an element at its place: of a link to its own heading, a button, the
        box of a task, and what stands in a signature.
        """
        if kind == LINK and self.elements.values[HREF] is not NULL and self.is_own_link(node):
            kind = INLINE
        if kind == BUTTON:
            kind = CONTAINER if self.place.heading is NULL and not has_sign(node) else INLINE
        if kind == CONTAINER and is_box_of_task(self.elements.values[CLASS]):
            box = UNCHECKED if is_of_class(node, "checkbox checkbox-off") else CHECKED
            self.run.add(<bytes>box.encode())
            kind = INLINE
        if kind == CONTAINER and is_split_signature(node, self.elements.values[CLASS]):
            join_signature(etree.elementFactory(self.hints.root._doc, node))
        if self.place.in_signature and kind != INLINE and kind != LINK and kind != TEMPLATE:
            self.run.add(b" ")
            kind = INLINE
        if kind == CONTAINER and is_part_of_entry(self.elements.values[CLASS]):
            self.run.add(b" ")
            kind = INLINE
        return kind

    cdef Kind drawn_as(
        self, xmlNode* node, Py_ssize_t* tag, Kind kind, bint* is_code
    ) except *:
        """Return the kind of an element that generators draw as another one (a poem, code, a
        table, a title), and set its *tag*, and whether it *is_code*.
        """
        if kind == PREFORMATTED:
            preformatted = etree.elementFactory(self.hints.root._doc, node)
            if is_verse(preformatted):
                break_lines(preformatted)
                tag[0], kind = self.elements.tag_number("p"), CONTAINER
        elif kind == INLINE and self.is_lone_code(node, tag[0]):
            tag[0], kind = self.elements.tag_number("pre"), PREFORMATTED
        if kind != CONTAINER:
            return kind
        if not self.place.preformatted and is_fragment(node, self.elements.values[CLASS]):
            is_code[0] = True
            join_lines(etree.elementFactory(self.hints.root._doc, node))
        if is_code[0] or is_diagram(self.elements.values[CLASS]):
            tag[0], kind = self.elements.tag_number("pre"), PREFORMATTED
        elif is_grid(node, self.elements.values[CLASS]):
            make_rows(etree.elementFactory(self.hints.root._doc, node))
            tag[0], kind = self.elements.tag_number("table"), TABLE
        elif is_title(node, self.elements.values[CLASS]):
            tag[0] = self.elements.tag_number("h1")
        elif is_called(node, "aside") and is_box(self.elements.values[CLASS]):
            tag[0] = self.elements.tag_number("div")  # it belongs to the text, as no other aside
        return kind

    cdef bint is_lone_code(self, xmlNode* node, Py_ssize_t tag) except -1:
        """Tell whether an inline element is a block of code."""
        if not self.elements.tags[tag].is_code or self.place.preformatted:
            return False
        return self.place.heading is NULL and is_block_of_code(node)

    cdef bint is_own_link(self, xmlNode* link) except -1:
        """Tell whether a link leads to the heading or the term (mandoc) that its words are."""
        cdef const char* href = self.elements.values[HREF]
        cdef const char* classes = self.elements.values[CLASS]
        if self.place.heading is not NULL:
            return links_own_heading(link, href, self.place.heading)
        if classes is NULL or href[0] != c"#" or strcmp(classes, "permalink") != 0:
            return False
        return leads_to(href + 1, link.parent)

    cdef start_inline(self, xmlNode* node, Py_ssize_t tag, Kind kind, Open* element):
        cdef Py_ssize_t mark
        cdef bytes note
        cdef bint is_superscript = is_called(node, "sup"), is_plain = False
        if self.elements.is_block() and not self.place.preformatted:
            element.is_line = True
            self.run.break_line(self.elements)
        elif is_called(node, "cite") and is_head_of_quotation(node):
            element.is_line = True
            self.run.break_line(self.elements)
        if is_called(node, "q"):
            element.is_quoted = self.start_quotation(node)
        if self.elements.values[CLASS] is not NULL and not self.place.preformatted:
            self.add_drawn(node, element)
        if self.elements.values[ROLE] is not NULL:
            element.is_apart = element.is_apart or is_cell_role(self.elements.values[ROLE])
        if (kind == LINK or is_superscript) and not self.place.preformatted:
            if is_note_marker(node, self.elements, kind):
                if not is_called(node.parent, "sup"):
                    self.run.add(b" ")  # keeps the number apart from the word
                if kind == LINK:
                    element.is_note = True
                    note = self.elements.values[HREF][1:]
                    self.add_note(note)
                    element.marks += self.run.open_mark(
                        self.elements.mark_number(NOTE + note.decode())
                    )
            elif is_superscript:
                is_plain = self.start_raised(node, element)
        elif is_called(node, "sub") and not self.place.preformatted:
            is_plain = self.start_lowered(node, element)
        if kind == LINK:
            self.run.keep_space()
        if is_plain:
            mark = 0
        elif kind == LINK:
            mark = self.elements.link_number()
        else:
            mark = self.elements.tags[tag].mark
        element.marks += self.run.open_mark(mark)
        if self.elements.tags[tag].is_code:
            self.place.in_code = True
        if self.place.preformatted and is_code_line(
            self.elements.values[CLASS], self.elements.values[STYLE]
        ):
            self.separate_line(node)

    cdef int add_drawn(self, xmlNode* node, Open* element) except -1:
        """Add what the style sheet of a generator draws at an inline element with a class: a colon
        or space that parts words, a line through them, or the box of a task.
        """
        cdef const char* classes = self.elements.values[CLASS]
        cdef xmlNode* before = node.prev
        if strcmp(classes, "classifier") == 0 and is_called(node.parent, "dt"):  # docutils
            while before is not NULL and before.type != XML_ELEMENT_NODE:
                before = before.prev
            if before is NULL or attribute_of(before, "class") != "classifier-delimiter":
                self.run.add(b" : ")
        elif strcmp(classes, "eqno") == 0:  # Sphinx: the number of a formula
            element.is_apart = True
        elif strstr(classes, "ltx_tag_bibitem") is not NULL:  # LaTeXML
            element.is_apart = True
        elif strcmp(classes, "ltx_note_outer") == 0:
            self.run.add(b" ")
        elif strcmp(classes, "doc doc-labels") == 0 or strcmp(classes, "signature-attributes") == 0:
            self.run.add(b" ")  # mkdocstrings, JSDoc
        elif strcmp(classes, "line-through") == 0:  # Asciidoctor
            element.marks += self.run.open_mark(self.elements.mark_number(DELETED))
        elif strcmp(classes, "fa fa-angle-right caret") == 0:  # Asciidoctor: File › Save
            self.run.add("\u203a".encode())
        elif strstr(classes, "fa-") is not NULL and is_in_check_list(node):
            box = CHECKED if strstr(classes, "fa-check-square") is not NULL else UNCHECKED
            self.run.add(<bytes>box.encode())
        elif is_unseen(classes):
            element.is_apart = True
        elif strcmp(classes, "rightside") == 0:
            drop_separators(etree.elementFactory(self.hints.root._doc, node))
        return 0

    cdef int separate_line(self, xmlNode* node) except -1:
        """Begin a new line for a line of code directly after another, which may be empty."""
        if node.prev is NULL or node.prev.type != XML_ELEMENT_NODE or not self.run.used:
            return 0
        if node.prev.children is NULL and not is_called(node.prev, "br"):
            self.run.add(b"\n")
        else:
            self.run.end_line()
        return 0

    cdef int enter_within(self, str kind, Py_ssize_t number) except -1:
        """Add a container around the text that follows in the current element."""
        self.withins.append(self.withins[self.place.within] + ((kind, number),))
        self.place.within = len(self.withins) - 1
        return 0

    cdef int enter_note(self, Py_ssize_t note) except -1:
        """Begin a footnote at the current element, unless *note* is 0. If the element stands in a
        heading, what follows the heading is the note.
        """
        cdef Open* heading
        cdef size_t index = self.open.size()
        cdef Py_ssize_t within
        if not note:
            return 0
        self.place.note = note
        if self.place.heading is NULL:
            return self.enter_within(NOTE_NAME, note)
        while index:
            index -= 1
            heading = &self.open[index]
            if heading.node == self.place.heading:
                within = self.place.within
                self.place.within = heading.outer.within
                self.enter_within(NOTE_NAME, note)
                heading.outer.note, heading.outer.within = note, self.place.within
                self.place.within = within
                break
        return 0

    cdef bint start_raised(self, xmlNode* node, Open* element) except -1:
        """Keep a raised number apart from the digits before it. Return whether its characters show
        that it is raised.
        """
        cdef str text = text_below(node, MAX_RAISED_CHARS)
        cdef bint is_after_digit = self.run.last_char().isdigit()
        if not self.open.empty() and self.open.back().is_note:
            return False
        if not text or not is_after_digit and is_before_slash(node):  # the fraction 1/2
            return False
        if raised(text):
            element.is_raised = not self.run.is_raised
            self.run.is_raised = True
            return True
        if is_after_digit and any(map(str.isdigit, text)):
            self.run.add(b"^")
            return True
        return False

    cdef bint start_lowered(self, xmlNode* node, Open* element) except -1:
        """Lower the digits of a number, such as a base, that stands behind another one. Return
        whether it is so.
        """
        cdef str text = text_below(node, MAX_RAISED_CHARS)
        if not (self.run.last_char().isdigit() and text.isascii() and text.isdigit()):
            return False
        if not (self.run.is_raised or self.run.is_lowered):
            element.is_raised = self.run.is_lowered = True
        return True

    cdef bint start_quotation(self, xmlNode* node) except -1:
        """Add the quotation mark that browsers show, unless the text has marks of its own."""
        cdef xmlNode* above = node.parent
        cdef str language = ""
        if self.run.last_char() in QUOTE_SIGNS or first_char(node) in QUOTE_SIGNS:
            return False
        while above is not NULL and above.type == XML_ELEMENT_NODE and not language:
            language = attribute_of(above, "lang")
            above = above.parent
        first, last = quote_marks(language, len(self.quotations))
        self.quotations.append(last)
        self.run.add(<bytes>(<str>first).encode())
        return True

    cdef int end_quotation(self) except -1:
        self.run.add(<bytes>(<str>self.quotations.pop()).encode())
        return 0

    cdef int end_line(self) except -1:
        """End the current line of code, or of text."""
        if self.place.preformatted:
            self.run.end_line()
        else:
            self.run.break_line(self.elements)
        return 0

    cdef add_note(self, bytes note):
        if note not in self.notes:
            self.notes[note] = len(self.note_ids)
            self.note_ids.append(note.decode())

    cdef start_container(self, xmlNode* node, Py_ssize_t tag, Kind kind, Open* element):
        cdef Names names
        self.flush()
        self.place.container = self.tree.enter(tag, self.place.container, node)
        names = self.tree.names_of(self.place.container)
        if kind == TABLE:
            if self.place.layout == NO_LAYOUT:
                self.add_table()
                self.move_foot(node)
        elif kind == ROW:
            self.start_row()
        elif kind == CELL:
            self.start_cell(node)
        elif kind == NUMBERED:
            read_numbers(node, element)
        elif kind == ITEM:
            self.items += 1
            self.place.item = self.items
            self.place.number = self.next_number(node)
            self.place.begins_list = is_first_of_next_list(node)
        elif kind == PREFORMATTED:
            self.place.preformatted = True
            self.place.in_code = False
            self.language = language_of(node)
        if self.elements.tags[tag].is_heading:
            self.place.heading = node
        if names is not None and (
            names.is_telling or kind == TABLE or self.place.layout != NO_LAYOUT
        ):
            self.enter_named(node, kind, names)
        if self.elements.values[STYLE] is not NULL:
            if strstr(self.elements.values[STYLE], "mso-list") is not NULL:
                self.enter_word_entry(node)
            elif strstr(self.elements.values[STYLE], "--callout-color") is not NULL:
                self.enter_coloured_box()
        self.go_to(self.place)
        if kind == NOSCRIPT:
            element.first_block = len(self.blocks)
        if self.elements.tags[tag].is_custom and self.elements.values[HREF] is not NULL:
            element.marks += self.run.open_mark(self.elements.link_number())
        if names is None or not names.is_telling or self.place.preformatted:
            pass
        elif self.is_signature(node, names):
            self.place.in_signature = True
            element.marks += self.run.open_mark(self.elements.mark_number(CODE))
        if self.panels and <size_t>node in self.panels:
            self.add_label(node)
        if kind == ITEM and is_of_class(node.parent, "inline-task-list"):  # Confluence
            box = CHECKED if is_of_class(node, "checked") else UNCHECKED
            self.run.add(<bytes>box.encode())

    cdef int enter_named(self, xmlNode* node, Kind kind, Names names) except -1:
        """Enter the container that the current element is by its names, if it is one."""
        cdef Py_ssize_t number = self.place.container
        if kind == TABLE:
            if self.place.layout == NO_LAYOUT:
                self.enter_within(TABLE_NAME, self.place.table)
            elif self.place.layout == CALLOUTS_LAYOUT:
                self.enter_within(NUMBERS_NAME, number)
                self.callouts = 0
            elif self.place.layout == ENTRIES_LAYOUT:
                self.enter_within(DEFINITIONS_NAME, number)
        elif kind == ROW and self.place.layout == CALLOUTS_LAYOUT:
            self.enter_within(ITEM_NAME, number)
        elif kind == CELL:
            self.place.layout = NO_LAYOUT
        within = names.kind
        if names.role == CALLOUT_NAME:
            stated = containers.stated_kind(
                attribute_of(node, "data-callout")
                or attribute_of(node, "data-callout-type")
                or attribute_of(node, "data-type")
            )
            within = stated or within
        if within and self.is_container(node, within):
            self.enter_within(within, number)
        if not names.role and not names.is_box:
            return 0
        if names.role == TABS_NAME:
            self.find_tabs(node)
        if kind != TABLE and has_only_table(node):
            self.place.layout = layout_of(names)
        return 0

    cdef bint is_container(self, xmlNode* node, str kind) except -1:
        """Tell whether an element of a *kind* is a container here. Folded text whose title is a
        heading is none: it lies under the heading. Nor is one without a title, nor a branch of a
        tree, nor an element with the name of a box that has the whole text: a box stands in a text.
        """
        cdef xmlNode* summary
        if kind == DETAILS_NAME:
            summary = first_child(node, "summary")
            if summary is NULL:
                return True
            if is_tree(node):
                return False
            classes = attribute_of(summary, "class").encode()
            return not has_heading(summary) and not is_fold_label(summary, classes)
        if kind == SUMMARY_NAME:
            around = self.withins[self.place.within]
            return bool(around) and around[len(around) - 1][0] == DETAILS_NAME
        return not (kind.isupper() and is_whole_text(node))

    cdef bint is_signature(self, xmlNode* node, Names names) except -1:
        """Tell whether the current element has the signature of a part of an API."""
        if names.kind == TERM_NAME:
            above = self.tree.names_of(self.tree.containers[self.place.container].parent)
            if above is not None and (<Names>above).role == API_NAME:
                return names_part_of_api(node)
        return names.role == SIGNATURE_NAME

    cdef int start_row(self) except -1:
        if self.place.layout == CALLOUTS_LAYOUT:
            self.callouts += 1
            self.items += 1
            self.place.item, self.place.number = self.items, self.callouts
        if self.place.layout != NO_LAYOUT:
            return 0
        self.rows += 1
        self.place.row, self.place.cell = self.rows, 0
        self.place.row_table = self.place.table
        self.tables.start_row(self.place.table)
        return 0

    cdef int start_cell(self, xmlNode* node) except -1:
        if self.place.layout != NO_LAYOUT:
            return 0
        self.place.colspan = number_in(self.elements.values[COLSPAN], 1)
        self.place.rowspan = rows_of(node, number_in(self.elements.values[ROWSPAN], MAX_SPAN))
        self.place.cell = self.tables.start_cell(
            self.place.table, &self.place.colspan, &self.place.rowspan
        )
        return 0

    cdef int find_tabs(self, xmlNode* node) except -1:
        """Note the panels of the tabs in or near an element, with their labels."""
        cdef etree._Element label, panel, second, tabs
        self.tab_sets += 1
        if self.tab_sets > MAX_TAB_SETS:
            return 0
        tabs = etree.elementFactory(self.hints.root._doc, node)
        for label in selects_rows(tabs):
            self.labels.add(<size_t>label._c_node)
        pairs = pair_tabs(tabs)
        if pairs:  # the panels of the other tabs are not in the page (Mintlify)
            self.labels.update([<size_t>(<etree._Element>tab)._c_node for tab in lone_tabs(tabs, pairs)])
        for panel, label in pairs:
            if text_below(label._c_node, MAX_LABEL_CHARS) is None:
                continue  # too long for a label: it stays where it is
            if <size_t>label._c_node not in self.labels:
                self.panels[<size_t>panel._c_node] = <size_t>label._c_node
                self.labels.add(<size_t>label._c_node)
            # A second label for narrow screens, before the panel (Elementor)
            second = panel.getprevious()
            if second is not None and second.get("role") == "tab":
                self.labels.add(<size_t>second._c_node)
        return 0

    cdef int add_label(self, xmlNode* panel) except -1:
        """Enter the panel of a tab, and add its label as a block."""
        cdef xmlNode* label = <xmlNode*><size_t>self.panels[<size_t>panel]
        cdef Place place
        cdef str text = clean_text(text_below(label, MAX_LABEL_CHARS) or "")
        self.enter_within(PANEL_NAME, self.place.container)
        place = self.place
        self.elements.read_attributes(label)
        self.place.container = self.tree.enter(
            self.elements.tag_of(label), self.place.container, label
        )
        if self.keep_attributes:
            self.tree.add_attributes(label, self.place.container)
        self.enter_within(LABEL_NAME, self.place.container)
        self.place.preformatted = False
        self.go_to(self.place)
        if text:
            self.add_block(text)
        self.go_to(place)
        self.elements.read_attributes(panel)
        return 0

    cdef int enter_coloured_box(self) except -1:
        """Enter a box whose colour tells its kind (Fumadocs):
        ``--callout-color: var(--color-fd-warning)``.
        """
        colour = BOX_COLOUR.search((<bytes>self.elements.values[STYLE]).decode())
        stated = "" if colour is None else containers.stated_kind(colour[1])
        if stated:
            self.enter_within(stated, self.place.container)
        return 0

    cdef int enter_word_entry(self, xmlNode* node) except -1:
        """Enter the entry of a list that a paragraph of Word is."""
        cdef xmlNode* before = node.prev
        cdef Py_ssize_t number = self.place.container
        entry = WORD_ENTRY.search(attribute_of(node, "style"))
        if entry is None:
            return 0
        while before is not NULL and before.type != XML_ELEMENT_NODE:
            before = before.prev
        if before is NULL or WORD_ENTRY.search(attribute_of(before, "style")) is None:
            self.word_entries.clear()
        level = min(int(entry[1]), len(self.word_entries) + 1)
        marker = clean_text(word_marker(node)).strip("().")
        is_numbered = marker.isascii() and marker.isalnum() and len(marker) <= 4
        # Without a dot these are bullets: ``o`` of Courier New, the others of Wingdings.
        is_numbered = is_numbered and word_marker(node).strip() not in WORD_BULLETS
        opened = (NUMBERS_NAME if is_numbered else BULLETS_NAME, number)
        if level <= len(self.word_entries) and self.word_entries[level - 1][0][0] == opened[0]:
            opened = self.word_entries[level - 1][0]
        del self.word_entries[level - 1:]
        self.word_entries.append((opened, (ITEM_NAME, number)))
        for (list_kind, list_number), (item_kind, item_number) in self.word_entries:
            self.enter_within(list_kind, list_number)
            self.enter_within(item_kind, item_number)
        self.place.number = int(marker[:9]) if is_numbered and marker.isdecimal() else NO_NUMBER
        return 0

    cdef int add_table(self) except -1:
        """Begin a table, which may stand in a cell of another."""
        cdef tuple outer = self.outer_cells[self.place.row_table]
        cdef tuple cell
        if self.place.row and len(outer) < MAX_OUTER_TABLES:
            cell = (
                self.place.row_table, self.place.row, self.place.cell, self.place.colspan,
                self.place.rowspan,
            )
            outer += (cell,)
        self.outer_cells.append(outer)
        self.place.table = self.tables.add()
        return 0

    cdef int move_foot(self, xmlNode* table) except -1:
        """Move a foot that stands before the bodies of its table to the end, where it is shown."""
        cdef xmlNode* foot = first_child(table, "tfoot")
        cdef xmlNode* later
        if foot is NULL:
            return 0
        later = foot.next
        while later is not NULL and not is_called(later, "tbody") and not is_called(later, "tr"):
            later = later.next
        if later is not NULL:
            element = etree.elementFactory(self.hints.root._doc, table)
            element.append(etree.elementFactory(self.hints.root._doc, foot))
        return 0

    cdef Py_ssize_t next_number(self, xmlNode* item) except? -2:
        """Return the number of a list entry, `NO_NUMBER` if its list is not numbered."""
        cdef Open* above
        cdef Py_ssize_t number
        self.place.numbering, self.place.is_reversed = 0, False
        if self.open.empty():
            return NO_NUMBER
        above = &self.open.back()
        if above.step == 0 or above.node != item.parent:
            return NO_NUMBER
        self.place.numbering, self.place.is_reversed = above.numbering, above.step < 0
        value = INTEGER.match(attribute_of(item, "value"))
        if value is not None:
            above.number = int(value[1])
        number = above.number
        above.number += above.step
        return number

    cdef int add_formula(self, xmlNode* node) except -1:
        """Add a formula in MathML."""
        cdef str latex, text
        cdef bint is_displayed
        latex, text, is_displayed = formula_of(
            etree.elementFactory(self.hints.root._doc, node)
        )
        return self.add_formula_text(latex, text, is_displayed)

    cdef bint add_formula_of_picture(self, xmlNode* node) except -1:
        """Add the formula that a picture shows, and tell whether it shows one."""
        cdef str source
        cdef bint is_displayed
        cdef const char* classes = self.elements.values[CLASS]
        if classes is NULL or (
            strstr(classes, "math") is NULL and strstr(classes, "tex") is NULL
            and strstr(classes, "formula") is NULL
        ):
            return False
        source, is_displayed = formula_in_picture(classes.decode(), attribute_of(node, "alt"))
        if source:
            self.add_formula_text(source, source, is_displayed)
        return bool(source)

    cdef int add_formula_text(self, str latex, str text, bint is_displayed) except -1:
        """Add a *text* that is marked as a formula if it has *latex*."""
        cdef str mark = DISPLAYED_FORMULA if is_displayed else FORMULA_MARK
        cdef bint is_marked = False
        if latex:
            if latex != text:
                mark = f"{mark} {latex}".replace("\0", "")
            is_marked = self.run.open_mark(self.elements.mark_number(mark))
        self.run.add(<bytes>text.replace("\0", "").encode("utf-8", "replace"))
        if is_marked:
            self.run.close_mark()
        return 0

    cdef int add_shown(self, xmlNode* node, Kind kind) except -1:
        """Add the text for a script with a formula (MathJax), or for the checkbox of a task
        list.
        """
        cdef str type_ = attribute_of(node, "type")
        if kind == FIELD:
            if type_ == "checkbox" and is_task(node):
                box = CHECKED if has_attribute(node, "checked") else UNCHECKED
                self.run.add(<bytes>box.encode())
        elif type_.startswith("math/tex") and node.children is not NULL:
            if node.children.content is not NULL:
                source = (<const char*>node.children.content).decode()
                self.add_formula_text(source, source, "mode=display" in type_)
        return 0

    cdef int go_to(self, Place place) except -1:
        self.place = place
        self.run.preformatted = place.preformatted
        self.run.breaks = 0
        return 0

    cdef int flush(self) except -1:
        """End the open run of text. It becomes a block if it is not empty."""
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

    cdef number_paths(self):
        """Keep the numbers in the paths of all blocks."""
        cdef Block block
        self.tree.number_paths()
        for block in self.blocks:
            block.path = self.paths[block.container]

    cdef int add_block(self, str text) except -1:
        cdef Block block
        if len(self.blocks) >= self.max_blocks:
            self.truncated = True
            return 0
        self.run.close_marks(text, self.elements)
        if len(text) <= MAX_SIGN_CHARS and self.is_sign_of_box(text):
            return 0
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
        block.number, block.within = self.place.number, self.withins[self.place.within]
        block.numbering = chr(self.place.numbering) if self.place.numbering else ""
        if self.place.is_reversed:
            block.numbering += "-"
        block.begins_list = self.place.begins_list
        block.colspan, block.rowspan = self.place.colspan, self.place.rowspan
        block.table, block.outer = self.place.row_table, self.outer_cells[self.place.row_table]
        block.note = self.note_ids[self.place.note]
        block.language = self.language if self.place.preformatted else ""
        block.anchor = "" if self.place.heading is NULL else anchor_of(self.place.heading)
        self.pictures.place(block, self.place.container, self.place.preformatted)
        if not self.run.marks.empty():
            self.run.give_spans(block, self.elements)
        self.blocks.append(block)
        return 0


    cdef bint is_sign_of_box(self, str text) except -1:
        """Tell whether a text is the sign that a box begins with instead of a word, such as an emoji."""
        cdef tuple within = self.withins[self.place.within]
        if not within or not (<str>within[len(within) - 1][0]).isupper():
            return False
        if self.blocks and (<Block>self.blocks[len(self.blocks) - 1]).within[:len(within)] == within:
            return False  # the box has begun
        return not text.isascii() and not any([character.isalnum() for character in text])


cdef Layout layout_of(Names names) except *:
    """Return what the table is that is the only child of an element with these names."""
    if names.role == CALLOUTS_NAME:
        return CALLOUTS_LAYOUT
    if names.role == ENTRIES_NAME:
        return ENTRIES_LAYOUT
    return BOX_LAYOUT if names.is_box else NO_LAYOUT


cdef bint has_only_table(xmlNode* node) noexcept:
    """Tell whether an element has no child and no text but a table."""
    cdef xmlNode* table = next_element(node.children)
    return table is not NULL and is_called(table, "table") and not has_text_after(table)


cdef bint is_first_cell(xmlNode* cell) noexcept:
    return next_element(cell.parent.children) == cell


cdef bint is_fragment(xmlNode* node, const char* classes) except -1:
    """Tell whether an element is code as Doxygen writes it, with no text between its lines: ``<div
    class="fragment"><div class="line">``.
    """
    cdef xmlNode* line
    cdef xmlNode* last = NULL
    if classes is NULL:
        return False
    line = next_element(node.children)
    if strcmp(classes, "container") == 0:  # SyntaxHighlighter
        return line is not NULL and is_numbered_line(line)
    if strcmp(classes, "fragment") != 0:
        return False
    if line is NULL or not (is_of_class(line, "line") or is_of_class(line, "foldopen")):
        return False
    while line is not NULL:
        last = line
        line = next_element(line.next)
    return not has_text_after(last)


cdef bint is_box_of_task(const char* classes) noexcept:
    """Tell whether an element is the box of a task in a list, as Notion exports it."""
    return classes is not NULL and (
        strcmp(classes, "checkbox checkbox-on") == 0 or strcmp(classes, "checkbox checkbox-off") == 0
    )


cdef bint is_sign_of_box(xmlNode* picture) except -1:
    """Tell whether a picture is the sign of a box with a note (DocBook): ``alt="[Warning]"``."""
    alt = attribute_of(picture, "alt")
    return alt.startswith("[") and alt.endswith("]") and bool(containers.stated_kind(alt.strip("[]")))


cdef bint is_callout(xmlNode* picture) except -1:
    """Tell whether a picture in code has the number of a note below the code (DocBook)."""
    return attribute_of(picture, "alt").isdecimal() and "callouts/" in attribute_of(picture, "src")


cdef bint is_split_signature(xmlNode* node, const char* classes) noexcept:
    """Tell whether an element is the term of a signature with a list of parameters behind it."""
    cdef xmlNode* after
    if classes is NULL or strstr(classes, "sig-object") is NULL or not is_called(node, "dt"):
        return False
    after = next_element(node.next)
    return after is not NULL and is_called(after, "dl")


cdef bint is_head_of_quotation(xmlNode* cite) noexcept:
    """Tell whether a quotation begins with the name of whom it quotes, which forums show on a line
    of its own: ``<blockquote><div><cite>ann wrote:</cite>``.
    """
    cdef xmlNode* around = cite.parent
    if previous_element(cite.prev) is not NULL or next_element(around.children) != cite:
        return False
    return is_called(around, "blockquote") or (
        is_called(around, "div") and around.parent is not NULL and is_called(around.parent, "blockquote")
    )


cdef bint is_numbered_line(xmlNode* line) except -1:
    return attribute_of(line, "class").startswith("line number1 ")


cdef bint is_part_of_entry(const char* classes) noexcept:
    """Tell whether an element is the label or the text of an entry in a list of sources (CSL)."""
    return classes is not NULL and (
        strcmp(classes, "csl-left-margin") == 0 or strcmp(classes, "csl-right-inline") == 0
    )


cdef bint is_title(xmlNode* node, const char* classes) noexcept:
    """Tell whether an element is the title of a page as Doxygen writes it."""
    if classes is NULL or strcmp(classes, "title") != 0:
        return False
    return is_of_class(node.parent, "headertitle") and not has_heading(node)


cdef bint is_box(const char* classes) except -1:
    """Tell whether the classes of an element make it a box with a note (Starlight)."""
    return classes is not NULL and bool(containers.box_kind("div", classes.decode().split()))


cdef bint is_grid(xmlNode* node, const char* classes) except -1:
    """Tell whether an element is a table without rows, as Javadoc writes it (`make_rows`)."""
    cdef xmlNode* cell
    if classes is NULL or strncmp(classes, "summary-table ", 14) != 0:
        return False
    cell = next_element(node.children)
    return cell is not NULL and attribute_of(cell, "class").startswith("table-header")


cdef bint is_diagram(const char* classes) except -1:
    """Tell whether classes say that the text of an element draws a diagram."""
    if classes is NULL or strstr(classes, "mermaid") is NULL:
        return False
    return not containers.DIAGRAMS.isdisjoint(classes.decode().split())


cdef bint is_shown_formula_picture(xmlNode* node, const char* classes) noexcept:
    """Tell whether a picture is a formula that MediaWiki has also written as MathML beside it."""
    cdef xmlNode* before = node.prev
    if classes is NULL or strstr(classes, "mwe-math-fallback-image") is NULL:
        return False
    while before is not NULL and before.type != XML_ELEMENT_NODE:
        before = before.prev
    return before is not NULL and first_child(before, "math") is not NULL


cdef Py_ssize_t number_in(const char* text, Py_ssize_t zero) noexcept:
    """Return the number at the beginning of a text, up to `MAX_SPAN`; 1 without a number, and *zero*
    for the number 0.
    """
    cdef Py_ssize_t number = 0
    if text is NULL or not c"0" <= text[0] <= c"9":
        return 1
    while c"0" <= text[0] <= c"9" and number < MAX_SPAN:
        number = 10 * number + text[0] - c"0"
        text += 1
    return min(number, MAX_SPAN) if number else zero


cdef Py_ssize_t rows_of(xmlNode* cell, Py_ssize_t rowspan) noexcept:
    """Return how many rows a cell covers: it ends with the last row of its group."""
    cdef xmlNode* row = cell.parent
    cdef Py_ssize_t rows = 1
    while rows < rowspan and row is not NULL:
        row = row.next
        if row is not NULL and row.type == XML_ELEMENT_NODE:
            if is_called(row, "tbody") or is_called(row, "thead") or is_called(row, "tfoot"):
                break
            rows += is_called(row, "tr")
    return rows


cdef bint is_cell_role(const char* role) noexcept:
    """Tell whether a role is that of a cell, which stands apart from the next one."""
    return (
        strcmp(role, "cell") == 0
        or strcmp(role, "gridcell") == 0
        or strcmp(role, "columnheader") == 0
        or strcmp(role, "rowheader") == 0
    )


cdef bint is_emoji(xmlNode* picture, const char* classes) except -1:
    """Tell whether a picture is that of signs, which its ``alt`` has: a character, or ":)"."""
    if classes is NULL:
        return False
    if strstr(classes, "emoji") is NULL and strstr(classes, "wp-smiley") is NULL:
        return False
    alt = attribute_of(picture, "alt")
    return bool(alt) and not any([character.isalnum() for character in alt])


cdef bint is_in_check_list(xmlNode* icon) except -1:
    """Tell whether an icon is the box of a task in a list as Asciidoctor writes it:
    ``<ul class="checklist"><li><p><i class="fa fa-check-square-o">``.
    """
    cdef xmlNode* entry
    if icon.prev is not NULL or icon.parent is NULL or not is_called(icon.parent.parent, "li"):
        return False
    entry = icon.parent.parent
    return "checklist" in attribute_of(entry.parent, "class")


cdef bint is_task(xmlNode* box) except -1:
    """Tell whether a checkbox in a list is that of a task. A filter can be used: it has a name, or
    stands in a form. Beside an ingredient of a recipe stands a box that a label without words draws.
    """
    cdef xmlNode* above = box.parent
    cdef xmlNode* label = next_element(box.next)
    if has_attribute(box, "disabled"):
        return True
    if has_attribute(box, "name"):
        return False
    if label is not NULL and is_called(label, "label") and is_box_sign(label):
        return False
    while above is not NULL and not is_called(above, "form"):
        above = above.parent
    return above is NULL


cdef bint continues_list(xmlNode* entries, xmlNode* before) except -1:
    """Tell whether a list goes on with the numbers of the list before it (Notion exports each entry
    as a list).
    """
    start, first = INTEGER.match(attribute_of(entries, "start")), attribute_of(before, "start")
    if start is None or int(start[1]) < 2:
        return False
    begin = INTEGER.match(first)
    number = 1 if begin is None else int(begin[1])
    before = before.children
    while before is not NULL:
        number += is_called(before, "li")
        before = before.next
    return int(start[1]) == number


cdef bint is_first_of_next_list(xmlNode* item) except -1:
    """Tell whether a list entry is the first of a list with nothing but white space between it and
    a list of the same kind.
    """
    cdef xmlNode* before = item.prev
    while before is not NULL:
        if before.type == XML_ELEMENT_NODE:
            return False
        before = before.prev
    if item.parent is NULL or not (is_called(item.parent, "ul") or is_called(item.parent, "ol")):
        return False
    before = item.parent.prev
    while before is not NULL and before.type != XML_ELEMENT_NODE:
        if before.type == XML_TEXT_NODE and not is_blank(<const char*>before.content):
            return False
        before = before.prev
    if before is NULL or not is_called(before, <const char*>item.parent.name):
        return False
    return not continues_list(item.parent, before)


cdef bint is_blank(const char* text) noexcept:
    while text is not NULL and text[0] in (c" ", c"\t", c"\n", c"\r", c"\f"):
        text += 1
    return text is NULL or text[0] == 0


cdef bint is_before_slash(xmlNode* node) except -1:
    """Tell whether a slash follows directly after an element."""
    node = node.next
    if node is NULL or node.type != XML_TEXT_NODE or node.content is NULL:
        return False
    return (<const char*>node.content).decode()[:1] in ("/", "\u2044")


cdef str first_char(xmlNode* node):
    """Return the first character of an element's text, "" if other elements come first."""
    cdef int depth
    for depth in range(MAX_QUOTED_DEPTH):
        node = node.children
        if node is NULL or node.type != XML_ELEMENT_NODE:
            break
    if node is NULL or node.type != XML_TEXT_NODE or node.content is NULL:
        return ""
    return (<const char*>node.content).decode().lstrip()[:1]


cdef bint has_attribute(xmlNode* node, const char* name) noexcept:
    cdef xmlAttr* attribute = node.properties
    while attribute is not NULL:
        if strcmp(<const char*>attribute.name, name) == 0:
            return True
        attribute = attribute.next
    return False


cdef int read_numbers(xmlNode* node, Open* element) except -1:
    """Read the number of a list's first entry and the step to the next into *element*."""
    cdef str kind = attribute_of(node, "type")
    cdef xmlNode* child
    start = INTEGER.match(attribute_of(node, "start"))
    element.number = int(start[1]) if start is not None else 1
    element.step = 1
    element.numbering = ord(kind) if kind in ("a", "A", "i", "I") else 0
    if has_attribute(node, "reversed"):
        element.step = -1
        if start is None:
            element.number = 0
            child = node.children
            while child is not NULL:
                element.number += is_called(child, "li")
                child = child.next
    return 0
