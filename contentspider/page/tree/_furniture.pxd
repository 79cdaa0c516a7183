# cython: language_level=3
"""Inline elements that are no text of a page, see `_furniture.pyx`."""

from lxml.includes.tree cimport xmlNode

from contentspider.page.tree._elements cimport Elements, Kind

cdef bint is_furniture(
    xmlNode* node, Elements elements, Kind kind, xmlNode* heading, bint preformatted
) except -1
cdef bint has_sign(xmlNode* button) except -1
cdef bint is_block_of_code(xmlNode* node) except -1
cdef bint is_control(const char* classes) except -1
cdef bint is_gutter(const char* classes) except -1
cdef bint is_gutter_of_code(xmlNode* cell) except -1
cdef bint has_letters(xmlNode* top) noexcept
cdef bint is_heading(xmlNode* node) noexcept
cdef bint leads_to(const char* fragment, xmlNode* node) except -1
cdef xmlNode* previous_element(xmlNode* node) noexcept
cdef bint is_whole_text(xmlNode* node) noexcept
cdef bint names_part_of_api(xmlNode* term) except -1
cdef str word_marker(xmlNode* entry)
cdef bint is_fold_label(xmlNode* node, const char* classes) noexcept
cdef bint is_folded_source(xmlNode* node, const char* classes) except -1
cdef bint is_heading_of_notes(xmlNode* node, Elements elements) noexcept
cdef bint is_unseen(const char* classes) noexcept
cdef bint is_of_class(xmlNode* node, const char* name) noexcept
cdef bint is_tree(xmlNode* details) noexcept
cdef bint is_tooltip(const char* classes) noexcept
cdef bint is_panel(xmlNode* node) except -1
cdef bint links_own_heading(xmlNode* link, const char* href, xmlNode* heading) except -1
cdef bint is_note_marker(xmlNode* node, Elements elements, Kind kind) except -1
cdef str anchor_of(xmlNode* heading)
cdef str language_of(xmlNode* preformatted)
cdef str note_of(xmlNode* marker)
cdef str text_below(xmlNode* top, Py_ssize_t most)
cdef xmlNode* next_element(xmlNode* node) noexcept
cdef bint has_text_after(xmlNode* node) noexcept
cdef bint has_heading(xmlNode* top) noexcept
cdef bint is_code_control(xmlNode* node, Elements elements, Kind kind) except -1
cdef bint is_code_line(const char* classes, const char* style) except -1
cdef bint is_box_sign(xmlNode* label) except -1
