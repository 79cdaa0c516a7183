# cython: language_level=3, boundscheck=False, wraparound=False
# distutils: language = c++
"""Patterns asked only of texts that have what they begin with: a twentieth of their time."""

cimport cython


@cython.final
cdef class Beginnings:
    """What phrases begin with, as a tree of characters; all digits are zeros."""

    def __cinit__(self):
        cdef int index
        for index in range(128):
            self.ascii[index] = -1
        self.nodes.push_back(Node(char=0, child=-1, sibling=-1, ends=0, below=0))

    def add(self, str text not None, int kind):
        """Note that phrases of a *kind* may begin with *text*."""
        cdef int node = 0, found, digit
        cdef Py_UCS4 char
        for char in text:
            found = self.find(node, char)
            if found < 0:
                found = <int>self.nodes.size()
                self.nodes.push_back(
                    Node(char=char, child=-1, sibling=self.nodes[node].child, ends=0, below=0)
                )
                self.nodes[node].child = found
                self.nodes[node].below |= <uint64_t>1 << (<uint64_t>char & 63)
                if node == 0 and char < 128:
                    self.ascii[char] = found
                    if char == u"0":
                        for digit in range(c"1", c"9" + 1):
                            self.ascii[digit] = found
            node = found
        self.nodes[node].ends |= <uint64_t>1 << kind

    cdef inline int find(self, int node, Py_UCS4 char) noexcept:
        """Return the node to which a character leads, -1 if to none."""
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

    cdef uint64_t met(self, str text, Py_ssize_t index) noexcept:
        """Return the kinds of phrases that may begin at this place of *text*."""
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
    """Kinds of phrases: tells which of them a text has.

    *kinds* has for each a function that finds it (`re.Pattern.search`), what its phrases begin
    with, whether they stand only at a text's beginning (behind anything that is no letter or
    digit), and whether there behind a number, too.
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
        """Return a bit for each kind that *text* may have."""
        cdef Py_ssize_t index, size = len(text)
        cdef uint64_t found = self.anywhere.nodes[0].ends | self.first.nodes[0].ends
        cdef Py_UCS4 char
        for index in range(size):
            char = text[index]
            if char >= 128 or self.anywhere.ascii[char] >= 0:
                found |= self.anywhere.met(text, index)
        for index in range(size):
            found |= self.first.met(text, index)
            char = text[index]
            if char.isalnum() or char == u"_":
                if char.isdecimal():
                    while index < size and text[index].isdecimal():
                        index += 1
                    if index < size and text[index] == u" ":
                        found |= self.first.met(text, index + 1) & self.numbered
                break
        return found

    cpdef uint64_t kinds_in(self, str text) except? 0xFFFFFFFFFFFFFFFF:
        """Return a bit for each kind that *text*, in lower case, has."""
        cdef uint64_t found = 0, candidates = self.candidates(text)
        cdef int kind = 0
        while candidates:
            if candidates & 1 and self.searches[kind](text) is not None:
                found |= <uint64_t>1 << kind
            candidates >>= 1
            kind += 1
        return found
