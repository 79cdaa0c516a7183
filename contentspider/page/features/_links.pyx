# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Features of what links lead to: a part of a page, another site, where other links lead, too."""

from libcpp.vector cimport vector

from contentspider.page.block._block cimport Block
from contentspider.page.features._facts cimport PageFacts, some

from contentspider.page.tree.tags import BOLD, CODE

# How much of the text is in such links, of a block, and of it with the blocks around it; and of the
# page's links.
LINK = [f"to_{to}{of}" for of in ("", "_around", "_page") for to in ("part", "away", "again")]

cdef enum:  # their numbers
    HERE, AROUND = 3, PAGE = 6, LAST_LINK = 9

# Blocks before and after.
cdef Py_ssize_t REACH = 3
# The site of a page is that of so many of its links that name one.
cdef double OWN_SHARE = 0.4

cdef struct Sums:  # of the blocks before one
    double chars, part, away, again


cdef str site_of(str address):
    """Return the host that an *address* names, "" if it names none."""
    cdef Py_ssize_t start, end
    cdef Py_UCS4 char
    if address.startswith("//"):
        start = 2
    elif address[:8].lower().startswith(("http://", "https://")):
        start = address.index(":") + 3
    else:
        return ""
    end = start
    while end < len(address):
        char = address[end]
        if char == u"/" or char == u"?" or char == u"#" or char == u":":
            break
        end += 1
    return address[start:end].lower().removeprefix("www.")


def fill_links(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write what the blocks' links lead to into *rows*, from a *column* on."""
    cdef float* row = page.start(rows, column, LAST_LINK)
    cdef list links = []
    cdef dict sites = {}, times = {}
    cdef vector[Sums] sums
    cdef Sums sum = Sums(chars=0, part=0, away=0, again=0)
    cdef Sums* low
    cdef Sums* high
    cdef Py_ssize_t number, at = 0, count = rows.shape[0]
    cdef double chars, size, linked = 0
    cdef Block block
    for number in range(count):
        block = page.blocks[number]
        if block.links:
            for start, end, mark in block.spans:
                if mark != BOLD and mark != CODE:
                    site, target = site_of(mark), mark.partition("#")[0] or mark
                    links.append((number, end - start, site, target, mark))
                    sites[site] = sites.get(site, 0) + 1
                    times[target] = times.get(target, 0) + 1
    sites.pop("", None)
    own = max(sites, key=sites.get, default="")
    if own and sites[own] < OWN_SHARE * len(links):
        own = ""
    sums.reserve(count + 1)
    sums.push_back(sum)
    for number in range(count):
        sum.chars += page.block[number].chars
        while at < len(links) and links[at][0] == number:
            _, length, site, target, mark = links[at]
            size = length
            linked += size
            if target != mark or (mark[:1] == "#" and len(mark) > 1):
                sum.part += size
            if site and site != own:
                sum.away += size
            if times[target] > 1:
                sum.again += size
            at += 1
        sums.push_back(sum)
    linked = some(linked)
    for number in range(count):
        low, high = &sums[number], &sums[number + 1]
        write_shares(low, high, high.chars - low.chars, row + HERE)
        low = &sums[max(number - REACH, 0)]
        high = &sums[min(number + REACH + 1, count)]
        write_shares(low, high, high.chars - low.chars, row + AROUND)
        write_shares(&sums[0], &sums[count], linked, row + PAGE)
        row += rows.shape[1]


cdef inline void write_shares(const Sums* low, const Sums* high, double whole, float* into) noexcept:
    whole = some(whole)
    into[0] = (high.part - low.part) / whole
    into[1] = (high.away - low.away) / whole
    into[2] = (high.again - low.again) / whole
