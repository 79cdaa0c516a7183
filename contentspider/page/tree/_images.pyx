# cython: language_level=3, wraparound=False
# distutils: language = c++
"""Reads the pictures and films of a page, and assigns each to a block."""

cimport cython
from libc.string cimport strcmp, strncmp
from lxml.includes.tree cimport XML_ELEMENT_NODE, XML_TEXT_NODE, const_xmlChar, xmlAttr, xmlNode

from contentspider.page.tree._block cimport Block
from contentspider.page.tree._elements cimport attribute_of, is_called
from contentspider.page.tree._tree cimport Tree

import re

from contentspider.ground.addresses import MAX_ADDRESS_CHARS
from contentspider.page.tree.text import clean_text
from contentspider.page.tree.media import name_of, shown_at

# Attributes with the address of a picture that is loaded lazily; "src" is then a placeholder.
cdef list LATE_SETS = [b"data-srcset", b"data-lazy-srcset"]
cdef list LATE_SOURCES = [b"data-src", b"data-original", b"data-lazy-src"]
# Addresses that no file can be loaded from.
cdef tuple UNUSABLE = ("data:", "about:", "blob:", "javascript:", "#")
cdef tuple PAGE_SUFFIXES = (".html", ".htm")
cdef Py_ssize_t MAX_DESCRIPTION_CHARS = 2_000
cdef Py_ssize_t MAX_IMAGES = 1_000
# Smaller pictures (in pixels) are trackers or spacers. Without a description, pictures below the
# size of an icon are left out, too. Smaller frames are buttons.
cdef int MIN_SIZE = 4, MIN_ICON_SIZE = 33, MIN_FRAME_SIZE = 40, MAX_SIZE = 100_000
# A picture's placeholder is at most this many levels deep in the element before a ``noscript``.
cdef int MAX_LEVELS = 8
cdef object NO_SIZE = re.compile(r"(?:^|[;\s])(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|$)")
cdef list PLAYERS = [b"iframe", b"video", b"audio", b"source", b"embed"]
# Flash, which no browser plays any more.
cdef str FLASH = ".swf"


cdef tuple describe(xmlNode* node):
    """Return the address and description of a picture, and its width and height in the markup (0 if
    missing). None if the picture shows nothing, such as a tracker, or is the sign of a control.
    """
    cdef str description = attribute_of(node, "alt").strip()
    cdef int least = MIN_SIZE if description else MIN_ICON_SIZE
    cdef int width = pixels(attribute_of(node, "width").strip())
    cdef int height = pixels(attribute_of(node, "height").strip())
    cdef str address
    if 0 <= width < least or 0 <= height < least or is_sign(node):
        return None
    address = picture_address(node) or address_in_picture(node)
    if not 0 < len(address) <= MAX_ADDRESS_CHARS:
        return None
    return address, clean(description), max(width, 0), max(height, 0)


cdef bint is_sign(xmlNode* image) except -1:
    """Tell whether a picture is an icon in the label of a checkbox that opens a menu."""
    return is_called(image.parent, "label") and "icon" in attribute_of(image, "class")


cdef tuple describe_any(xmlNode* node):
    return describe(node) if is_called(node, "img") else describe_film(node)


cdef str picture_address(xmlNode* node):
    """Return the address of the largest picture of an ``img`` or ``source``."""
    cdef str address = ""
    if has_data(node):
        for name in LATE_SETS:
            address = address or largest_of(attribute_of(node, name))
        for name in LATE_SOURCES:
            address = address or usable(attribute_of(node, name))
    return address or largest_of(attribute_of(node, "srcset")) or usable(attribute_of(node, "src"))


cdef bint has_data(xmlNode* node) noexcept:
    cdef xmlAttr* attribute = node.properties
    while attribute is not NULL:
        if strncmp(<const char*>attribute.name, "data-", 5) == 0:
            return True
        attribute = attribute.next
    return False


cdef str usable(str address):
    """Return an address without white space around it, "" if it cannot be the address of a file."""
    address = address.strip()
    # An address with a brace is a template that no script has filled in. An empty address is that of
    # the page, which copies of sites write out.
    if address.startswith(UNUSABLE) or u"{" in address or address.lower().endswith(PAGE_SUFFIXES):
        return ""
    return address


cdef str largest_of(str candidates):
    """Return the address of the largest picture in a ``srcset``, "" if it has no usable address."""
    cdef str address, largest = ""
    cdef double size, most = 0
    cdef Py_ssize_t start, end, at = 0, length = len(candidates)
    while at < length:
        if candidates[at] == u"," or candidates[at].isspace():
            at += 1
            continue
        start = at
        while at < length and not candidates[at].isspace():
            at += 1
        end, size = at, 1
        # Commas at the end belong to the list, not to the address.
        while candidates[end - 1] == u",":
            end -= 1
        if end == at:
            size = size_at(candidates, at)
            while at < length and candidates[at] != u",":
                at += 1
        if size > most:
            address = usable(candidates[start:end])
            if address:
                largest, most = address, size
    return largest


