# cython: language_level=3, wraparound=False, boundscheck=False
"""Cuts attributes that no page needs: libxml2 compares each of a tag with all before it."""

from libc.string cimport memchr

# 30,000 in one tag take seconds, and four times as long if they are twice as many.
cdef int MAX_ATTRIBUTES = 1_000
# Of all tags: each takes 200 bytes in a tree.
cdef Py_ssize_t MAX_ALL = 500_000

# Where in a tag a byte stands. A page can hide where its tags begin (in scripts, comments, values
# with quotes), so that each "<" with a letter after it is followed as if it began one, all at once:
# for each state the greatest number of attributes of any tag that could be in it.
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
    """Return *body*, HTML in an encoding that extends ASCII, with *probe* in place of the
    attributes after the first 1,000 of a tag, or 500,000 of all; nearly always it is the same
    object.

    Takes time proportional to its length. Parts of scripts and comments that look like such a tag
    are cut, too, but never across their end.
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
        if byte == 0:  # is taken out before the page is parsed
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
    """Tell whether an attribute begins with *byte*, in a tag that has *most* already."""
    cdef int kind = KINDS[byte]
    if kind == SPACE or kind == SLASH or kind == END:
        return False
    return counts[BEFORE] >= most or (counts[AFTER] >= most and kind != EQUALS)


cdef inline bint is_end(const unsigned char* at, const unsigned char* end) noexcept:
    """Tell whether the end of a script or of a comment may begin here."""
    if at[0] == c"<":
        return at + 1 < end and at[1] == c"/"
    if at[0] != c"-" or at + 2 >= end or at[1] != c"-":
        return False
    return at[2] == c">" or (at[2] == c"!" and at + 3 < end and at[3] == c">")


cdef inline void advance(int* counts, int kind) noexcept:
    """Go on by a byte of a *kind*."""
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
