# cython: language_level=3, wraparound=False
"""Selector paths, a step an element; they are kept across pages, which share most of them."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.string cimport memcpy, strlen, strncmp

# What stands before the names in each attribute, and between them.
cdef const char* BEFORE = "#.[["
cdef const char* BETWEEN = "-.--"


@cython.final
@cython.no_gc  # no step leads back up; the collector need not look at thousands of them
cdef class Step:
    """A path, and the paths that are one step longer.

    *path* is None until `Paths.path` was asked for it: most elements of a hostile page have no
    text, and a path of their own. *full* tells that longer paths say nothing more.
    """


@cython.final
cdef class Paths:
    """The paths that were seen; *element_key* makes an element's step of its tag and attributes."""

    def __init__(self, *, element_key, Py_ssize_t max_chars, Py_ssize_t max_depth):
        self.element_key = element_key
        self.max_chars, self.max_depth = max_chars, max_depth
        self.forget()

    cdef forget(self):
        self.cached = 0
        self.top = Step.__new__(Step)
        self.top.steps = {}
        self.keys = {}

    cdef Step new_step(self, Step above, str key):
        cdef Step step = Step.__new__(Step)
        step.key = key
        step.chars, step.slashes = len(key), key.count("/")
        if above is not self.top:
            step.chars += above.chars + 1
            step.slashes += above.slashes + 1
        step.full = step.chars >= self.max_chars or step.slashes >= self.max_depth
        return step

    cdef str path(self, Step step, str above):
        """Return the path of *step*, below the path *above*."""
        if step.path is None:
            step.path = above + "/" + step.key if above else step.key
            self.cached += len(step.path)
        return step.path

    cdef Step below(self, Step above, str tag, const char** values):
        """Return the step of an element with the *values* of its attributes, below *above*."""
        cdef object name
        cdef Step step = None
        cdef str key
        if is_name(above.latest_name, tag, values):  # entries of a list, rows of a table
            return above.latest
        name = step_name(tag, values)
        if above.steps is not None:
            step = above.steps.get(name)
        elif above.latest is not None:  # its second: most elements are alone in theirs
            above.steps = {above.latest_name: above.latest}
        if step is None:
            key = self.keys.get(name)
            if key is None:
                key = ascii_key(tag, values)
                if key is None:
                    key = self.element_key(
                        tag,
                        *[
                            values[i].decode() if values[i] is not NULL else ""
                            for i in range(STEP_ATTRIBUTES)
                        ],
                    )
                self.keys[name] = key
                self.cached += len(name) + len(key)
            step = self.new_step(above, key)
            if above.steps is not None:
                above.steps[name] = step
            self.cached += len(name)
        above.latest_name, above.latest = name, step
        return step


cdef object step_name(str tag, const char** values):
    """Return what tells an element from others: its tag, or that and the attributes in its step."""
    cdef Py_ssize_t lengths[STEP_ATTRIBUTES]
    cdef Py_ssize_t tag_length, total = 0
    cdef const char* tag_bytes
    cdef char* to
    cdef bytes name
    cdef int i
    for i in range(STEP_ATTRIBUTES):
        lengths[i] = 0 if values[i] is NULL else strlen(values[i])
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
            memcpy(to + 1, values[i], lengths[i])
        to += lengths[i] + 1
    return name


cdef str ascii_key(str tag, const char** values):
    """Return what `blocks.element_key` does, ten times as fast; None if values are not ASCII."""
    cdef char key[MAX_STEP_CHARS]
    cdef Py_ssize_t length = 0, kept = 0, at = 0, digits
    cdef int i
    for i in range(STEP_ATTRIBUTES):
        if values[i] is not NULL and values[i][0]:
            length = add_names(key, length, values[i], BEFORE[i], BETWEEN[i])
            if length < 0:
                return None
            if i >= 2 and length < MAX_STEP_CHARS:
                key[length] = c"]"
                length += 1
    if length == 0:
        return tag[:MAX_STEP_CHARS]
    while at < length:
        digits = 0
        while at + digits < length and c"0" <= key[at + digits] <= c"9":
            digits += 1
        key[kept] = c"0" if digits > 1 else c"-" if key[at] == c"/" else key[at]
        kept += 1
        at += digits if digits > 1 else 1
    return tag + key[:kept].decode("ascii")


cdef Py_ssize_t add_names(
    char* key, Py_ssize_t length, const char* value, char before, char between
) noexcept:
    """Append the names in *value*, as far as there is room; return the length, or -1 if it is not
    ASCII.
    """
    cdef bint is_first = True, in_name = False
    if length < MAX_STEP_CHARS:
        key[length] = before
        length += 1
    while value[0]:
        if value[0] & 0x80:
            return -1
        if value[0] == c" " or 9 <= value[0] <= 13 or 0x1C <= value[0] <= 0x1F:
            in_name = False
        else:
            if not in_name and not is_first and length < MAX_STEP_CHARS:
                key[length] = between
                length += 1
            if length < MAX_STEP_CHARS:
                key[length] = value[0]
                length += 1
            in_name, is_first = True, False
        value += 1
    return length


cdef bint is_name(object name, str tag, const char** values) except -1:
    """Tell whether *name* is what `step_name` returns."""
    cdef Py_ssize_t tag_length
    cdef const char* tag_bytes
    cdef const char* value
    cdef const char* at
    cdef int i
    if name is tag:
        for i in range(STEP_ATTRIBUTES):
            if values[i] is not NULL and values[i][0]:
                return False
        return True
    if type(name) is not bytes:
        return False
    tag_bytes = PyUnicode_AsUTF8AndSize(tag, &tag_length)
    at = PyBytes_AS_STRING(name)
    if strncmp(at, tag_bytes, tag_length) != 0:
        return False
    at += tag_length
    for i in range(STEP_ATTRIBUTES):
        if at[0]:
            return False
        at += 1
        value = values[i]
        if value is not NULL:
            while value[0] and at[0] == value[0]:
                at += 1
                value += 1
            if value[0]:
                return False
    return at == PyBytes_AS_STRING(name) + PyBytes_GET_SIZE(name)
