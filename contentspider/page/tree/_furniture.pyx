# cython: language_level=3, wraparound=False
# distutils: language = c++
"""Recognises elements within a page's text that are not part of it: permalinks of headings, links
that edit a section, links back from footnotes, links that copy code, line numbers of code, the
names of its language, and decoration that screen readers skip (``aria-hidden``). Finds the anchors
of headings and the markers of footnotes.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport strchr, strcmp, strlen, strncmp, strstr
from lxml.includes.tree cimport XML_ELEMENT_NODE, XML_TEXT_NODE, xmlAttr, xmlNode

from contentspider.page.tree._elements cimport (
    ARIA_HIDDEN, BUTTON, CELL, CLASS, CONTAINER, HREF, ID, INLINE, LINK, NAME, ROLE, STYLE, Elements, Kind, attribute_of,
    first_child, is_called,
)

import re

from contentspider.page.tree.code import code_language
from contentspider.page.tree.tags import CONTROLS, EDIT_LINK, GUTTERS, PERMALINK, SHOWN_FORMULAS, SIGNS

# A permalink has at most this many characters. At most this many nodes below an element are read.
cdef Py_ssize_t MAX_SIGN_CHARS = 100
cdef int MAX_NODES = 60
# A button that opens a panel is nested in at most this many elements before the panel.
cdef int MAX_CONTROL_DEPTH = 4
# The line above code that a link copies or selects has at most this many characters.
cdef Py_ssize_t MAX_CAPTION_CHARS = 60
# A raised number after a shorter word may be an exponent ("km2").
cdef Py_ssize_t MIN_WORD_BEFORE_NOTE = 4
cdef object MARKER = re.compile(
    r"[\[(]?(?:\d{1,3}(?:\s*[,;]\s*\d{1,3})*|[a-z]|[ivx]{1,5}|[*†‡§]{1,3}|note \d{1,3})[\])]?\Z"
)
cdef tuple SENTENCE_SIGNS = tuple(".,;:!?”\"»")
cdef object NUMBERS = re.compile(r"\d{1,3}(?:\s*[,;]\s*\d{1,3})*\Z")
cdef object NOTE_NAME = re.compile(r"foot-?note|\bfn|noteref|cite_?ref|endnote", re.IGNORECASE)

# Classes for text that only screen readers present, as Bootstrap, WordPress and others name them.
cdef object UNSEEN = re.compile(
    r"sr-only|visually-?hidden|screen-?reader|show-for-sr|element-invisible|assistive",
    re.IGNORECASE )
# At most this many nodes stand between a formula that MathJax has rendered and its source.
cdef int MAX_BEFORE_SOURCE = 4

# Word gives this style to the marker of an entry in a list.
cdef const char* WORD_MARKER = "mso-list:Ignore"
# mdBook gives this class to lines of Rust that it hides: they only make an example compile.
cdef const char* UNSHOWN_LINE = "boring"
cdef Py_ssize_t MAX_LINE_NUMBER_CHARS = 6, MAX_GUTTER_CHARS = 20_000
# The language is looked for in the classes of a preformatted element, of the code in it, and of
# this many elements around it.
cdef int MAX_ABOVE_CODE = 5

# Classes of what copies code or names its language, and of the lines of code.
cdef object CODE_CONTROL = re.compile(
    r"(?:^|[\s_-])(?:lang|copy|copied|clipboard)|(?:copy|clipboard|lang)(?:$|[\s_-])|copyb(?:tn|utton)"
    r"|code-?lang",
    re.IGNORECASE,
)
# Prism's ``token inserted line`` is a part of one.
cdef object CODE_LINE = re.compile(
    r"(?!token\s)(?:.*\s)?(?:line|(?:token|code|view|cm)-line)(?:$|\s)", re.DOTALL
)
cdef Py_ssize_t MAX_CONTROL_CHARS = 30, MAX_BESIDE_CODE_BYTES = 120
cdef int MAX_AROUND_CONTROL = 5
# So many nodes before folded code are looked at, to find the checkbox that opens it.
cdef int MAX_BEHIND_BOX = 20
# The words of a heading are searched in this many bytes of a text.
cdef tuple BACK_SIGNS = ("↩", "⤴", "↵", "⬏", "↑", "^")
cdef tuple SHORT_LANGUAGES = ("c", "go", "js", "py", "r", "rb", "rs", "sh", "ts")
cdef Py_ssize_t MAX_BEFORE_BUTTON_BYTES = 1_000
cdef tuple CONTROL_ATTRIBUTES = (b"title", b"aria-label", b"aria-expanded", b"aria-controls")
# Links to the source of what a page describes, as rustdoc, Sphinx and pdoc write them.
cdef object SOURCE_LINK = re.compile(r"(?:^|\s)(?:src|srclink|viewcode-link|view-source-button)(?:$|\s)")
cdef object OWN_SOURCE = re.compile(r"srclink|viewcode-link|view-source-button")
# Signs that what a control opens is folded or not.
cdef frozenset FOLD_SIGNS = frozenset("+-−–—×✕✖▲▴▶▸►▼▾›»⌄⌃∨∧↓↑↕❯")
# The signs of boxes to check, which are drawn as text beside the real ones.
cdef frozenset BOX_SIGNS = frozenset("▢☐□◻⬜☑✓✔")

cdef dict GUTTER_ANSWERS = {}
cdef dict CONTROL_ANSWERS = {}
cdef Py_ssize_t MAX_ANSWERS = 10_000, MAX_CLASS_BYTES = 200


cdef bint is_furniture(
    xmlNode* node, Elements elements, Kind kind, xmlNode* heading, bint preformatted
) except -1:
    """Tell whether an inline element, a button or a cell is left out of the text.

    *elements* has read its attributes. *heading* is the heading around it, or NULL.
    """
    cdef const char* classes = elements.values[CLASS]
    if kind == CELL or preformatted:
        if classes is not NULL and is_gutter(classes) and not has_letters(node):
            return True
        if preformatted and is_unshown_code(node, kind, classes):
            return True
        if kind == CELL or kind == BUTTON:
            return kind == BUTTON
    elif names_language_of_next(node):
        return True
    if is_for_eyes_alone(elements) and text_without(node.parent, node):
        # Animated headings hide each letter from screen readers, and put the word into an
        # ``aria-label`` of the element around. That text is kept.
        return not attribute_of(node.parent, "aria-label")
    if kind == BUTTON and is_lone_control(node, heading):
        return True
    if kind == LINK:
        if acts_on_next_code(node, elements.values[HREF]):
            return True
        if classes is not NULL and is_source_link(node, classes):
            return True
        return is_permalink(node, elements.values[HREF], classes, heading)
    if is_called(node, "label") and text_below(node, 2) and is_box_sign(node):
        return True
    if is_fold_sign(node):
        return True
    if elements.values[STYLE] is not NULL and strstr(elements.values[STYLE], WORD_MARKER) is not NULL:
        return True
    return classes is not NULL and is_furniture_by_class(node, classes, heading)


cdef bint is_furniture_by_class(xmlNode* node, const char* classes, xmlNode* heading) except -1:
    """Tell whether the classes of an inline element say that it is left out of the text."""
    if is_source_link(node, classes) or repeats_kind(node, classes):
        return True
    if is_unseen(classes) and is_in_branch(node):
        return True
    if strcmp(classes, "ltx_note_mark") == 0:  # LaTeXML repeats it before the note
        return "ltx_note_content" in attribute_of(node.parent, "class")
    if strcmp(classes, "expanded") == 0:  # MyST: "Show code", "Hide code"
        return is_of_class(previous_element(node.prev), "collapsed")
    if strcmp(classes, "label") == 0 and "footnote" in attribute_of(node.parent, "class"):
        return note_of(node) == ""  # docutils: the number of a note that has several links back
    if strcmp(classes, "mw-cite-backlink") == 0:  # MediaWiki: "^ a b"
        return True
    if is_called(node.parent, "figcaption") and is_called(node.parent.parent, "figure"):
        if UNSEEN.search(classes.decode()) is not None:  # Expressive Code: "Terminal window"
            return code_in(node.parent.parent) is not NULL
    if heading is not NULL and EDIT_LINK.search(classes.decode()) is not None:
        return True
    return strstr(classes, "MathJax") is not NULL and is_shown_formula(node, classes)


cdef bint is_lone_control(xmlNode* button, xmlNode* heading) except -1:
    """Tell whether a button has a sign for its text, such as a cross, or stands after the words of a
    heading, which it may copy or fold. In "Press + to add", the sign belongs to the sentence if
    the button does not say what it does here.
    """
    if has_sign(button):
        for name in CONTROL_ATTRIBUTES:
            if attribute_of(button, name):
                return True
        return not (is_text_with_words(button.prev) and is_text_with_words(button.next))
    if heading is NULL or not text_below(button, MAX_CONTROL_CHARS):
        return False
    return has_words_before(button, heading)


cdef bint is_fold_sign(xmlNode* node) except -1:
    """Tell whether an element at the end of a control is the sign that something is folded."""
    cdef xmlNode* text = node.children
    if text is NULL or text.next is not NULL or text.type != XML_TEXT_NODE:
        return False
    if next_element(node.next) is not NULL or is_text_with_words(node.next):
        return False
    if (
        not is_called(node.parent, "button")
        and not is_called(node.parent, "summary")
        and not attribute_of(node.parent, "aria-expanded")
        and not is_called(node.parent.parent, "label")  # Hugo Book
    ):
        return False
    return text_below(node, 2) in FOLD_SIGNS and text_without(node.parent, node)


cdef bint has_sign(xmlNode* button) except -1:
    """Tell whether the text of a button is a sign."""
    cdef str text = text_below(button, MAX_CONTROL_CHARS)
    return bool(text) and not any([character.isalnum() for character in text])


cdef bint is_text_with_words(xmlNode* node) except -1:
    """Tell whether a node is text with letters, near its beginning."""
    cdef Py_ssize_t size
    if node is NULL or node.type != XML_TEXT_NODE or node.content is NULL:
        return False
    size = 0
    while size < MAX_BEFORE_BUTTON_BYTES and node.content[size]:
        size += 1
    text = (<const char*>node.content)[:size].decode("utf-8", "ignore")
    return any([character.isalpha() for character in text])


cdef bint has_words_before(xmlNode* button, xmlNode* heading) except -1:
    """Tell whether a heading begins with words, before a *button* in it. Numbers, signs and the
    texts of other buttons do not count: the heading's words may be those of the button.
    """
    cdef xmlNode* node = heading.children
    cdef int left = MAX_NODES
    while node is not NULL and node != button and left:
        if is_text_with_words(node):
            return True
        node = following(node, heading, node if is_called(node, "button") else NULL)
        left -= 1
    return False


cdef bint is_source_link(xmlNode* node, const char* classes) except -1:
    """Tell whether an element only leads to the source of what the page describes."""
    cdef xmlNode* around = node.parent
    if (
        strstr(classes, "src") is NULL
        and strstr(classes, "viewcode") is NULL
        and strstr(classes, "source") is NULL
    ):
        return False  # the common case
    if SOURCE_LINK.search(classes.decode()) is None:
        return False
    if is_called(around, "a"):
        around = around.parent
    text = text_below(node, MAX_CONTROL_CHARS)
    if text is None or not text_without(around, node):
        return False
    # Other pages than rustdoc's have this class for pictures and for those who made them.
    return OWN_SOURCE.search(classes.decode()) is not None or (
        is_called(node, "a") and text.strip("[] ").lower() in ("source", "src")
    )


cdef bint is_fold_label(xmlNode* node, const char* classes) noexcept:
    """Tell whether an element is a ``summary`` as rustdoc writes it where there is no title: its
    words ("Expand description") are shown only while the text is folded.
    """
    if classes is NULL or strstr(classes, "hideme") is NULL:
        return False
    return is_called(node, "summary")


cdef bint is_folded_source(xmlNode* node, const char* classes) except -1:
    """Tell whether an element is the source of a part of an API that pdoc's stylesheet hides until
    its checkbox is checked.
    """
    cdef xmlNode* box
    cdef int left = MAX_BEHIND_BOX
    if classes is NULL or strstr(classes, "pdoc-code") is NULL:
        return False
    box = node.prev
    while left and box is not NULL and not is_called(box, "input"):
        box = box.prev
        left -= 1
    return left > 0 and box is not NULL and "view-source-toggle-state" in attribute_of(box, "class")


cdef bint is_heading_of_notes(xmlNode* node, Elements elements) noexcept:
    """Tell whether an element is the heading that only screen readers present before the footnotes
    of a page (GitHub, remark).
    """
    cdef const char* classes = elements.values[CLASS]
    if classes is NULL or elements.values[ID] is NULL or strstr(classes, "sr-only") is NULL:
        return False
    return is_heading(node) and strcmp(elements.values[ID], "footnote-label") == 0


cdef bint is_unseen(const char* classes) noexcept:
    """Tell whether only screen readers present an element: no space parts its words from those that
    are seen.
    """
    return strstr(classes, "sr-only") is not NULL or strstr(classes, "visually-hidden") is not NULL


cdef bint is_of_class(xmlNode* node, const char* name) noexcept:
    """Tell whether *name* is the only class of an element, which may be NULL."""
    cdef xmlAttr* attribute = NULL
    if node is not NULL and node.type == XML_ELEMENT_NODE:
        attribute = node.properties
    while attribute is not NULL:
        if strcmp(<const char*>attribute.name, "class") == 0:
            node = attribute.children
            return node is not NULL and strcmp(<const char*>node.content, name) == 0
        attribute = attribute.next
    return False


cdef bint is_tree(xmlNode* details) noexcept:
    """Tell whether folded text is a branch of a tree, such as a folder: it stands alone in the entry
    of a list, and holds nothing but a list of others.
    """
    cdef xmlNode* summary
    cdef xmlNode* entries
    if not is_called(details, "details"):  # a summary may stand elsewhere
        return False
    if not is_called(details.parent, "li") or next_element(details.parent.children) != details:
        return False
    summary = next_element(details.children)
    if summary is NULL or not is_called(summary, "summary") or has_text_after(details):
        return False
    entries = next_element(summary.next)
    return (
        entries is not NULL
        and (is_called(entries, "ul") or is_called(entries, "ol"))
        and not has_text_after(entries)
    )


cdef bint is_in_branch(xmlNode* node) noexcept:
    """Tell whether an element stands beside the name of a branch of a tree: "Folder"."""
    cdef xmlNode* summary = node.parent
    cdef int left = MAX_CONTROL_DEPTH
    while left and summary is not NULL and not is_called(summary, "summary"):
        summary = summary.parent
        left -= 1
    return left > 0 and summary is not NULL and is_tree(summary.parent) and text_without(summary, node)


cdef bint is_tooltip(const char* classes) noexcept:
    """Tell whether an element explains a name in code when the mouse is over it; Doxygen's
    stylesheet hides it.
    """
    return classes is not NULL and strcmp(classes, "ttc") == 0


cdef bint repeats_kind(xmlNode* node, const char* classes) except -1:
    """Tell whether an element repeats the kind of a box for screen readers, before its title
    (Quarto).
    """
    if strstr(classes, "screen-reader-only") is NULL:
        return False
    return "callout-title" in attribute_of(node.parent, "class") and text_without(node.parent, node)


cdef bint is_box_sign(xmlNode* label) except -1:
    """Tell whether a label has nothing but the sign of a box to check."""
    cdef str text = text_below(label, 2)
    return text is not None and BOX_SIGNS.issuperset(text)


cdef bint is_panel(xmlNode* node) except -1:
    """Tell whether a reader can open a hidden element: right before it stands what opens it.

    That is a button, or an element with ``aria-expanded`` or ``aria-controls``, alone or within a
    heading or a line; or a heading that is one of a series with a hidden element after each.
    """
    cdef xmlNode* control = previous_element(node.prev)
    cdef xmlNode* next_control = next_element(node.next)
    cdef xmlNode* inner = control
    cdef int left = MAX_CONTROL_DEPTH
    while inner is not NULL and left:
        if is_called(inner, "button") or attribute_of(inner, "aria-expanded"):
            return True
        if attribute_of(inner, "aria-controls"):
            return True
        inner = next_element(inner.children)
        left -= 1
    if control is NULL or next_control is NULL:
        return False
    if not is_heading(control) and not is_called(control, "dt"):
        return False
    return strcmp(<const char*>next_control.name, <const char*>control.name) == 0


cdef bint is_for_eyes_alone(Elements elements) noexcept:
    """Tell whether screen readers skip the current element, or its text cannot be selected."""
    cdef const char* aria_hidden = elements.values[ARIA_HIDDEN]
    cdef const char* style = elements.values[STYLE]
    if aria_hidden is not NULL and strcmp(aria_hidden, "true") == 0:
        return True
    if style is NULL or strstr(style, "user-select") is NULL:
        return False
    return (
        strstr(style, "user-select:none") is not NULL
        or strstr(style, "user-select: none") is not NULL
    )


cdef bint is_unshown_code(xmlNode* node, Kind kind, const char* classes) except -1:
    """Tell whether an element in preformatted text is a hidden line (mdBook), or a cell with the
    number of the line in the next cell.
    """
    cdef str text
    if kind != CELL:
        return classes is not NULL and strcmp(classes, UNSHOWN_LINE) == 0
    if next_element(node.next) is NULL or next_element(node.parent.children) != node:
        return False
    text = text_below(node, MAX_LINE_NUMBER_CHARS)
    return text is not None and text.isdecimal()


cdef bint acts_on_next_code(xmlNode* link, const char* href) except -1:
    """Tell whether a link leads nowhere and ends a short line directly before code, which its
    script copies or selects.
    """
    cdef xmlNode* code
    if href is NULL or (strcmp(href, "#") != 0 and strncmp(href, "javascript:", 11) != 0):
        return False
    if text_below(link.parent, MAX_CAPTION_CHARS) is None or has_text_after(link):
        return False
    code = next_element(link.parent.next)
    if code is not NULL and not is_called(code, "pre"):
        code = next_element(code.children)
    # phpBB had ``code`` without ``pre``: <dl><dt>Code: <a>Select all</a></dt><dd><code>
    return code is not NULL and (is_called(code, "pre") or is_called(code, "code"))


cdef bint is_code_control(xmlNode* node, Elements elements, Kind kind) except -1:
    """Tell whether an element only copies, runs, names the language of code or numbers its lines:
    it is a button, or its class says so, and the code is almost all there is in an element around.
    """
    cdef xmlNode* around = node.parent
    cdef int left = MAX_AROUND_CONTROL
    if not may_be_code_control(node, elements, kind):
        return False
    if text_below(node, MAX_CONTROL_CHARS) is None or has_code(node):
        return False  # code in a line may be the name of the file
    if is_head_of_code(around):
        return True
    while left and around is not NULL and around.type == XML_ELEMENT_NODE:
        if is_called(around, "body"):
            break
        if code_in(around) is not NULL:
            return is_only_code(around)
        around = around.parent
        left -= 1
    return False


cdef bint is_head_of_code(xmlNode* top) except -1:
    """Tell whether an element has no text of its own, and code follows it: a bar with controls."""
    cdef xmlNode* node
    cdef xmlNode* code
    if not is_called(top, "div"):
        return False
    node, code = top.children, next_element(top.next)
    if code is NULL or not is_called(code, "pre"):
        return False
    if text_below(top, MAX_CAPTION_CHARS) is None:  # it may have many children
        return False
    while node is not NULL:
        if node.type == XML_TEXT_NODE and node.content is not NULL and (
            (<const char*>node.content).strip()
        ):
            return False
        node = node.next
    return True


cdef bint may_be_code_control(xmlNode* node, Elements elements, Kind kind) except -1:
    """Tell whether an element is a button, or its class names a control of code."""
    cdef const char* classes = elements.values[CLASS]
    cdef const char* role = elements.values[ROLE]
    if kind == BUTTON:
        if attribute_of(node, "aria-expanded"):
            return False  # its words are the title of what it opens
        return role is NULL or strcmp(role, "tab") != 0
    if classes is NULL or (kind != LINK and kind != INLINE and kind != CONTAINER):
        return False
    if (
        strstr(classes, "lang") is not NULL
        or strstr(classes, "cop") is not NULL
        or strstr(classes, "Cop") is not NULL
        or strstr(classes, "clip") is not NULL
    ):
        return CODE_CONTROL.search(classes.decode()) is not None
    if kind != CONTAINER or strstr(classes, "line-number") is NULL:
        return False
    return is_gutter(classes) and not has_letters(node)


cdef xmlNode* code_in(xmlNode* top) noexcept:
    """Return the first code below an element, NULL if there is none among its first nodes."""
    cdef xmlNode* node = top.children
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if is_called(node, "pre"):
            return node
        node = following(node, top, NULL)
        left -= 1
    return NULL


cdef bint has_code(xmlNode* top) noexcept:
    """Tell whether there is code below an element, as a block or in a line."""
    cdef xmlNode* node = top.children
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if is_called(node, "pre") or is_called(node, "code"):
            return True
        node = following(node, top, NULL)
        left -= 1
    return False


cdef bint names_part_of_api(xmlNode* term) except -1:
    """Tell whether a term has the name of a part of an API, as Sphinx marked it up to version 3."""
    cdef xmlNode* node = term.children
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if node.type == XML_ELEMENT_NODE:
            names = attribute_of(node, "class").split()
            if "descname" in names or "sig-name" in names:
                return True
        node = following(node, term, NULL)
        left -= 1
    return False


cdef str word_marker(xmlNode* entry):
    """Return the text of the marker that Word puts before the entry of a list, "" if it has none."""
    cdef xmlNode* node = entry.children
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if node.type == XML_ELEMENT_NODE and WORD_MARKER in attribute_of(node, "style").encode():
            return text_below(node, MAX_SIGN_CHARS) or ""
        node = following(node, entry, NULL)
        left -= 1
    return ""


cdef bint is_whole_text(xmlNode* node) noexcept:
    """Tell whether an element has all text of the article or main element around it."""
    cdef xmlNode* around = node.parent
    if not is_called(around, "article") and not is_called(around, "main"):
        return False
    return not text_without(around, node)


cdef bint is_only_code(xmlNode* top) noexcept:
    """Tell whether there is hardly any text below an element outside of code."""
    cdef xmlNode* node = top.children
    cdef xmlNode* code = NULL
    cdef const char* at
    cdef Py_ssize_t size = 0
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if is_called(node, "pre"):
            code = node
        elif node.type == XML_TEXT_NODE and node.content is not NULL:
            at = <const char*>node.content
            while at[0] and size <= MAX_BESIDE_CODE_BYTES:
                size += at[0] < 0 or at[0] > c" "
                at += 1
        node = following(node, top, code)
        left -= 1
    return left > 0 and size <= MAX_BESIDE_CODE_BYTES


cdef bint is_block_of_code(xmlNode* node) except -1:
    """Tell whether ``code`` without ``pre`` has lines, and is all text of the element around."""
    cdef xmlNode* inner = node.children
    cdef int left = MAX_NODES
    if not is_called(node, "code") or not (
        is_called(node.parent, "div") or is_called(node.parent, "dd")
    ):
        return False
    while inner is not NULL and left and not is_called(inner, "br"):
        inner = following(inner, node, NULL)
        left -= 1
    return inner is not NULL and left > 0 and not text_without(node.parent, node)


cdef bint is_code_line(const char* classes, const char* style) except -1:
    """Tell whether an element within code is a line of its own."""
    if style is not NULL and (
        strstr(style, "display:block") is not NULL or strstr(style, "display: block") is not NULL
    ):
        return True
    if classes is NULL or strstr(classes, "line") is NULL:
        return False
    return CODE_LINE.match(classes.decode()) is not None


cdef bint has_heading(xmlNode* top) noexcept:
    """Tell whether an element has a heading in it."""
    cdef xmlNode* node = top.children
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if is_heading(node):
            return True
        node = following(node, top, NULL)
        left -= 1
    return False


cdef bint has_text_after(xmlNode* node) noexcept:
    """Tell whether an element or a text, other than spaces, follows a node in its parent."""
    cdef const char* at
    node = node.next
    while node is not NULL:
        if node.type == XML_ELEMENT_NODE:
            return True
        if node.type == XML_TEXT_NODE and node.content is not NULL:
            at = <const char*>node.content
            while 0 < at[0] <= c" ":
                at += 1
            if at[0] != 0:
                return True
        node = node.next
    return False


cdef bint names_language_of_next(xmlNode* node) except -1:
    """Tell whether a ``span`` only repeats the language of the code directly after it."""
    cdef xmlNode* code
    if not is_called(node, "span"):
        return False
    code = next_element(node.next)
    if code is NULL or not is_called(code, "pre"):
        return False
    text = text_below(node, MAX_SIGN_CHARS)
    return bool(text) and text.lower() == language_of(code)


cdef xmlNode* previous_element(xmlNode* node) noexcept:
    while node is not NULL and node.type != XML_ELEMENT_NODE:
        node = node.prev
    return node


cdef xmlNode* next_element(xmlNode* node) noexcept:
    """Return a node or the first element among its next siblings, NULL if text comes before it."""
    cdef const char* at
    while node is not NULL and node.type != XML_ELEMENT_NODE:
        if node.type == XML_TEXT_NODE and node.content is not NULL:
            at = <const char*>node.content
            while 0 < at[0] <= c" ":
                at += 1
            if at[0] != 0:
                return NULL
        node = node.next
    return node


cdef str language_of(xmlNode* preformatted):
    """Return the language of code according to its markup, "" if the markup does not name it."""
    cdef list classes = names_of(preformatted)
    cdef xmlNode* node = first_child(preformatted, "code")
    cdef int left = MAX_ABOVE_CODE
    if node is not NULL:
        classes += names_of(node)
    node = preformatted.parent
    while left and node is not NULL and node.type == XML_ELEMENT_NODE:
        if is_called(node, "body"):
            break
        classes += names_of(node)
        node = node.parent
        left -= 1
    # Confluence, and GitHub's and GitLab's Markdown. A code of two letters may be a human language.
    classes.append(attribute_of(preformatted, "data-syntaxhighlighter-params"))
    # Mintlify has an attribute of its own.
    language = attribute_of(preformatted, "lang") or attribute_of(preformatted, "language")
    if len(language) > 2 or language in SHORT_LANGUAGES:
        classes.append("language-" + language)
    return code_language(classes)


cdef list names_of(xmlNode* node):
    cdef str language = (
        attribute_of(node, "data-lang")
        or attribute_of(node, "data-language")
        or attribute_of(node, "data-syntax")  # DocC
    )
    cdef list names = ["language-" + language.strip().lower()] if language else []
    names.append(attribute_of(node, "class"))
    return names


cdef bint is_gutter(const char* classes) except -1:
    """Tell whether one of the classes marks line numbers."""
    return has_one_of(classes, GUTTERS, GUTTER_ANSWERS)


cdef bint is_control(const char* classes) except -1:
    """Tell whether one of the classes marks a control, or what is hidden (`CONTROLS`)."""
    return has_one_of(classes, CONTROLS, CONTROL_ANSWERS)


cdef bint has_one_of(const char* classes, frozenset names, dict answers) except -1:
    """Tell whether one of the classes is among the *names*. The *answers* are cached."""
    cdef bytes key = classes
    answer = answers.get(key)
    if answer is None:
        answer = not names.isdisjoint(key.decode("utf-8", "replace").split())
        if len(key) < MAX_CLASS_BYTES and len(answers) < MAX_ANSWERS:
            answers[key] = answer
    return answer


cdef bint is_gutter_of_code(xmlNode* cell) except -1:
    """Tell whether a cell has the numbers of the lines of code in the next cell, without a class
    that says so (Hugo, YARD): ``<td><pre>1 2 3</pre></td><td><pre>..</pre></td>``.
    """
    cdef xmlNode* numbers = next_element(cell.children)
    cdef xmlNode* code = next_element(cell.next)
    if not is_called(cell.parent, "tr"):
        return False
    if numbers is NULL or not is_called(numbers, "pre") or code is NULL or has_text_after(numbers):
        return False
    if previous_element(cell.parent.prev) is not NULL or next_element(cell.parent.next) is not NULL:
        return False  # a row of data
    code = next_element(code.children)
    while code is not NULL and is_called(code, "div"):
        code = next_element(code.children)
    if code is NULL or not is_called(code, "pre"):
        return False
    text = text_below(numbers, MAX_GUTTER_CHARS)
    if text is None or not text.strip():
        return False
    lines = text.split()
    if len(lines) == 1 and lines != ["1"]:
        return False  # numbers may be parted by other elements
    if not all([line.isdecimal() and len(line) <= MAX_LINE_NUMBER_CHARS for line in lines]):
        return False
    return [int(line) for line in lines] == list(range(int(lines[0]), int(lines[0]) + len(lines)))


cdef bint is_shown_formula(xmlNode* node, const char* classes) except -1:
    """Tell whether an element is a formula that MathJax has rendered from the script after it."""
    cdef int left = MAX_BEFORE_SOURCE
    if SHOWN_FORMULAS.isdisjoint(classes.decode().split()):
        return False
    node = node.next
    while node is not NULL and left:
        if is_called(node, "script"):
            return attribute_of(node, "type").startswith("math/")
        node = node.next
        left -= 1
    return False


cdef bint is_permalink(
    xmlNode* link, const char* href, const char* classes, xmlNode* heading
) except -1:
    """Tell whether a link is only a permalink of the heading that it stands in or next to, or a
    bare sign that links to a place on its own page.
    """
    cdef const char* fragment
    cdef str text
    cdef Py_UCS4 char
    if href is NULL or (heading is NULL and href[0] != c"#"):
        return False
    fragment = strchr(href, c"#")
    if fragment is NULL:
        return (  # a permalink of the whole page, in its title
            classes is not NULL
            and PERMALINK.search(classes.decode()) is not None
            and has_unseen_words(link)
            and text_without(heading, link)
        )
    text = text_below(link, MAX_SIGN_CHARS)
    if text is None:
        return False
    if heading is NULL:
        if is_beside_its_heading(link, fragment + 1):
            return True
        if text[:1] in BACK_SIGNS:  # the second link back of a note: "↩2"
            text = text.rstrip("0123456789")
        return bool(text) and not has_picture(link) and SIGNS.issuperset(text)
    if href[0] != c"#" and not leads_to(fragment + 1, heading):
        return False
    if not text_without(heading, link):
        return False
    for char in text:
        if char.isalnum():
            return is_named_permalink(link, classes)
    return True  # the link has only signs or a picture


cdef bint is_named_permalink(xmlNode* link, const char* classes) except -1:
    """Tell whether a link with words is a permalink: its class says so, or only screen readers
    present the words. Otherwise the words belong to the heading.
    """
    if classes is not NULL and PERMALINK.search(classes.decode()) is not None:
        return True
    return has_unseen_words(link)


cdef bint has_unseen_words(xmlNode* link) except -1:
    """Tell whether a link or an element in it is presented by screen readers only."""
    cdef xmlNode* node = link
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if node.type == XML_ELEMENT_NODE and UNSEEN.search(attribute_of(node, "class")) is not None:
            return True
        node = following(node, link, NULL)
        left -= 1
    return False


cdef bint links_own_heading(xmlNode* link, const char* href, xmlNode* heading) except -1:
    """Tell whether the words of a link are the words of its *heading*: the link leads to the
    heading, or back to a list of contents, or is the whole heading and leads to a place on the same
    page.
    """
    cdef const char* fragment = strchr(href, c"#")
    if fragment is NULL:
        return False
    if attribute_of(link, "role") == "doc-backlink":
        return True
    if leads_to(fragment + 1, heading) or leads_to(fragment + 1, link):
        return True
    return href[0] == c"#" and not text_without(heading, link)


cdef bint leads_to(const char* fragment, xmlNode* node) except -1:
    """Tell whether a fragment is the id or name of an element, or the id of its parent."""
    cdef str id_ = PyUnicode_DecodeUTF8(fragment, strlen(fragment), NULL)
    if not id_:
        return False
    if attribute_of(node, "id") == id_ or attribute_of(node, "name") == id_:
        return True
    return (
        node.parent is not NULL
        and node.parent.type == XML_ELEMENT_NODE
        and attribute_of(node.parent, "id") == id_
    )


cdef bint is_beside_its_heading(xmlNode* link, const char* fragment) except -1:
    """Tell whether a link stands directly before or after the heading that it leads to."""
    cdef xmlNode* node
    cdef bint is_before
    for is_before in (True, False):
        node = link.prev if is_before else link.next
        while node is not NULL and node.type != XML_ELEMENT_NODE:
            node = node.prev if is_before else node.next
        if node is not NULL and is_heading(node):
            if attribute_of(node, "id") == PyUnicode_DecodeUTF8(fragment, strlen(fragment), NULL):
                return True
    return False


cdef bint is_heading(xmlNode* node) noexcept:
    cdef const char* name = <const char*>node.name
    return (
        node.type == XML_ELEMENT_NODE
        and name[0] == c"h" and c"1" <= name[1] <= c"6" and name[2] == 0
    )


cdef bint has_picture(xmlNode* top) noexcept:
    cdef xmlNode* node = top.children
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if is_called(node, "img"):
            return True
        node = following(node, top, NULL)
        left -= 1
    return False


cdef xmlNode* following(xmlNode* node, xmlNode* top, xmlNode* without) noexcept:
    """Return the next node below *top* in document order, skipping the nodes in *without*; NULL at
    the end.
    """
    if node.type == XML_ELEMENT_NODE and node.children is not NULL and node != without:
        return node.children
    if node == top:
        return NULL
    while node.next is NULL:
        node = node.parent
        if node == top:
            return NULL
    return node.next


cdef bint has_letters(xmlNode* top) noexcept:
    """Tell whether the text below an element has a letter."""
    cdef xmlNode* node = top.children
    cdef const char* at
    while node is not NULL:
        if node.type == XML_TEXT_NODE and node.content is not NULL:
            at = <const char*>node.content
            while at[0]:
                if <unsigned char>at[0] >= 0x80 or c"a" <= at[0] | 32 <= c"z":
                    return True
                at += 1
        node = following(node, top, NULL)
    return False


cdef str text_below(xmlNode* top, Py_ssize_t most):
    """Return the stripped text below an element, None if it is longer than *most* characters or has
    too many nodes.
    """
    cdef xmlNode* node = top.children
    cdef int left = MAX_NODES
    cdef list texts = []
    cdef Py_ssize_t chars = 0
    while node is not NULL:
        if left == 0 or chars > most:
            return None
        if node.type == XML_TEXT_NODE and node.content is not NULL:
            text = (<const char*>node.content).decode()
            chars += len(text)
            texts.append(text)
        node = following(node, top, NULL)
        left -= 1
    return None if chars > most else "".join(texts).strip()


cdef bint text_without(xmlNode* top, xmlNode* without) noexcept:
    """Tell whether an element has text outside of *without*, an element within it."""
    cdef xmlNode* node = top.children
    cdef int left = MAX_NODES
    cdef const char* at
    while node is not NULL and left:
        if node.type == XML_TEXT_NODE and node.content is not NULL:
            at = <const char*>node.content
            while at[0]:
                if at[0] < 0 or at[0] > c" ":
                    return True
                at += 1
        node = following(node, top, without)
        left -= 1
    return left == 0


cdef str anchor_of(xmlNode* heading):
    """Return the fragment that leads to a heading, "" if it has none. It is the heading's id, the
    id of an element in it, the target of its permalink, or the id of the section that it begins.
    """
    cdef str anchor = attribute_of(heading, "id")
    cdef xmlNode* node = heading.children
    cdef int left = MAX_NODES
    while not anchor and node is not NULL and left:
        if node.type == XML_ELEMENT_NODE:
            anchor = attribute_of(node, "id")
            if not anchor and is_called(node, "a"):
                anchor = attribute_of(node, "name")
                if not anchor and attribute_of(node, "href").startswith("#"):
                    anchor = attribute_of(node, "href")[1:]
        node = following(node, heading, NULL)
        left -= 1
    if anchor:
        return anchor.strip()
    node = heading.prev
    while node is not NULL and node.type != XML_ELEMENT_NODE:
        node = node.prev
    if node is not NULL:
        # An empty <a> before the heading is its anchor.
        if node.children is NULL and is_called(node, "a"):
            return (attribute_of(node, "id") or attribute_of(node, "name")).strip()
        return ""
    node = heading.parent
    if node is NULL or node.type != XML_ELEMENT_NODE or is_called(node, "body"):
        return ""
    return attribute_of(node, "id").strip()


cdef bint is_note_marker(xmlNode* node, Elements elements, Kind kind) except -1:
    """Tell whether a ``sup`` or link is the marker of a footnote: a number or sign that links to a
    place on the page, or a raised number after a word.
    """
    cdef const char* href = elements.values[HREF]
    cdef str text
    if kind == LINK:
        if href is NULL or href[0] != c"#" or href[1] == 0:
            return False
        text = text_below(node, 12)
        if not text or MARKER.match(text) is None:
            return False
        if text[0] == u"[" or is_called(node.parent, "sup") or has_superscript(node):
            return True
        names = f"{attribute_of(node, 'class')} {attribute_of(node, 'role')} {href.decode()}"
        return NOTE_NAME.search(names) is not None
    text = text_below(node, 12)
    if not text:
        return False
    if note_of(node):
        return MARKER.match(text) is not None
    return NUMBERS.match(text) is not None and stands_behind_word(node)


cdef bint has_superscript(xmlNode* link) noexcept:
    cdef xmlNode* node = link.children
    while node is not NULL:
        if is_called(node, "sup"):
            return True
        node = node.next
    return False


cdef bint stands_behind_word(xmlNode* node) except -1:
    """Tell whether a word that is too long for a unit of measure ends directly before a node."""
    cdef str text
    cdef Py_ssize_t index
    if node.prev is NULL or node.prev.type != XML_TEXT_NODE or node.prev.content is NULL:
        return False
    text = (<const char*>node.prev.content).decode()[-MIN_WORD_BEFORE_NOTE:]
    if len(text) < MIN_WORD_BEFORE_NOTE:
        return False
    return text.isalpha() or text.endswith(SENTENCE_SIGNS)


cdef str note_of(xmlNode* marker):
    """Return the id on the same page that a marker, or the first link in it, leads to; "" for
    none.
    """
    cdef xmlNode* node = marker
    cdef int left = MAX_NODES
    while node is not NULL and left:
        if is_called(node, "a"):
            href = attribute_of(node, "href")
            return href[1:] if href.startswith("#") else ""
        node = following(node, marker, NULL)
        left -= 1
    return ""