cdef double size_at(str text, Py_ssize_t at) noexcept:
    """Return the number after white space at a place of a text, 1 without a number."""
    cdef double number = 0, unit = 0
    cdef Py_ssize_t length = len(text)
    while at < length and text[at].isspace():
        at += 1
    while at < length and (u"0" <= text[at] <= u"9" or text[at] == u"."):
        if text[at] == u".":
            unit = 1
        else:
            number = 10 * number + <int>text[at] - 48
            unit *= 10
        at += 1
    number = number / unit if unit else number
    return number if number else 1


cdef str address_in_picture(xmlNode* image):
    """Return the first address of a ``source`` in the ``picture`` around an *image*, or ""."""
    cdef xmlNode* node = image.parent
    cdef str address
    # The parser takes a source for unclosed, and puts the next elements into it.
    while is_called(node, "source"):
        node = node.parent
    if not is_called(node, "picture"):
        return ""
    node = node.children
    while node is not NULL:
        if is_called(node, "source"):
            address = picture_address(node)
            if address:
                return address
            node = node.children if node.children is not NULL else node.next
        else:
            node = node.next
    return ""


cdef tuple describe_film(xmlNode* node):
    """Return the address and title of a frame or player, None if it shows nothing.

    For an ``object`` with a picture, the same as by `describe` is returned.
    """
    cdef bint is_frame = is_called(node, "iframe"), is_audio = is_called(node, "audio")
    cdef int least = MIN_SIZE if is_audio or is_called(node, "video") else MIN_FRAME_SIZE
    cdef int width = pixels(attribute_of(node, "width").strip())
    cdef int height = pixels(attribute_of(node, "height").strip())
    cdef str address, title
    if 0 <= width < least or 0 <= height < least or NO_SIZE.search(attribute_of(node, "style")):
        return None
    address = film_address(node)
    if not 0 < len(address) <= MAX_ADDRESS_CHARS or address.partition("?")[0].endswith(FLASH):
        return None
    title = clean(attribute_of(node, "title")) or clean(attribute_of(node, "aria-label"))
    if attribute_of(node, "type").startswith("image/"):
        return address, title, max(width, 0), max(height, 0)
    return shown_at(address), title or name_of(address, not is_frame)


cdef str film_address(xmlNode* top):
    """Return the address of a frame or player, or of the first element in it that has one."""
    cdef xmlNode* node = top
    cdef str address = ""
    while True:
        if node.type == XML_ELEMENT_NODE:
            address = own_film_address(node)
            # The parser never closes an ``embed``: its seeming content stands after it.
            if address or is_called(top, "embed"):
                return address
            if node.children is not NULL:
                node = node.children
                continue
        while node != top and node.next is NULL:
            node = node.parent
        if node == top:
            return ""
        node = node.next


cdef str own_film_address(xmlNode* node):
    if is_called(node, "object"):
        return usable(attribute_of(node, "data"))
    if is_called(node, "param"):
        is_address = attribute_of(node, "name").lower() in ("movie", "src")
        return usable(attribute_of(node, "value")) if is_address else ""
    for name in PLAYERS:
        if is_called(node, name):
            return picture_address(node)
    return ""


cdef str clean(str text):
    if not text:
        return ""
    return clean_text(text[:2 * MAX_DESCRIPTION_CHARS])[:MAX_DESCRIPTION_CHARS]


cdef int pixels(str size) except -2:
    """Return a size in pixels, -1 without a number or with another unit."""
    cdef int number = 0
    cdef Py_UCS4 char
    if not size:
        return -1
    for char in size.removesuffix("px"):
        if not u"0" <= char <= u"9":
            return -1
        number = min(10 * number + <int>char - 48, MAX_SIZE)
    return number


cdef xmlNode* first_shown(xmlNode* top) noexcept:
    """Return the first picture or frame below an element, or NULL."""
    cdef xmlNode* node = top.children
    while node is not NULL:
        if is_called(node, "img") or is_called(node, "iframe"):
            return node
        if node.type == XML_ELEMENT_NODE and node.children is not NULL:
            node = node.children
            continue
        while node != top and node.next is NULL:
            node = node.parent
        if node == top:
            break
        node = node.next
    return NULL


