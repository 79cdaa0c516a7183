# cython: language_level=3, wraparound=False
# distutils: language = c++
"""The walk over a page's tree that finds its blocks, on the nodes of libxml2 themselves.

Making proxies of the elements alone would cost more than all of this. Only fields of the nodes are
read, and only functions of lxml's public C API are called: nothing is linked against libxml2. The
tree must not change meanwhile.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport uint32_t
from libc.string cimport memcpy, strcmp, strlen
from libcpp.vector cimport vector
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE,
    XML_COMMENT_NODE,
    XML_ELEMENT_NODE,
    XML_ENTITY_REF_NODE,
    XML_PI_NODE,
    XML_TEXT_NODE,
    XML_XINCLUDE_END,
    XML_XINCLUDE_START,
    const_xmlChar,
    xmlAttr,
    xmlDtd,
    xmlNode,
)


cdef extern from "Python.h":
    bint Py_UNICODE_ISSPACE(Py_UCS4 character)


etree.import_lxml__etree()

# Paths, attributes and styles are kept across pages until they are longer than this together.
cdef Py_ssize_t MAX_CACHE_CHARS = 8_000_000

cdef enum Kind:
    CONTAINER, SKIPPED, BREAK, INLINE, LINK, ROW, ITEM, PREFORMATTED

# The attributes that the walk looks at; the first four make an element's step in a path.
cdef enum:
    ID, CLASS, ROLE, ITEMPROP, HIDDEN, STYLE, HREF, ATTRIBUTES
    STEP_ATTRIBUTES = 4
cdef const char** NAMES = ["id", "class", "role", "itemprop", "hidden", "style", "href"]

cdef struct Tag:
    Kind kind
    Py_ssize_t mark  # what marks the text in it, in `_Walk.marks`
    Py_ssize_t last  # its latest container, -1: none

cdef struct KnownName:
    const_xmlChar* name
    const_xmlChar* href
    Py_ssize_t tag

cdef struct Container:
    Py_ssize_t parent
    Py_ssize_t position
    Py_ssize_t before  # the latest container of the same tag whose parent is open and not this one's, -1: none

cdef struct Place:
    Py_ssize_t container
    Py_ssize_t row
    Py_ssize_t item
    bint preformatted

cdef struct Open:  # an element whose children are walked
    xmlNode* node
    bint is_container
    bint is_marked
    Place outer  # where its tail stands, if it is a container

cdef struct Part:  # a text node, or adjacent ones
    Py_ssize_t length  # characters that it has when it is cleaned alone
    bint empty, blank, starts_with_space, ends_with_space, pending_space

cdef struct Mark:
    Py_ssize_t mark
    Py_ssize_t part  # how many parts of the block are before it
    Py_ssize_t start
    Py_ssize_t end


@cython.final
@cython.no_gc  # it holds no more than texts and numbers: the collector need not look at a page's hundreds of them
cdef class Block:
    """One run of text of a page and where it stands.

    *path* is the selector path from ``body`` down: elements joined by ``/``, each
    ``tag#id.class[role]`` with runs of two digits or more written as ``0``; the tag path is the
    same without ids, classes and roles. *container* is the index of the block's element in
    `PageBlocks`.
    *row* numbers the table row that the block stands in and *item* the list item (0: none).
    *spans* are ``(start, end, mark)`` ranges of *text*: a link's address, or `CODE`.
    """

    cdef readonly str text, path, tag
    cdef readonly Py_ssize_t container, link_chars, links, bold_chars, row, item
    cdef readonly tuple spans

    def __init__(
        self, str text not None, str path not None, str tag not None, Py_ssize_t container, Py_ssize_t link_chars=0, Py_ssize_t links=0,
        Py_ssize_t bold_chars=0, Py_ssize_t row=0, Py_ssize_t item=0, tuple spans not None=()
    ):
        self.text, self.path, self.tag, self.container = text, path, tag, container
        self.link_chars, self.links, self.bold_chars = link_chars, links, bold_chars
        self.row, self.item, self.spans = row, item, spans

    cdef tuple fields(self):
        return (
            self.text, self.path, self.tag, self.container, self.link_chars, self.links, self.bold_chars, self.row, self.item, self.spans
        )

    def __eq__(self, other):
        return self.fields() == (<Block>other).fields() if isinstance(other, Block) else NotImplemented

    def __repr__(self):
        return f"Block{self.fields()!r}"


@cython.final
@cython.no_gc  # no step leads back up; the collector need not look at thousands of them
cdef class _Step:
    """A path, and the paths that are one step longer."""

    cdef str path
    cdef Py_ssize_t slashes
    cdef bint full  # longer paths say nothing more
    cdef dict steps  # None: not any


@cython.final
cdef class Walker:
    """Finds the blocks of trees, and keeps what pages share: paths, and which styles hide.

    *tags* has the kind of each tag that is more than a container, *marks* what marks the text in a tag;
    *element_key* makes an element's step in a path, *hides* tells whether a style hides.
    """

    cdef object element_key, hides, clean_preformatted
    cdef dict tags, marks
    cdef str code, bold
    cdef Py_ssize_t max_value_chars, max_path_chars, max_path_depth
    cdef _Step top
    cdef dict keys, styles
    cdef Py_ssize_t cached

    def __init__(
        self, dict tags, dict marks, *, str code, str bold, element_key, hides, clean_preformatted,
        Py_ssize_t max_value_chars, Py_ssize_t max_path_chars, Py_ssize_t max_path_depth
    ):
        kinds = {"skipped": SKIPPED, "break": BREAK, "inline": INLINE, "link": LINK, "row": ROW, "item": ITEM, "preformatted": PREFORMATTED}
        self.tags = {tag: kinds[kind] for tag, kind in tags.items()}
        self.marks = marks
        self.code, self.bold = code, bold
        self.element_key, self.hides, self.clean_preformatted = element_key, hides, clean_preformatted
        self.max_value_chars = max_value_chars
        self.max_path_chars, self.max_path_depth = max_path_chars, max_path_depth
        self.forget()

    cdef forget(self):
        self.cached = 0
        self.top = _Step.__new__(_Step)
        self.top.steps = {}
        self.keys = {}
        self.styles = {}

    cdef _Step new_step(self, _Step above, str key):
        cdef _Step step = _Step.__new__(_Step)
        if above is self.top:
            step.path, step.slashes = key, key.count("/")
        else:
            step.path, step.slashes = above.path + "/" + key, above.slashes + 1 + key.count("/")
        step.full = len(step.path) >= self.max_path_chars or step.slashes >= self.max_path_depth
        return step

    def walk(self, page, etree._Element start not None, etree._Element head, Py_ssize_t max_blocks, bint attributes):
        """Fill *page* with the blocks below *start* (the body); those of *head* come first, if
        there is one.
        """
        text = start.text  # raises if there is no node behind the element
        walk = _Walk(self, page, max_blocks, attributes)
        try:
            walk.read(start._c_node, text or "", <xmlNode*>NULL if head is None else head._c_node)
        finally:
            if self.cached > MAX_CACHE_CHARS:
                self.forget()
        page.truncated = walk.truncated


@cython.final
cdef class _Walk:
    """The walk over one tree: the open elements, the open run of text, and what was found so far.
    """

    cdef Walker walker
    cdef list blocks, parents, tags, paths, positions, attributes
    cdef Py_ssize_t max_blocks
    cdef bint keep_attributes, truncated
    cdef bint has_defaults  # the document's type declares attributes: its elements may have some by default

    cdef vector[Tag] tag_table
    cdef list tag_names
    cdef dict tag_numbers
    cdef KnownName known_names[256]  # numbers of tags by the address of their names
    cdef const char* values[ATTRIBUTES]  # attributes of the element at hand, NULL: it has none
    cdef list kept  # what *values* point to, where that is not the tree

    cdef vector[Open] open
    cdef vector[Container] containers
    cdef list steps  # the `_Step` of each container
    cdef Place place
    cdef Py_ssize_t rows, items, breaks

    # The open run of text, cleaned unless it is preformatted.
    cdef vector[char] text
    cdef Py_ssize_t used  # bytes of *text*
    cdef bint pending_space
    cdef Py_ssize_t parts
    cdef Py_ssize_t end  # characters so far, by its parts
    cdef bint part_ended_with_space
    cdef list marks  # all marks of the page
    cdef vector[Mark] open_marks, closed_marks

    def __cinit__(self, Walker walker, page, Py_ssize_t max_blocks, bint attributes):
        self.walker = walker
        self.blocks, self.parents, self.tags, self.paths = page.blocks, page.parents, page.tags, page.paths
        self.positions, self.attributes = page.positions, page.attributes
        self.max_blocks = max_blocks
        self.keep_attributes = attributes
        self.tag_names, self.tag_numbers = [], {}
        self.kept = []
        self.steps = []
        self.marks = [""]

    cdef read(self, xmlNode* start, str text, xmlNode* head):
        cdef bint is_element = start.type == XML_ELEMENT_NODE  # else nothing is below it
        cdef bint in_head = head is not NULL
        cdef xmlNode* node
        cdef Py_ssize_t tag
        cdef Kind kind
        cdef Open ended
        self.has_defaults = declares_attributes(start.doc.intSubset) or declares_attributes(start.doc.extSubset)
        if is_element:
            self.read_attributes(start)
        self.enter(self.tag_number("body"), -1)
        if self.keep_attributes:
            self.attributes.append(self.all_attributes(start) if is_element else [])
        self.add(text.encode())
        self.breaks = 0
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
                    self.place = ended.outer
                    self.breaks = 0
                elif ended.is_marked:
                    self.close_mark()
            elif node.type == XML_ELEMENT_NODE:
                tag = self.tag_of(node)
                kind = self.tag_table[tag].kind
                if kind == SKIPPED:
                    if in_head and self.open.empty():  # its tail is no text of the body's
                        node = node.next
                        continue
                elif kind == BREAK:
                    self.breaks += 1
                    if self.place.preformatted:
                        self.add(b"\n")
                    elif self.breaks > 1:
                        self.flush()
                    else:
                        self.add(b" ")
                else:
                    self.read_attributes(node)
                    if not self.is_hidden():
                        self.start(node, tag, kind)
                        node = node.children
                        self.add_texts(node)
                        continue
            elif node.type != XML_COMMENT_NODE and node.type != XML_PI_NODE and node.type != XML_ENTITY_REF_NODE:
                node = node.next  # text, which was read with what stands before it
                continue
            node = node.next
            self.add_texts(node)
        self.flush()

    # Elements.

    cdef Py_ssize_t tag_of(self, xmlNode* node) except -1:
        cdef const_xmlChar* href = etree._getNs(node)
        cdef KnownName* known = &self.known_names[(<size_t>node.name ^ <size_t>node.name >> 8) & 255]
        if known.name != node.name or known.href != href:
            known.tag = self.tag_number(etree.namespacedName(node))
            known.name, known.href = node.name, href
        return known.tag

    cdef Py_ssize_t tag_number(self, str name) except -1:
        cdef Tag tag
        cdef str mark
        number = self.tag_numbers.get(name)
        if number is None:
            number = len(self.tag_names)
            tag.kind = self.walker.tags.get(name, CONTAINER)
            tag.last = -1
            mark = self.walker.marks.get(name, "")
            tag.mark = self.mark_number(mark)
            self.tag_table.push_back(tag)
            self.tag_names.append(name)
            self.tag_numbers[name] = number
        return number

    cdef Py_ssize_t mark_number(self, str mark) except -1:
        if not mark:
            return 0
        self.marks.append(mark)
        return len(self.marks) - 1

    cdef int read_attributes(self, xmlNode* node) except -1:
        cdef xmlAttr* attribute = node.properties
        cdef const char* name
        cdef int i
        for i in range(ATTRIBUTES):
            self.values[i] = NULL
        while attribute is not NULL:
            if attribute.ns is NULL:
                name = <const char*>attribute.name
                for i in range(ATTRIBUTES):
                    if name[0] == NAMES[i][0] and strcmp(name, NAMES[i]) == 0:
                        self.values[i] = self.value(node, attribute)
                        break
            attribute = attribute.next
        if self.has_defaults:
            for i in range(ATTRIBUTES):
                if self.values[i] is NULL:
                    value = etree.attributeValueFromNsName(node, NULL, <const_xmlChar*>NAMES[i])
                    if value is not None:
                        self.values[i] = self.keep(value)
        return 0

    cdef const char* value(self, xmlNode* node, xmlAttr* attribute) except NULL:
        cdef xmlNode* text = attribute.children
        if text is NULL:
            return ""
        if text.next is NULL and text.type == XML_TEXT_NODE and text.content is not NULL:
            return <const char*>text.content
        return self.keep(etree.attributeValue(node, attribute))  # it has references to entities

    cdef const char* keep(self, str value) except NULL:
        cdef bytes kept = value.encode()
        self.kept.append(kept)
        return PyBytes_AS_STRING(kept)

    cdef list all_attributes(self, xmlNode* node):
        return [(name, value[:self.walker.max_value_chars]) for name, value in etree.collectAttributes(node, 3)]

    cdef bint is_hidden(self) except -1:
        cdef const char* role = self.values[ROLE]
        cdef const char* hidden = self.values[HIDDEN]
        cdef const char* style = self.values[STYLE]
        if hidden is not NULL and strcmp(hidden, "until-found") != 0 and (role is NULL or strcmp(role, "tabpanel") != 0):
            return True  # the panels of tabs are hidden in turn, yet all of them are the page's
        if style is NULL or style[0] == 0:
            return False
        key = <bytes>style
        hides = self.walker.styles.get(key)
        if hides is None:
            hides = self.walker.styles[key] = self.walker.hides(key.decode())
            self.walker.cached += len(key)
        return hides

    cdef start(self, xmlNode* node, Py_ssize_t tag, Kind kind):
        cdef Open element
        element.node = node
        element.is_container = kind != INLINE and kind != LINK
        element.outer = self.place
        element.is_marked = False
        if not element.is_container:
            if kind == LINK:
                element.is_marked = self.open_mark(self.link_mark())
            else:
                element.is_marked = self.open_mark(self.tag_table[tag].mark)
            if self.keep_attributes:
                self.attributes[self.place.container] += self.all_attributes(node)
        else:
            self.flush()
            self.enter(tag, self.place.container)
            if self.keep_attributes:
                self.attributes.append(self.all_attributes(node))
            self.breaks = 0
            if kind == ROW:
                self.rows += 1
                self.place.row = self.rows
            elif kind == ITEM:
                self.items += 1
                self.place.item = self.items
            elif kind == PREFORMATTED:
                self.place.preformatted = True
        self.open.push_back(element)

    cdef enter(self, Py_ssize_t number, Py_ssize_t parent):
        """Add a container, and go into it."""
        cdef _Step step = self.walker.top if parent < 0 else self.steps[parent]
        cdef Tag* tag = &self.tag_table[number]
        cdef Py_ssize_t last = tag.last
        cdef Container container
        if not step.full:
            step = self.step_below(step, self.tag_names[number])
        # *parent* is the innermost open container: those after it have been closed.
        while last >= 0 and self.containers[last].parent > parent:
            last = self.containers[last].before
        container.parent = parent
        container.position = 0
        container.before = last
        if last >= 0 and self.containers[last].parent == parent:
            container.position = self.containers[last].position + 1
            container.before = self.containers[last].before
        tag.last = self.place.container = self.containers.size()
        self.containers.push_back(container)
        self.steps.append(step)
        self.parents.append(parent)
        self.tags.append(self.tag_names[number])
        self.paths.append(step.path)
        self.positions.append(container.position)

    cdef _Step step_below(self, _Step above, str tag):
        cdef Walker walker = self.walker
        cdef object name = self.step_name(tag)
        cdef _Step step = None
        cdef str key
        if above.steps is None:
            above.steps = {}
        else:
            step = above.steps.get(name)
        if step is None:
            key = walker.keys.get(name)
            if key is None:
                key = walker.element_key(tag, *[self.values[i].decode() if self.values[i] is not NULL else "" for i in range(STEP_ATTRIBUTES)])
                walker.keys[name] = key
                walker.cached += len(name) + len(key)
            step = above.steps[name] = walker.new_step(above, key)
            walker.cached += len(name) + len(step.path)
        return step

    cdef object step_name(self, str tag):
        """Return what tells the element at hand from others: its tag alone, or with the attributes
        in its step.
        """
        cdef Py_ssize_t lengths[STEP_ATTRIBUTES]
        cdef Py_ssize_t tag_length, total = 0
        cdef const char* tag_bytes
        cdef char* to
        cdef bytes name
        cdef int i
        for i in range(STEP_ATTRIBUTES):
            lengths[i] = 0 if self.values[i] is NULL else strlen(self.values[i])
            total += lengths[i]
        if total == 0:
            return tag
        tag_bytes = PyUnicode_AsUTF8AndSize(tag, &tag_length)
        name = PyBytes_FromStringAndSize(NULL, tag_length + total + STEP_ATTRIBUTES)
        to = PyBytes_AS_STRING(name)
        memcpy(to, tag_bytes, tag_length)
        to += tag_length
        for i in range(STEP_ATTRIBUTES):
            to[0] = 0
            if lengths[i]:
                memcpy(to + 1, self.values[i], lengths[i])
            to += lengths[i] + 1
        return name

    # Marks.

    cdef Py_ssize_t link_mark(self) except -1:
        cdef const char* href = self.values[HREF]
        cdef Py_ssize_t length
        cdef str mark
        if href is NULL or href[0] == 0:
            return 0
        length = strlen(href)
        mark = PyUnicode_DecodeUTF8(href, length, NULL)
        if not (c" " < href[0] < 0x7F and c" " < href[length - 1] < 0x7F):
            mark = mark.strip()
        return self.mark_number(mark)

    cdef bint open_mark(self, Py_ssize_t number) except -1:
        cdef Mark mark
        if number == 0:
            return False
        mark.mark = number
        mark.part = self.parts
        mark.start = mark.end = self.end
        self.open_marks.push_back(mark)
        return True

    cdef int close_mark(self) except -1:
        cdef Mark mark = self.open_marks.back()
        self.open_marks.pop_back()
        if mark.part < self.parts:
            mark.end = self.end
            self.closed_marks.push_back(mark)
        return 0

    # Text.

    cdef int add_texts(self, xmlNode* node) except -1:
        """Add the text nodes from *node* on."""
        cdef Part part = Part(length=0, empty=True, blank=True, starts_with_space=False, ends_with_space=False, pending_space=False)
        while node is not NULL:
            if node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE:
                if node.content is not NULL:
                    self.extend(&part, <const char*>node.content)
            elif node.type != XML_XINCLUDE_START and node.type != XML_XINCLUDE_END:
                break
            node = node.next
        return self.end_part(&part)

    cdef int add(self, const char* text) except -1:
        cdef Part part = Part(length=0, empty=True, blank=True, starts_with_space=False, ends_with_space=False, pending_space=False)
        self.extend(&part, text)
        return self.end_part(&part)

    cdef int end_part(self, Part* part) except -1:
        if part.empty:
            return 0
        self.parts += 1
        if self.place.preformatted:
            self.end += part.length
        elif part.length:
            if self.end and (self.part_ended_with_space or part.starts_with_space):
                self.end += 1
            self.end += part.length
            self.part_ended_with_space = part.ends_with_space
        else:
            self.part_ended_with_space = True
        if not part.blank:
            self.breaks = 0
        return 0

    cdef int extend(self, Part* part, const char* source) except -1:
        """Add *source* to the run of text, as `clean_text` would, and count its characters in
        *part*.
        """
        cdef const unsigned char* at = <const unsigned char*>source
        cdef size_t needed = self.used + strlen(source) + 1  # and the space before it
        cdef bint preformatted = self.place.preformatted
        cdef bint pending = self.pending_space, part_pending = part.pending_space, space = False
        cdef Py_ssize_t length = part.length
        cdef bint blank = part.blank
        cdef char* start
        cdef char* to
        cdef uint32_t character
        cdef int size, i
        if at[0] == 0:
            return 0
        if needed > self.text.size():
            self.text.resize(2 * needed)
        start = self.text.data()
        to = start + self.used
        while at[0]:
            character = at[0]
            size = 1
            if character < 0x80:
                space = character == c" " or 9 <= character <= 13 or 0x1C <= character <= 0x1F
            else:
                size = decode(at, &character)
                if size == 0:
                    PyUnicode_DecodeUTF8(source, strlen(source), NULL)  # raises
                    raise ValueError("no UTF-8")
                space = Py_UNICODE_ISSPACE(character)
            if part.empty:
                part.empty = False
                part.starts_with_space = space
            if not space:
                blank = False
            if preformatted:
                length += 1
            elif space:
                pending = part_pending = True
                at += size
                continue
            elif character == 0xAD or character == 0x200B or character == 0x2060 or character == 0xFEFF:
                at += size
                continue
            else:
                if pending and to != start:
                    to[0] = c" "
                    to += 1
                if part_pending and length:
                    length += 1
                pending = part_pending = False
                length += 1
                if size == 1:  # the rest of a word, fast
                    while c" " < at[1] < 0x7F:
                        to[0] = at[0]
                        to += 1
                        at += 1
                        length += 1
            for i in range(size):
                to[i] = at[i]
            to += size
            at += size
        self.used = to - start
        self.pending_space = pending
        part.pending_space = part_pending
        part.length = length
        part.blank = blank
        part.ends_with_space = space
        return 0

    cdef int flush(self) except -1:
        """End the open run of text; it becomes a block if there is text in it."""
        cdef str text
        cdef size_t i
        if self.parts == 0:
            return 0
        if self.used:
            if self.place.preformatted:
                text = self.walker.clean_preformatted(PyUnicode_DecodeUTF8(self.text.data(), self.used, NULL))
                if text:
                    self.add_block(text)
            elif len(self.blocks) < self.max_blocks:
                self.add_block(PyUnicode_DecodeUTF8(self.text.data(), self.used, NULL))
            else:
                self.truncated = True
        self.used = self.parts = self.end = 0
        self.pending_space = self.part_ended_with_space = False
        self.closed_marks.clear()
        for i in range(self.open_marks.size()):
            self.open_marks[i].part = self.open_marks[i].start = 0
        return 0

    cdef int add_block(self, str text) except -1:
        cdef Py_ssize_t link_chars = 0, links = 0, bold_chars = 0, start, end
        cdef Py_ssize_t container = self.place.container
        cdef tuple spans = ()
        cdef list found
        cdef Block block
        cdef Mark mark
        cdef str name
        cdef size_t i
        if len(self.blocks) >= self.max_blocks:
            self.truncated = True
            return 0
        for i in range(self.open_marks.size()):
            mark = self.open_marks[i]
            if mark.part < self.parts:
                mark.end = self.end
                self.closed_marks.push_back(mark)
        if not self.closed_marks.empty():
            found = []
            for i in range(self.closed_marks.size()):
                mark = self.closed_marks[i]
                start, end = mark.start, min(mark.end, len(text))
                if start < end and text[start] == " ":
                    start += 1
                if start >= end:
                    continue
                name = self.marks[mark.mark]
                if name == self.walker.bold:
                    bold_chars += end - start
                    continue
                if name != self.walker.code:
                    link_chars += end - start
                    links += 1
                found.append((start, end, name))
            if found and not self.place.preformatted:
                if len(found) > 1:
                    found.sort()
                spans = tuple(found)
        block = Block.__new__(Block)
        block.text, block.path, block.tag, block.container = text, self.paths[container], self.tags[container], container
        block.link_chars, block.links, block.bold_chars = link_chars, links, bold_chars
        block.row, block.item, block.spans = self.place.row, self.place.item, spans
        self.blocks.append(block)
        return 0


cdef bint declares_attributes(xmlDtd* dtd) noexcept:
    return dtd is not NULL and dtd.attributes is not NULL


cdef int decode(const unsigned char* at, uint32_t* character) noexcept:
    """Read a character that is not ASCII, and return its bytes; 0: it is no UTF-8. No byte after a
    NUL is read.
    """
    cdef int size, i
    cdef uint32_t least, found
    if 0xC2 <= at[0] < 0xE0:
        size, least, found = 2, 0x80, at[0] & 0x1F
    elif 0xE0 <= at[0] < 0xF0:
        size, least, found = 3, 0x800, at[0] & 0x0F
    elif 0xF0 <= at[0] < 0xF5:
        size, least, found = 4, 0x10000, at[0] & 0x07
    else:
        return 0
    for i in range(1, size):
        if at[i] & 0xC0 != 0x80:
            return 0
        found = found << 6 | at[i] & 0x3F
    if found < least or found > 0x10FFFF or 0xD800 <= found < 0xE000:
        return 0
    character[0] = found
    return size
