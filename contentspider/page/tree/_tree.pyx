# cython: language_level=3, wraparound=False
# distutils: language = c++
"""Builds the tree of the elements around a page's text, and their tag paths, cached across
pages.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.string cimport memcmp, memcpy, strlen
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport xmlNode

from contentspider.page.tree._elements cimport CLASS, ID, IN_PATH, ITEMPROP, ROLE, Elements, Tag

import re

from contentspider.page.tree import tags
from contentspider.page.tree.containers import named

etree.import_lxml__etree()

# A path locates a block in the template. Steps beyond this depth or length would not help.
cdef Py_ssize_t MAX_PATH_DEPTH = 60, MAX_PATH_CHARS = 3_000
cdef Py_ssize_t MAX_STEP_CHARS = tags.MAX_STEP_CHARS
# A long number names a single page ("post-1234") and is replaced by 0. A single digit is kept: it
# may name a part of the template ("column-2").
cdef object LONG_NUMBER = re.compile(r"\d{2,}")
# Page builders name all elements by numbers ("block-123"), which then belong to the template. A
# page's numbers are kept if it has this many class names, and this share of them have long numbers.
cdef Py_ssize_t LEAST_CLASSES = 10
cdef double NUMBERED_SHARE = 0.9


cpdef str element_key(str tag, str id_, str class_, str role, str itemprop):
    """Return an element's step in a path: ``tag#id.class[role]``, long numbers as ``0``."""
    return without_numbers(tag, numbered_key(tag, id_, class_, role, itemprop))


cdef str without_numbers(str tag, str key):
    """Return the step of an element with this tag, with long numbers in its names as ``0``."""
    cdef str names = key[len(tag):]
    cdef Py_UCS4 char
    for char in names:
        if char.isdecimal():
            return tag + LONG_NUMBER.sub("0", names)
    return key


cdef str numbered_key(str tag, str id_, str class_, str role, str itemprop):
    """Return an element's step in a path with its numbers."""
    cdef str key = ""
    if id_:
        key += "#" + "-".join(id_.split())
    if class_:
        key += "." + ".".join(class_.split())
    if role:
        key += "[" + "-".join(role.split()) + "]"
    if itemprop:
        key += "[" + "-".join(itemprop.split()) + "]"
    if not key:
        return tag[:MAX_STEP_CHARS]
    return tag + key[:MAX_STEP_CHARS].replace("/", "-")


@cython.final
@cython.no_gc
cdef class Names:
    """The names of an element: its step in a path as *key*, and with its numbers as *numbered*.

    *classes* is how many class names it has, *numbers* how many of them have a long number. *kind*
    and *role* are those of `containers.Names`.
    """


cdef Names names_of(str tag, const char** values):
    """Return the names of an element whose attributes are *values*."""
    cdef Names names = Names.__new__(Names)
    cdef str class_ = text_of(values[CLASS])
    names.numbered = numbered_key(
        tag, text_of(values[ID]), class_, text_of(values[ROLE]), text_of(values[ITEMPROP])
    )
    names.key = without_numbers(tag, names.numbered)
    for name in class_.split():
        names.classes += 1
        names.numbers += LONG_NUMBER.search(name) is not None
    names.kind, names.role = named(tag, class_, text_of(values[ROLE]))
    names.is_telling = bool(names.kind or names.role)
    names.is_box = names.kind.isupper()
    return names


@cython.final
@cython.no_gc  # steps do not refer to their parents, so the garbage collector can skip them
cdef class Step:
    """The last step of a path, and the steps that follow it in longer paths.

    *path* is None until `Paths.path` builds it: on a hostile page most elements have a path of
    their own but no text. *full* is true if the path has reached its greatest length.
    """