cdef xmlNode* before(xmlNode* node) noexcept:
    """Return the element before a node, NULL if text stands between them."""
    cdef const char* at
    node = node.prev
    while node is not NULL and node.type != XML_ELEMENT_NODE:
        if node.type == XML_TEXT_NODE and node.content is not NULL:
            at = <const char*>node.content
            while at[0]:
                if not 0 < at[0] <= c" ":
                    return NULL
                at += 1
        node = node.prev
    return node


@cython.final
cdef class Pictures:
    """Assigns the pictures of a page to its *blocks*: each to the block that it stands in, or else
    to the nearest block in the *tree*.
    """

    def __cinit__(self, Tree tree, list blocks):
        self.tree, self.blocks, self.left = tree, blocks, MAX_IMAGES
        self.inside, self.alone = [], []

    cdef int add(self, xmlNode* node, Py_ssize_t chars) except -1:
        """Add a picture, frame or player after the first *chars* characters of the open run."""
        if self.left == 0:
            return 0
        cdef tuple shown = describe_any(node)
        self.latest, self.latest_is_added = node, shown is not None
        if shown is not None:
            self.left -= 1
            self.inside.append((chars, shown))
        return 0

    cdef int add_noscript(self, xmlNode* noscript, Py_ssize_t chars) except -1:
        """Add the picture or frame in a *noscript* in place of its placeholder. If no placeholder
        stands before the noscript, it is an advertisement or a tracker, and is ignored.
        """
        cdef xmlNode* node = first_shown(noscript)
        cdef tuple shown
        if self.left == 0 or node is NULL or not self.is_latest(before(noscript), node.name):
            return 0
        shown = describe_any(node)
        if shown is None:
            return 0
        if not self.latest_is_added:
            self.left -= 1
            self.inside.append((chars, shown))
        elif self.inside:
            chars, _ = self.inside.pop()
            self.inside.append((chars, shown))
        elif self.alone:
            container, _ = self.alone.pop()
            self.alone.append((container, shown))
        return 0

    cdef bint is_latest(self, xmlNode* around, const_xmlChar* name) noexcept:
        """Tell whether the last picture or frame has the tag *name* and is, or is within,
        *around*.
        """
        cdef xmlNode* node = self.latest
        cdef int levels
        if around is NULL or node is NULL or strcmp(<const char*>node.name, <const char*>name) != 0:
            return False
        for levels in range(MAX_LEVELS):
            if node is NULL or node == around:
                return node is not NULL
            node = node.parent
        return False

    cdef int leave(self, Py_ssize_t container) except -1:
        """End the open run of text. Its pictures that have no block stand alone in *container*."""
        cdef tuple shown
        if self.inside:
            for _, shown in self.inside:
                self.alone.append((container, shown))
            self.inside.clear()
        return 0

    cdef int place(self, Block block, Py_ssize_t container, bint preformatted) except -1:
        """Give a new *block* in *container* its pictures."""
        cdef Py_ssize_t chars
        cdef tuple shown
        if self.alone:
            self.share(block, container)
        if self.inside:
            for chars, shown in self.inside:
                # Places in preformatted text are not known: its blank lines were removed.
                chars = len(block.text) + 1 if preformatted else min(chars, len(block.text))
                give(block, chars, shown)
            self.inside.clear()
        self.last = container
        return 0

    cdef int share(self, Block block, Py_ssize_t following) except -1:
        """Give each picture that stands alone to the nearer of the last block and the new *block*
        in the container *following*. At the end of the page, *block* is None and *following* is -1.
        """
        cdef Py_ssize_t container
        cdef Block latest = self.blocks[len(self.blocks) - 1] if self.blocks else None
        cdef tuple shown
        for container, shown in self.alone:
            if latest is not None and (
                following < 0 or self.is_nearer(container, self.last, following)
            ):
                give(latest, len(latest.text) + 1, shown)
            elif block is not None:
                give(block, -1, shown)
        self.alone.clear()
        return 0

    cdef bint is_nearer(self, Py_ssize_t one, Py_ssize_t last, Py_ssize_t following) except -1:
        """Tell whether container *one* is nearer to the *last* than to the *following* container. A
        container in another figure, box, quote or list entry is never the nearer one.
        """
        cdef Py_ssize_t before = self.tree.shared(one, last)
        cdef Py_ssize_t behind = self.tree.shared(one, following)
        cdef bint is_apart_behind = self.tree.is_apart(following, behind)
        if self.tree.is_apart(last, before) != is_apart_behind:
            return is_apart_behind
        return before > behind


cdef int give(Block block, Py_ssize_t chars, tuple shown) except -1:
    """Add a picture or a film to a *block*. A film has no width and height."""
    if len(shown) == 2:
        block.films += ((chars, *shown),)
    else:
        block.images += ((chars, *shown),)
    return 0
