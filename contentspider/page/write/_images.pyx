# cython: language_level=3, wraparound=False
# distutils: language = c++
"""The pictures of a page: what each shows a reader, and the block that it stands by."""

cimport cython
from lxml.includes.tree cimport xmlNode

from contentspider.page.block._block cimport Block
from contentspider.page.tree._elements cimport attribute_of
from contentspider.page.tree._tree cimport Tree

from contentspider.ground.addresses import MAX_ADDRESS_CHARS
from contentspider.page.text import clean_text

# The first that is an address counts: pages that load their pictures late have others than "src".
cdef enum:
    FIRST_SET = 4, SOURCES = 6
cdef const char** SOURCE_NAMES = [
    "src", "data-src", "data-original", "data-lazy-src", "data-srcset", "srcset"
]
cdef Py_ssize_t MAX_DESCRIPTION_CHARS = 500
cdef Py_ssize_t MAX_IMAGES = 1_000
# Less wide or high than this, in pixels, pictures count visits, or fill gaps; without a description
# they are icons.
cdef int MIN_SIZE = 4, MIN_ICON_SIZE = 33, MAX_SIZE = 100_000


cdef tuple describe(xmlNode* node):
    """Return the address and the description of a picture, and its width and height as far as the
    markup says (else 0); None if it shows a reader nothing.
    """
    cdef str address = "", description = attribute_of(node, "alt").strip()
    cdef int i, least = MIN_SIZE if description else MIN_ICON_SIZE
    cdef int width = pixels(attribute_of(node, "width").strip())
    cdef int height = pixels(attribute_of(node, "height").strip())
    if 0 <= width < least or 0 <= height < least:
        return None
    for i in range(SOURCES):
        address = attribute_of(node, SOURCE_NAMES[i]).strip()
        if i >= FIRST_SET:
            address = address.partition(" ")[0].rstrip(",")
        if address and not address.startswith("data:"):
            break
    else:
        return None
    if len(address) > MAX_ADDRESS_CHARS:
        return None
    if description:
        description = clean_text(description[:2 * MAX_DESCRIPTION_CHARS])[:MAX_DESCRIPTION_CHARS]
    return address, description, max(width, 0), max(height, 0)


cdef int pixels(str size) except -2:
    """Return a number of pixels, -1 if there is none: per cent and other units are none."""
    cdef int number = 0
    cdef Py_UCS4 char
    if not size:
        return -1
    for char in size.removesuffix("px"):
        if not u"0" <= char <= u"9":
            return -1
        number = min(10 * number + <int>char - 48, MAX_SIZE)
    return number


@cython.final
cdef class Pictures:
    """A page's, in its order: the *blocks* that they stand in, or nearest to in its *tree*."""

    def __cinit__(self, Tree tree, list blocks):
        self.tree, self.blocks, self.left = tree, blocks, MAX_IMAGES
        self.inside, self.alone = [], []

    cdef int add(self, xmlNode* node, Py_ssize_t chars) except -1:
        """Add a picture behind so many *chars* of the open run of text."""
        if self.left == 0:
            return 0
        cdef tuple found = describe(node)
        if found is not None:
            self.left -= 1
            self.inside.append((chars, found))
        return 0

    cdef int leave(self, Py_ssize_t container) except -1:
        """End the open run: those in it that no block took stand alone in *container*."""
        cdef tuple found
        if self.inside:
            for _, found in self.inside:
                self.alone.append((container, found))
            self.inside.clear()
        return 0

    cdef int place(self, Block block, Py_ssize_t container, bint preformatted) except -1:
        """Give the new *block*, which stands in *container*, its pictures."""
        cdef Py_ssize_t chars
        cdef tuple found
        cdef list own
        if self.alone:
            block.images = tuple(self.share(container))
        if self.inside:
            own = []
            for chars, found in self.inside:
                # Blank lines of preformatted text were cut.
                chars = len(block.text) + 1 if preformatted else min(chars, len(block.text))
                own.append((chars, *found))
            block.images += tuple(own)
            self.inside.clear()
        self.last = container
        return 0

    cdef list share(self, Py_ssize_t following):
        """Give the pictures that stand alone to the latest block or, if they stand nearer to it, to
        the one that is made, in the container *following* (-1: none); return the latter.
        """
        cdef list before = [], after = []
        cdef Py_ssize_t container
        cdef Block block
        cdef tuple found
        for container, found in self.alone:
            if self.blocks and (
                following < 0
                or self.tree.shared(container, self.last) > self.tree.shared(container, following)
            ):
                block = self.blocks[len(self.blocks) - 1]
                after.append((len(block.text) + 1, *found))
            else:
                before.append((-1, *found))
        self.alone.clear()
        if after:
            block.images += tuple(after)
        return before