@cython.final
cdef class Paths:
    """Caches paths; *cached* is how many characters they take."""

    def __init__(self):
        self.forget()

    cdef forget(self):
        self.cached = 0
        self.top = Step.__new__(Step)
        self.top.steps = {}
        self.names = {}

    cdef str path(self, Step step, str above):
        """Return the path of *step*, below the path *above*."""
        if step.path is None:
            step.path = above + "/" + step.names.key if above else step.names.key
            self.cached += len(step.path)
        return step.path

    cdef Step below(self, Step above, str tag, const char** values):
        """Return the step of an element below *above*. *values* has its attributes."""
        cdef Py_ssize_t size = self.write_name(tag, values)
        cdef bytes name = above.latest_name
        cdef Step step = None
        cdef Names names
        if name is not None and len(name) == size and (
            memcmp(PyBytes_AS_STRING(name), self.name.data(), size) == 0
        ):
            return above.latest  # the same as the last sibling, as with rows of a table
        name = PyBytes_FromStringAndSize(self.name.data(), size)
        if above.steps is not None:
            step = above.steps.get(name)
        # A dict is only made for the second child, since most steps have one child.
        elif above.latest is not None:
            above.steps = {above.latest_name: above.latest}
        if step is None:
            names = self.names.get(name)
            if names is None:
                names = self.names[name] = names_of(tag, values)
                self.cached += len(name) + len(names.key)
            step = Step.__new__(Step)
            step.names = names
            step.chars, step.slashes = len(names.key), names.key.count("/")
            if above is not self.top:
                step.chars += above.chars + 1
                step.slashes += above.slashes + 1
            step.full = step.chars >= MAX_PATH_CHARS or step.slashes >= MAX_PATH_DEPTH
            if above.steps is not None:
                above.steps[name] = step
            self.cached += len(name)
        above.latest_name, above.latest = name, step
        return step

    cdef Py_ssize_t write_name(self, str tag, const char** values) except -1:
        """Write an element's tag and the attributes of its step into *name*; return its length."""
        cdef Py_ssize_t length, size
        cdef const char* text = PyUnicode_AsUTF8AndSize(tag, &size)
        cdef int i
        if <Py_ssize_t>self.name.size() < size + IN_PATH:
            self.name.resize(2 * (size + IN_PATH))
        memcpy(self.name.data(), text, size)
        for i in range(IN_PATH):
            length = 0 if values[i] is NULL else strlen(values[i])
            if <Py_ssize_t>self.name.size() < size + length + IN_PATH:
                self.name.resize(2 * (size + length + IN_PATH))
            self.name[size] = 0
            if length:
                memcpy(self.name.data() + size + 1, values[i], length)
            size += length + 1
        return size


cdef str text_of(const char* value):
    return "" if value is NULL else PyUnicode_DecodeUTF8(value, strlen(value), NULL)


