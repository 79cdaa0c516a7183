# cython: language_level=3, boundscheck=False, wraparound=False
# distutils: language = c++
"""Evaluates boosted trees on the rows of a page.

A page's rows are evaluated together. Half of all splits send all rows of a page to the same side,
for example splits on the length of the page. So each tree is first cut to the splits that separate
rows of the page. The cut tree fits into the processor's cache.
"""

cimport cython
from libc.math cimport INFINITY
from libcpp.vector cimport vector

cdef struct Node:  # in a cut tree both children of a leaf are the leaf itself
    float threshold
    float value
    int feature
    int children[2]

cdef struct Branch:
    int node
    int depth
    int parent  # the number of the parent in the cut tree, -1 for the root
    int side

# This many rows go down a tree at the same time, so that their memory accesses overlap.
cdef enum:
    LANES = 8


@cython.final
cdef class Forest:
    """The compiled form of `contentspider.site.judge.prior.Trees`."""

    cdef vector[Node] nodes
    cdef vector[int] roots
    cdef readonly Py_ssize_t width

    def __init__(
        self,
        const int[::1] roots,
        const short[::1] feature,
        const float[::1] threshold,
        const int[::1] left,
        const int[::1] right,
        const float[::1] value,
    ):
        cdef Py_ssize_t index
        cdef Py_ssize_t count = feature.shape[0]
        cdef int child
        cdef Node node
        cdef vector[bint] has_parent
        self.width = 0
        if not (count == threshold.shape[0] == left.shape[0] == right.shape[0] == value.shape[0]):
            raise ValueError("the trees' tables are malformed: they differ in length")
        has_parent.resize(count)
        for index in range(count):
            node.feature, node.threshold, node.value = (
                feature[index], threshold[index], value[index]
            )
            node.children[0], node.children[1] = left[index], right[index]
            if node.feature >= 0:
                # A child comes after its only parent, so that a damaged file cannot cause an
                # endless walk.
                for child in node.children:
                    if not index < child < count or has_parent[child]:
                        raise ValueError("the trees' tables are malformed: they have a cycle")
                    has_parent[child] = True
            self.nodes.push_back(node)
            self.width = max(self.width, feature[index] + 1)
        for index in range(roots.shape[0]):
            if not 0 <= roots[index] < count:
                raise ValueError("the trees' tables are malformed: a root is not a node")
            self.roots.push_back(roots[index])

    def add_values(self, const float[:, ::1] rows, double[::1] sums):
        """Add to each entry of *sums* the values of the leaves that its row falls into."""
        if rows.shape[1] < self.width or sums.shape[0] != rows.shape[0]:
            raise ValueError(
                f"the rows have {rows.shape[1]} features, but the trees need {self.width}"
            )
        if rows.shape[0]:
            with nogil:
                self.walk(&rows[0, 0], rows.shape[0], rows.shape[1], &sums[0])

    cdef void walk(
        self, const float* rows, Py_ssize_t count, Py_ssize_t width, double* sums
    ) noexcept nogil:
        cdef vector[float] least, most
        cdef vector[Node] cut
        cdef vector[Branch] open
        cdef Py_ssize_t tree, index
        cdef const float* row = rows
        cdef int depth
        least.assign(rows, rows + width)
        most.assign(rows, rows + width)
        for index in range(1, count):
            row += width
            widen(least.data(), most.data(), row, width)
        for tree in range(<Py_ssize_t>self.roots.size()):
            depth = self.cut_tree(self.roots[tree], least.data(), most.data(), cut, open)
            if depth == 0:
                for index in range(count):
                    sums[index] += cut[0].value
            else:
                descend(cut.data(), depth, rows, count, width, sums)

    cdef int cut_tree(
        self,
        int root,
        const float* least,
        const float* most,
        vector[Node]& cut,
        vector[Branch]& open,
    ) noexcept nogil:
        """Write a tree without its useless splits into *cut*, and return the depth of the result.

        *least* and *most* have the range of each feature over the rows. A split outside of this
        range sends all rows to the same side.
        """
        cdef Branch branch
        cdef const Node* node
        cdef Node new
        cdef int depth = 0, at
        cut.clear()
        branch.node, branch.depth, branch.parent, branch.side = root, 0, -1, 0
        open.push_back(branch)
        while not open.empty():
            branch = open.back()
            open.pop_back()
            node = &self.nodes[branch.node]
            while node.feature >= 0:
                if most[node.feature] <= node.threshold:
                    node = &self.nodes[node.children[0]]
                elif least[node.feature] > node.threshold:
                    node = &self.nodes[node.children[1]]
                else:
                    break
            at = <int>cut.size()
            if branch.parent >= 0:
                cut[branch.parent].children[branch.side] = at
            new = node[0]
            if node.feature < 0:
                new.feature, new.threshold = 0, INFINITY
                new.children[0] = new.children[1] = at
                depth = max(depth, branch.depth)
            else:
                branch.parent, branch.depth = at, branch.depth + 1
                branch.node, branch.side = node.children[1], 1
                open.push_back(branch)
                branch.node, branch.side = node.children[0], 0
                open.push_back(branch)
            cut.push_back(new)
        return depth


cdef void widen(float* least, float* most, const float* row, Py_ssize_t width) noexcept nogil:
    """Extend the range of each column by the value in *row*.

    There are two loops since compilers turn such simple loops into vector instructions.
    """
    cdef Py_ssize_t column
    for column in range(width):
        least[column] = row[column] if row[column] < least[column] else least[column]
    for column in range(width):
        most[column] = row[column] if row[column] > most[column] else most[column]


cdef void descend(
    const Node* nodes, int depth, const float* rows, Py_ssize_t count, Py_ssize_t width,
    double* sums
) noexcept nogil:
    cdef const float* row
    cdef const Node* node
    cdef Py_ssize_t start = 0
    cdef int step, lane
    cdef int lanes[LANES]
    while start + LANES <= count:
        for lane in range(LANES):
            lanes[lane] = 0
        for step in range(depth):
            row = rows + start * width
            for lane in range(LANES):
                node = nodes + lanes[lane]
                lanes[lane] = node.children[row[node.feature] > node.threshold]
                row += width
        for lane in range(LANES):
            sums[start + lane] += nodes[lanes[lane]].value
        start += LANES
    while start < count:
        row = rows + start * width
        lanes[0] = 0
        for step in range(depth):
            node = nodes + lanes[0]
            lanes[0] = node.children[row[node.feature] > node.threshold]
        sums[start] += nodes[lanes[0]].value
        start += 1
