# cython: language_level=3, wraparound=False
# distutils: language = c++
"""The elements around the text of a page: their parents, tags, paths and places."""

cimport cython
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport xmlNode

from contentspider.page.tree._elements cimport Elements, Tag
from contentspider.page.block._paths cimport Paths, Step

etree.import_lxml__etree()


@cython.final
cdef class Tree:
    """The containers of the tree below *root*; *page* gets those that have text in or below them,
    and *kept*, if it is a list, their elements.
    """

    def __cinit__(
        self,
        page,
        Elements elements,
        Paths paths,
        Py_ssize_t max_value_chars,
        etree._Element root,
        list kept,
    ):
        self.parents, self.tags, self.paths = page.parents, page.tags, page.paths
        self.positions, self.attributes = page.positions, page.attributes
        self.elements, self.known_paths = elements, paths
        self.max_value_chars = max_value_chars
        self.steps, self.container_attributes = [], []
        self.root, self.kept = root, kept

    cdef Py_ssize_t enter(self, Py_ssize_t number, Py_ssize_t parent, xmlNode* node) except -1:
        """Add a container, the element at hand (*node*) with the tag *number*, and return its
        number.
        """
        cdef Step step = self.known_paths.top if parent < 0 else self.steps[parent]
        cdef Tag* tag = &self.elements.tags[number]
        cdef Py_ssize_t last = tag.last
        cdef Container container
        if not step.full:
            step = self.known_paths.below(step, self.elements.names[number], self.elements.values)
        # *parent* is the innermost open container: those after it have been closed.
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

    cdef int add_attributes(self, xmlNode* node, Py_ssize_t container) except -1:
        """Keep the attributes of *node* (NULL: none), which is a container, or inline in one."""
        cdef list found = []
        if node is not NULL:
            for name, value in etree.collectAttributes(node, 3):
                found.append((name, value[:self.max_value_chars]))
        if container == len(self.container_attributes):
            self.container_attributes.append(found)
        else:
            self.container_attributes[container] += found
        return 0

    cdef Py_ssize_t keep(self, Py_ssize_t number) except -1:
        """Add a container and those around it to the page; return its index there."""
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

    cdef Py_ssize_t shared(self, Py_ssize_t one, Py_ssize_t other) noexcept:
        """Return the innermost container around two."""
        while one != other:
            if one > other:
                one = self.containers[one].parent
            else:
                other = self.containers[other].parent
        return one