@cython.final
cdef class Tree:
    """Collects the containers below *root*. Those with text in them are added to *page*, and their
    elements to *kept* if that is a list.
    """

    def __cinit__(self, page, Elements elements, Paths paths, etree._Element root, list kept):
        self.parents, self.tags, self.paths = page.parents, page.tags, page.paths
        self.positions, self.attributes = page.positions, page.attributes
        self.elements, self.known_paths = elements, paths
        self.steps, self.container_attributes = [], []
        self.figure = elements.tag_number("figure")
        self.root, self.kept = root, kept

    cdef Py_ssize_t enter(self, Py_ssize_t number, Py_ssize_t parent, xmlNode* node) except -1:
        """Add the current element (*node*), whose tag has this *number*, as a container; return the
        container's number.
        """
        cdef Step step = self.known_paths.top if parent < 0 else self.steps[parent]
        cdef Tag* tag = &self.elements.tags[number]
        cdef Py_ssize_t last = tag.last
        cdef Container container
        if not step.full:
            step = self.known_paths.below(step, self.elements.names[number], self.elements.values)
            self.classes += step.names.classes
            self.numbers += step.names.numbers
        # *parent* is the innermost open container: containers with higher numbers are closed.
        while last >= 0 and self.containers[last].parent > parent:
            last = self.containers[last].before
        container.node = node
        container.parent = parent
        container.tag = number
        container.index = -1
        container.position = 0
        container.before = last
        if last >= 0 and self.containers[last].parent == parent:
            container.position = self.containers[last].position + 1
            container.before = self.containers[last].before
        tag.last = self.containers.size()
        self.containers.push_back(container)
        self.steps.append(step)
        return tag.last

    cdef Names names_of(self, Py_ssize_t number):
        """Return the names of a container, None if it is nested too deeply to have some."""
        cdef Container* container = &self.containers[number]
        cdef Step step = self.steps[number]
        if container.parent >= 0 and step is self.steps[container.parent]:
            return None
        return step.names

    cdef int add_attributes(self, xmlNode* node, Py_ssize_t container) except -1:
        """Store the attributes of *node*, which is a container or inline within one; NULL has
        none.
        """
        cdef list attributes = []
        if node is not NULL:
            for name, value in etree.collectAttributes(node, 3):
                attributes.append((name, value[:MAX_STEP_CHARS]))
        if container == len(self.container_attributes):
            self.container_attributes.append(attributes)
        else:
            self.container_attributes[container] += attributes
        return 0

    cdef Py_ssize_t keep(self, Py_ssize_t number) except -1:
        """Add a container and its ancestors to the page; return the container's index there."""
        cdef vector[Py_ssize_t] missing
        cdef Container* container
        cdef Py_ssize_t index = -1
        while number >= 0:
            container = &self.containers[number]
            index = container.index
            if index >= 0:
                break
            missing.push_back(number)
            number = container.parent
        while not missing.empty():
            number = missing.back()
            missing.pop_back()
            container = &self.containers[number]
            self.parents.append(index)
            self.tags.append(self.elements.names[container.tag])
            self.paths.append(
                self.known_paths.path(self.steps[number], self.paths[index] if index >= 0 else "")
            )
            self.positions.append(container.position)
            if self.container_attributes:
                self.attributes.append(self.container_attributes[number])
            if self.kept is not None:
                self.kept.append(
                    etree.elementFactory(self.root._doc, container.node)
                    if container.node is not NULL
                    else self.root
                )
            index = container.index = len(self.parents) - 1
        return index

    cdef bint has_numbered_names(self) noexcept:
        """Tell whether numbers name the parts of the page's template."""
        return self.classes >= LEAST_CLASSES and self.numbers >= NUMBERED_SHARE * self.classes

    cdef number_paths(self):
        """Write the paths of the page's containers with their numbers."""
        cdef Container* container
        cdef Py_ssize_t number, parent
        cdef Step step
        cdef dict known = {}
        for number in range(<Py_ssize_t>self.containers.size()):
            container = &self.containers[number]
            if container.index < 0:
                continue
            step = self.steps[number]
            parent = container.parent
            if parent < 0:
                path = step.names.numbered
            else:
                path = self.paths[self.containers[parent].index]
                if step is not self.steps[parent]:  # else it has reached its greatest length
                    path += "/" + step.names.numbered
            self.paths[container.index] = known.setdefault(path, path)

    cdef Py_ssize_t shared(self, Py_ssize_t one, Py_ssize_t other) noexcept:
        """Return the innermost container around two containers."""
        while one != other:
            if one > other:
                one = self.containers[one].parent
            else:
                other = self.containers[other].parent
        return one

    cdef bint is_apart(self, Py_ssize_t below, Py_ssize_t above) except -1:
        """Tell whether there is a ``figure``, or what Markdown frames (a box, a quote, an entry of
        a list), from container *below* up to, but not with, *above*.
        """
        cdef Names names
        while below != above:
            names = self.names_of(below)
            if self.containers[below].tag == self.figure or (names is not None and names.kind):
                return True
            below = self.containers[below].parent
        return False
