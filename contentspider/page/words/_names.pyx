# cython: language_level=3, boundscheck=False, wraparound=False
"""What the steps of selector paths call an element: their tags, and the words of their names."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy

from contentspider.page.block._block cimport Block


cdef inline bint opens_name(Py_UCS4 char) noexcept:
    return char == u"#" or char == u"." or char == u"["


cpdef str step_tag(str step):
    """Return the tag of one step of a selector path."""
    cdef Py_ssize_t end
    for end in range(len(step)):
        if opens_name(step[end]):
            return step[:end]
    return step


cdef set groups_of_step(str step, dict groups_of):
    """Return the groups of what the ids, classes and roles of *step* say, and the tag, if it is the
    page's own: ``shop-price``.
    """
    cdef Py_ssize_t start, end = 0, size = len(step)
    cdef bint is_custom = False
    cdef set found = set()
    while end < size and not opens_name(step[end]):
        is_custom = is_custom or step[end] == u"-"
        end += 1
    if is_custom:
        add_groups(found, step[:end], groups_of)
    while end < size:
        start = end + 1
        end = start
        while end < size and not opens_name(step[end]) and step[end] != u"]":
            end += 1
        if end > start:
            add_groups(found, step[start:end], groups_of)
        while end < size and not opens_name(step[end]):
            end += 1
    return found


cdef int add_groups(set found, str name, dict groups_of) except -1:
    """Add the groups of a name, and of each word that it is made of: ``relatedPosts``."""
    cdef Py_ssize_t start = 0, end, size = len(name)
    cdef Py_UCS4 char
    groups = groups_of.get(name.lower())
    if groups is not None:
        found.update(groups)
    while start < size:
        char = name[start]
        end = start + 1
        if u"A" <= char <= u"Z":
            if not (end < size and u"a" <= name[end] <= u"z"):
                while end < size and u"A" <= name[end] <= u"Z":
                    end += 1
                if end < size and u"a" <= name[end] <= u"z":
                    end -= 1  # the last capital begins the next word
                start = add_word(found, name, start, end, groups_of)
                continue
        elif not u"a" <= char <= u"z":
            start = end
            continue
        while end < size and u"a" <= name[end] <= u"z":
            end += 1
        start = add_word(found, name, start, end, groups_of)
    return 0


cdef Py_ssize_t add_word(
    set found, str name, Py_ssize_t start, Py_ssize_t end, dict groups_of
) except -1:
    if end - start < len(name):
        groups = groups_of.get(name[start:end].lower())
        if groups is not None:
            found.update(groups)
    return end


@cython.final
@cython.no_gc
cdef class Step:
    """What one step says: the columns of its tag as a leaf and as an ancestor (-1: none), and its
    groups.
    """

    cdef int leaf, ancestor
    cdef tuple groups


@cython.final
cdef class NameRows:
    """Feature rows of selector paths, computed once a path.

    A row has a column for each of *leaves*, tags of which the last stands for all others; one for
    each of *ancestors*, tags too; and *groups* columns for each of three distances. *groups_of* has
    the groups of a word.
    """

    cdef dict rows, steps, leaves, ancestors, groups_of
    cdef readonly Py_ssize_t width
    cdef Py_ssize_t groups, max_kept

    def __init__(self, leaves, ancestors, Py_ssize_t groups, dict groups_of, Py_ssize_t max_kept):
        self.leaves = {tag: column for column, tag in enumerate(leaves)}
        self.ancestors = {tag: column for column, tag in enumerate(ancestors)}
        self.groups, self.groups_of, self.max_kept = groups, groups_of, max_kept
        self.width = len(self.leaves) + len(self.ancestors) + 3 * groups
        self.rows, self.steps = {}, {}

    def __len__(self):
        return len(self.rows)

    def fill(self, float[:, :] into, list blocks):
        """Write the row of each block's path into *into*."""
        cdef Block block
        cdef bytes row
        cdef Py_ssize_t number
        if into.shape[0] != len(blocks) or into.shape[1] != self.width:
            raise ValueError(f"{into.shape[0]} rows of {into.shape[1]} columns do not suit")
        if not blocks:
            return
        if into.strides[1] != sizeof(float):
            raise ValueError("a row's columns must stand side by side")
        for number in range(len(blocks)):
            block = blocks[number]
            row = self.rows.get(block.path)
            if row is None:
                row = self.make(block.path)
            memcpy(&into[number, 0], PyBytes_AS_STRING(row), self.width * sizeof(float))

    cdef Step step(self, str name):
        cdef Step step = Step.__new__(Step)
        cdef str tag = step_tag(name)
        step.leaf = self.leaves.get(tag, len(self.leaves) - 1)
        step.ancestor = self.ancestors.get(tag, -1)
        step.groups = tuple(groups_of_step(name, self.groups_of))
        self.steps[name] = step
        return step

    cdef bytes make(self, str path):
        cdef bytes made = PyBytes_FromStringAndSize(NULL, self.width * sizeof(float))
        cdef float* row = <float*>PyBytes_AS_STRING(made)
        cdef list names = path.split("/")
        cdef Py_ssize_t distance, column
        cdef float* called
        cdef Step step
        cdef int group
        if len(self.rows) >= self.max_kept:
            self.rows.clear()
            self.steps.clear()
        for column in range(self.width):
            row[column] = 0
        for distance in range(len(names)):
            name = names[len(names) - 1 - distance]
            step = self.steps.get(name)
            if step is None:
                step = self.step(name)
            if distance == 0:
                row[step.leaf] = 1
            elif step.ancestor >= 0:
                row[len(self.leaves) + step.ancestor] += 1
            called = row + len(self.leaves) + len(self.ancestors)
            called += self.groups * (0 if distance == 0 else 1 if distance <= 2 else 2)
            for group in step.groups:
                # Far names carry how far: the innermost says most.
                if called[group] == 0:
                    called[group] = 1 if distance <= 2 else 1.0 / (distance - 2)
        self.rows[path] = made
        return made


def name_groups(str step, dict groups_of):
    """Return the groups of what the ids, classes and roles of *step* say, as *groups_of* has them
    for words.
    """
    return groups_of_step(step, groups_of)
