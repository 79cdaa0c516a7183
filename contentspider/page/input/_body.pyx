# cython: language_level=3, wraparound=False, boundscheck=False
"""Removes excess attributes, since libxml2 compares each attribute of a tag with all before it."""

from libc.string cimport memchr

# Parsing a tag with 30,000 attributes takes seconds; the time grows with the square of the number.
cdef int MAX_ATTRIBUTES = 1_000
# The limit for all tags of a page; an attribute takes 200 bytes of memory in a tree.
cdef Py_ssize_t MAX_ALL = 500_000

# The states of a tag's parser. The real beginnings of tags are unknown, since scripts, comments and
# quoted values can contain "<", too. So each "<" before a letter is treated as the beginning of a
# tag, and all these tags are parsed at once: for each state, `counts` has the largest number of
# attributes of any tag in this state (NONE: no tag is in it).
cdef enum:
    NAME, BEFORE, ATTRIBUTE, AFTER, VALUE, DOUBLE_QUOTED, SINGLE_QUOTED, UNQUOTED, STATES
cdef enum:
    NONE = -1

cdef enum:
    OTHER, SPACE, SLASH, EQUALS, DOUBLE, SINGLE, END, NUL
cdef unsigned char KINDS[256]
for _byte in range(256):
    KINDS[_byte] = OTHER
for _byte in (9, 10, 12, 13, 32):
    KINDS[_byte] = SPACE
KINDS[c"/"], KINDS[c"="], KINDS[c'"'], KINDS[c"'"] = SLASH, EQUALS, DOUBLE, SINGLE
KINDS[c">"], KINDS[0] = END, NUL


def cut_attributes(bytes body not None, bytes probe not None):
    """Return *body* with *probe* in place of the attributes beyond 1,000 per tag and 500,000 in
    total. *body* is HTML in an encoding that extends ASCII.

    A body within the limits is returned itself, without a copy. Takes time proportional to the
    length. Parts of scripts and comments that look like such tags are cut, too, but the cut never
    includes the end of a script or comment.
    """
    cdef const unsigned char* at = body
    cdef const unsigned char* end = at + len(body)
    cdef const unsigned char* kept = at
    cdef int counts[STATES]
    cdef int i
    cdef Py_ssize_t total = 0
    cdef bint alive = False, after_less = False
    cdef unsigned char byte
    cdef list parts = []
    for i in range(STATES):
        counts[i] = NONE
    while at < end:
        if not alive and not after_less:
            at = <const unsigned char*>memchr(at, c"<", end - at)
            if at is NULL:
                break
        byte = at[0]
        if byte == 0:  # `parse` removes NUL bytes
            at += 1
            continue
        if alive:
            total += begins(counts, byte, 0)
            if begins(counts, byte, MAX_ATTRIBUTES if total <= MAX_ALL else 0) and not is_end(at, end):
                parts += [kept[:at - kept], probe]
                at += 1
                while at < end and at[0] != c"<" and at[0] != c">" and not is_end(at, end):
                    at += 1
                kept = at
                continue
            advance(counts, KINDS[byte])
        if after_less and (c"a" <= byte | 0x20 <= c"z"):
            counts[NAME] = max(counts[NAME], 0)
        after_less = byte == c"<"
        alive = False
        for i in range(STATES):
            if counts[i] != NONE:
                alive = True
        at += 1
        if alive and not after_less and counts[BEFORE] == counts[AFTER] == counts[VALUE] == NONE:
            while at < end and KINDS[at[0]] == OTHER and at[0] != c"<":  # the rest of a word
                at += 1
    if not parts:
        return body
    parts.append(kept[:<const unsigned char*>body + len(body) - kept])
    return b"".join(parts)


cdef inline bint begins(int* counts, unsigned char byte, int most) noexcept:
    """Tell whether *byte* begins an attribute in a tag that already has at least *most*."""
    cdef int kind = KINDS[byte]
    if kind == SPACE or kind == SLASH or kind == END:
        return False
    return counts[BEFORE] >= most or (counts[AFTER] >= most and kind != EQUALS)


cdef inline bint is_end(const unsigned char* at, const unsigned char* end) noexcept:
    """Tell whether the end of a script or comment may begin at *at*."""
    if at[0] == c"<":
        return at + 1 < end and at[1] == c"/"
    if at[0] != c"-" or at + 2 >= end or at[1] != c"-":
        return False
    return at[2] == c">" or (at[2] == c"!" and at + 3 < end and at[3] == c">")


cdef inline void advance(int* counts, int kind) noexcept:
    """Update the states of all tags for a byte of a *kind*."""
    cdef int name = counts[NAME], before = counts[BEFORE], attribute = counts[ATTRIBUTE]
    cdef int after = counts[AFTER], value = counts[VALUE], unquoted = counts[UNQUOTED]
    cdef int double = counts[DOUBLE_QUOTED], single = counts[SINGLE_QUOTED]
    cdef int i
    for i in range(STATES):
        counts[i] = NONE
    counts[DOUBLE_QUOTED], counts[SINGLE_QUOTED] = double, single
    if kind == DOUBLE:
        counts[DOUBLE_QUOTED], counts[BEFORE] = value, double
        value = NONE
    elif kind == SINGLE:
        counts[SINGLE_QUOTED], counts[BEFORE] = value, single
        value = NONE
    if kind == SPACE:
        counts[BEFORE] = max(name, before, unquoted)
        counts[AFTER] = max(attribute, after)
        counts[VALUE] = value
    elif kind == SLASH:
        counts[BEFORE] = max(name, before, max(attribute, after))
        counts[UNQUOTED] = max(value, unquoted)
    elif kind == EQUALS:
        counts[NAME] = name
        counts[ATTRIBUTE] = before + 1 if before != NONE else NONE
        counts[VALUE] = max(attribute, after)
        counts[UNQUOTED] = max(value, unquoted)
    elif kind != END:
        counts[NAME] = name
        after = max(before, after)
        counts[ATTRIBUTE] = max(attribute, after + 1 if after != NONE else NONE)
        counts[UNQUOTED] = max(value, unquoted)
