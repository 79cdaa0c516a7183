# cython: language_level=3, boundscheck=False, wraparound=False
"""Features of a selector path: the tags around a block, and the words in their ids and classes."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy

from contentspider.page.tree._block cimport Block

from contentspider.page.words.phrases import read_data

# Words that designers use in ids and classes for the parts of a page, in all languages, grouped by
# meaning. Based on the lists of boilerplate names by Zhou and Mashuq and in Readability.
cdef dict NAME_WORDS = read_data("names.json")
NAME_GROUPS = list(NAME_WORDS)
cdef dict GROUPS_OF = {}
for _index, _words in enumerate(NAME_WORDS.values()):
    for _word in _words:
        GROUPS_OF.setdefault(_word, []).append(_index)

HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
# "other" is for all tags that the list lacks.
LEAF_TAGS = (
    "p li td th h1 h2 h3 h4 h5 h6 div pre blockquote dt dd figcaption caption button section"
    " article main center address form other"
).split()
ANCESTOR_TAGS = (
    "li ul ol table td nav footer header aside article main section form figure blockquote dl pre"
    " details button center dialog label"
).split()
# The distance of a name from the block: its own element, the next two ancestors, further ancestors.
NEARNESS = ("own", "near", "far")
# Page builders begin the names of all elements with the same word (``ct-block-123``). A word in this
# share of at least so many different names of a page does not tell its parts apart.
DEF COMMON_SHARE = 0.9
DEF LEAST_NAMES = 10
PATH_FEATURES = [
    *(f"tag_{tag}" for tag in LEAF_TAGS),
    *(f"inside_{tag}" for tag in ANCESTOR_TAGS),
    *(f"{near}_{name}" for near in NEARNESS for name in NAME_GROUPS),
]

cdef dict LEAF_COLUMNS = {tag: column for column, tag in enumerate(LEAF_TAGS)}
cdef dict ANCESTOR_COLUMNS = {tag: column for column, tag in enumerate(ANCESTOR_TAGS)}
cdef Py_ssize_t LEAVES = len(LEAF_TAGS), ANCESTORS = len(ANCESTOR_TAGS), GROUPS = len(NAME_GROUPS)
cdef Py_ssize_t WIDTH = len(PATH_FEATURES)


cdef inline bint opens_name(Py_UCS4 char) noexcept:
    return char == u"#" or char == u"." or char == u"["


cdef inline bint is_upper(Py_UCS4 char) noexcept:
    return u"A" <= char <= u"Z"


cdef inline bint is_lower(Py_UCS4 char) noexcept:
    return u"a" <= char <= u"z"


cpdef str step_tag(str step):
    """Return the tag of one step of a selector path."""
    cdef Py_ssize_t end
    for end in range(len(step)):
        if opens_name(step[end]):
            return step[:end]
    return step


cpdef set name_groups(str step):
    """Return the indexes in `NAME_GROUPS` of the words in a step's id, classes, role and custom
    tag.
    """
    cdef Py_ssize_t start, end = 0, size = len(step)
    cdef bint is_custom = False
    cdef set groups = set()
    while end < size and not opens_name(step[end]):
        is_custom = is_custom or step[end] == u"-"
        end += 1
    if is_custom:
        add_groups(groups, step[:end])
    while end < size:
        start = end + 1
        end = start
        while end < size and not opens_name(step[end]) and step[end] != u"]":
            end += 1
        if end > start:
            add_groups(groups, step[start:end])
        while end < size and not opens_name(step[end]):
            end += 1
    return groups


cdef int add_groups(set group_set, str name) except -1:
    """Add the groups of a name, and of each word in it: ``relatedPosts`` has two words."""
    cdef Py_ssize_t start = 0, end, size = len(name)
    groups = GROUPS_OF.get(name.lower())
    if groups is not None:
        group_set.update(groups)
    while start < size:
        end = start + 1
        if is_upper(name[start]) and not (end < size and is_lower(name[end])):
            while end < size and is_upper(name[end]):
                end += 1
            if end < size and is_lower(name[end]):
                end -= 1  # the last capital begins the next word
        elif is_upper(name[start]) or is_lower(name[start]):
            while end < size and is_lower(name[end]):
                end += 1
        groups = GROUPS_OF.get(name[start:end].lower()) if end - start < size else None
        if groups is not None:
            group_set.update(groups)
        start = end
    return 0


@cython.final
@cython.no_gc
cdef class Step:
    """A step's name groups, and the columns of its tag as the block's own tag and as an ancestor
    (-1: none).
    """

    cdef int leaf, ancestor
    cdef tuple groups
    cdef bint has_names


@cython.final
cdef class NameRows:
    """A cache of rows of `PATH_FEATURES` by path.

    It has at most *max_kept* rows, since a site whose ids differ on each page would fill the memory.
    """

    cdef dict rows, steps
    cdef Py_ssize_t max_kept

    def __init__(self, Py_ssize_t max_kept=20_000):
        self.rows, self.steps, self.max_kept = {}, {}, max_kept

    def __len__(self):
        return len(self.rows)

    def fill(self, float[:, :] into, list blocks):
        """Write the features of the path of each block of a page into the block's row of *into*.

        Words in nearly all names of the page do not count.
        """
        cdef Block block
        cdef bytes row
        cdef Py_ssize_t number, near
        cdef int group
        cdef set paths = set()
        if into.shape[0] != len(blocks) or into.shape[1] != WIDTH:
            raise ValueError(
                f"expected {len(blocks)} rows of {WIDTH} columns, not {into.shape[0]} of"
                f" {into.shape[1]}"
            )
        if not blocks:
            return
        if into.strides[1] != sizeof(float):
            raise ValueError("the columns of a row must be contiguous in memory")
        for number in range(len(blocks)):
            block = blocks[number]
            row = self.rows.get(block.path)
            if row is None:
                row = self.compute(block.path)
            memcpy(&into[number, 0], PyBytes_AS_STRING(row), WIDTH * sizeof(float))
            paths.add(block.path)
        for group in self.common_groups(paths):
            for number in range(len(blocks)):
                for near in range(WIDTH - 3 * GROUPS + group, WIDTH, GROUPS):
                    into[number, near] = 0

    cdef list common_groups(self, set paths):
        """Return the groups of the words in nearly all names on the *paths* of a page."""
        cdef Step step
        cdef int group
        cdef Py_ssize_t named = 0
        cdef list counts = [0] * GROUPS
        cdef set names = {name for path in paths for name in (<str>path).split("/")}
        for name in names:
            step = self.step_of(name)
            if step.has_names:
                named += 1
                for group in step.groups:
                    counts[group] += 1
        if named < LEAST_NAMES:
            return []
        return [group for group in range(GROUPS) if counts[group] >= COMMON_SHARE * named]

    cdef Step step_of(self, str name):
        cdef Step step = self.steps.get(name)
        return self.step(name) if step is None else step

    cdef Step step(self, str name):
        cdef Step step = Step.__new__(Step)
        cdef str tag = step_tag(name)
        step.leaf = LEAF_COLUMNS.get(tag, LEAVES - 1)
        step.ancestor = ANCESTOR_COLUMNS.get(tag, -1)
        step.groups = tuple(name_groups(name))
        step.has_names = len(tag) < len(name)
        self.steps[name] = step
        return step

    cdef bytes compute(self, str path):
        cdef bytes computed = PyBytes_FromStringAndSize(NULL, WIDTH * sizeof(float))
        cdef float* row = <float*>PyBytes_AS_STRING(computed)
        cdef list names = path.split("/")
        cdef Py_ssize_t distance, column
        cdef float* names_row
        cdef Step step
        cdef int group
        if len(self.rows) >= self.max_kept:
            self.rows.clear()
            self.steps.clear()
        for column in range(WIDTH):
            row[column] = 0
        for distance in range(len(names)):
            name = names[len(names) - 1 - distance]
            step = self.step_of(name)
            if distance == 0:
                row[step.leaf] = 1
            elif step.ancestor >= 0:
                row[LEAVES + step.ancestor] += 1
            names_row = row + LEAVES + ANCESTORS
            if distance > 0:
                names_row += GROUPS if distance <= 2 else 2 * GROUPS
            for group in step.groups:
                # A name of a far ancestor counts less the further away the ancestor is.
                if names_row[group] == 0:
                    names_row[group] = 1 if distance <= 2 else 1.0 / (distance - 2)
        self.rows[path] = computed
        return computed
