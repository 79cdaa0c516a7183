# cython: language_level=3, boundscheck=False, wraparound=False
# distutils: language = c++
"""Searches texts for many patterns at once.

A pattern only runs on texts that contain the beginning of one of its phrases, which takes a
twentieth of the time.
"""

cimport cython


@cython.final
cdef class Beginnings:
    """The beginnings of phrases as a tree of characters, with zeros for all digits."""

    def __cinit__(self):
        cdef int index
        for index in range(128):
            self.ascii[index] = -1
        self.nodes.push_back(Node(char=0, child=-1, sibling=-1, ends=0, below=0))

    def add(self, str text not None, int kind):
        """Add *text* as a beginning of phrases of the *kind*."""
        cdef int node = 0, child, digit
        cdef Py_UCS4 char
        for char in text:
            child = self.find(node, char)
            if child < 0:
                child = <int>self.nodes.size()
                self.nodes.push_back(
                    Node(char=char, child=-1, sibling=self.nodes[node].child, ends=0, below=0)
                )
                self.nodes[node].child = child
                self.nodes[node].below |= <uint64_t>1 << (<uint64_t>char & 63)
                if node == 0 and char < 128:
                    self.ascii[char] = child
                    if char == u"0":
                        for digit in range(c"1", c"9" + 1):
                            self.ascii[digit] = child
            node = child
        self.nodes[node].ends |= <uint64_t>1 << kind

    cdef inline int find(self, int node, Py_UCS4 char) noexcept:
        """Return the child of *node* for a character, -1 if it has none."""
        if char < 128:
            if u"0" < char <= u"9":
                char = u"0"
            if node == 0:
                return self.ascii[char]
        elif char.isdecimal():
            char = u"0"
        if not self.nodes[node].below >> (<uint64_t>char & 63) & 1:
            return -1
        node = self.nodes[node].child
        while node >= 0 and self.nodes[node].char != char:
            node = self.nodes[node].sibling
        return node

    cdef uint64_t kinds_at(self, str text, Py_ssize_t index) noexcept:
        """Return a bit for each kind of phrase that may begin at *index* of *text*."""
        cdef uint64_t kinds = self.nodes[0].ends
        cdef int node = 0
        while index < len(text):
            node = self.find(node, text[index])
            if node < 0:
                break
            kinds |= self.nodes[node].ends
            index += 1
        return kinds


@cython.final
cdef class Phrases:
    """Finds the kinds of phrases that a text contains.

    *kinds* has four values for each kind: a function that searches for it (`re.Pattern.search`),
    the beginnings of its phrases, whether they must be at the beginning of the text (after
    punctuation at most), and whether a number may come before them there.
    """

    def __init__(self, kinds):
        self.searches, self.numbered = [], 0
        self.anywhere, self.first = Beginnings(), Beginnings()
        for kind, (search, beginnings, begins_text, after_a_number) in enumerate(kinds):
            self.searches.append(search)
            if after_a_number:
                self.numbered |= <uint64_t>1 << <int>kind
            for beginning in beginnings:
                (self.first if begins_text else self.anywhere).add(beginning, kind)
        self.kinds = len(self.searches)
        if self.kinds > 64:
            raise ValueError(f"{self.kinds} kinds of phrases are more than 64")

    cdef uint64_t candidates(self, str text) noexcept:
        """Return a bit for each kind that *text* may contain, judged by the beginnings of phrases."""
        cdef Py_ssize_t index, size = len(text)
        cdef uint64_t kinds = self.anywhere.nodes[0].ends | self.first.nodes[0].ends
        cdef Py_UCS4 char
        for index in range(size):
            char = text[index]
            if char >= 128 or self.anywhere.ascii[char] >= 0:
                kinds |= self.anywhere.kinds_at(text, index)
        for index in range(size):
            kinds |= self.first.kinds_at(text, index)
            char = text[index]
            if char.isalnum() or char == u"_":
                if char.isdecimal():
                    while index < size and text[index].isdecimal():
                        index += 1
                    if index < size and text[index] == u" ":
                        kinds |= self.first.kinds_at(text, index + 1) & self.numbered
                break
        return kinds

    cpdef uint64_t kinds_in(self, str text) except? 0xFFFFFFFFFFFFFFFF:
        """Return a bit for each kind that *text*, which must be in lower case, contains."""
        cdef uint64_t kinds = 0, candidates = self.candidates(text)
        cdef int kind = 0
        while candidates:
            if candidates & 1 and self.searches[kind](text) is not None:
                kinds |= <uint64_t>1 << kind
            candidates >>= 1
            kind += 1
        return kinds
