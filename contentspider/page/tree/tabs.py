"""Finds the labels of tabs and the panels that they show, in a set of tabs or near its list."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

# The panels of a list of tabs are searched in this many elements around the list.
MAX_ABOVE = 3
MAX_TABS, MAX_ELEMENTS = 50, 1_000
PANELS = frozenset(
    "tabbed-block sd-tab-content book-tabs-content docsify-tabs__content tabpanel tab-pane".split()
)
OLD_PANEL = "tabbed-content"  # of MkDocs; later versions have panels in it


def pair_tabs(tabs: _Element) -> list[tuple[_Element, _Element]]:
    """Return each panel of a set of tabs, or of a list of tabs, with its label.

    A label and a panel belong together if one names the id of the other; otherwise their order
    counts, if there are as many labels as panels. The list is empty if neither tells.
    """
    labels = list(_labels(tabs))[: MAX_TABS + 1]
    if not 0 < len(labels) <= MAX_TABS:
        return []
    panels = _panels_near(tabs, len(labels))
    by_name = {name: label for label in labels for name in _names_of_panel(label)}
    named = [
        (panel, by_name.get(f"#{panel.get('id')}", by_name.get(panel.get("aria-labelledby") or "")))
        for panel in panels
    ]
    found = [(panel, label) for panel, label in named if label is not None]
    if len({id(label) for _, label in found}) == len(panels):
        return found
    return list(zip(panels, labels, strict=True)) if len(labels) == len(panels) else []


def lone_tabs(tabs: _Element, pairs: list[tuple[_Element, _Element]]) -> list[_Element]:
    """Return the labels in a list of tabs whose panels the page lacks. *pairs* has the others."""
    paired = {label for _, label in pairs}
    is_set = tabs.get("role") != "tablist"
    return [] if is_set else [label for label in _labels(tabs) if label not in paired]


def selects_rows(tabs: _Element) -> list[_Element]:
    """Return the labels of tabs that filter the rows of one panel (Javadoc: "Instance Methods").
    The list is empty for tabs with several panels.
    """
    labels = list(_labels(tabs))[: MAX_TABS + 1]
    shown = {label.get("aria-controls") for label in labels}
    return labels if 1 < len(labels) <= MAX_TABS and len(shown) == 1 and None not in shown else []


def _names_of_panel(label: _Element) -> Iterator[str]:
    """Yield the id of a label, and after a ``#`` the ids that it leads to."""
    for element in label.iter():
        if name := element.get("id"):
            yield name
    if controlled := label.get("aria-controls"):
        yield f"#{controlled}"
    if (address := label.get("href") or "").startswith("#"):
        yield address


def _labels(tabs: _Element) -> Iterator[_Element]:
    """Yield the labels of a set of tabs, or of a list of tabs."""
    is_set = tabs.get("role") != "tablist"
    for element in _elements(tabs):
        role, names = element.get("role"), _names(element)
        is_label = element.tag == "label" or "docsify-tabs__tab" in names
        is_entry = element.tag == "li" and role is None and ("tab" in names or _is_in_tabs(element))
        if not _is_panel(element) and (role == "tab" or (is_set and (is_label or is_entry))):
            yield element


def _is_in_tabs(entry: _Element) -> bool:
    """Tell whether an entry stands in the list of a set of tabs, as in Antora:
    ``<div class="ulist tabs"><ul><li>``.
    """
    entries = entry.getparent()
    around = None if entries is None else entries.getparent()
    return around is not None and "tabs" in _names(around)


def _panels_near(tabs: _Element, count: int) -> list[_Element]:
    """Return the panels in *tabs*, or else in the element after it, or else in the nearest element
    around that has some, or in the element after that; none if there are more than *count*.
    """
    around: _Element | None = tabs
    for _ in range(MAX_ABOVE + 1):
        if around is None or around.tag in ("body", "main", "article"):
            break
        if panels := _panels_after(around):
            return panels if len(panels) <= count else []
        for place in (around, around.getnext()):
            panels = [] if place is None else [one for one in _elements(place) if _is_panel(one)]
            if panels:
                return panels if len(panels) <= count else []
        around = around.getparent()
    return []


def _panels_after(element: _Element) -> list[_Element]:
    """Return the panels directly after an element."""
    panels = []
    while (after := element.getnext()) is not None and _is_panel(after):
        panels.append(after)
        element = after
    return panels


def _elements(top: _Element) -> Iterator[_Element]:
    """Yield the elements below *top* in document order, but none in panels."""
    pending = [child for child in reversed(top) if isinstance(child.tag, str)]
    for _ in range(MAX_ELEMENTS):
        if not pending:
            break
        element = pending.pop()
        yield element
        if not _is_panel(element):
            pending += [child for child in reversed(element) if isinstance(child.tag, str)]


def _is_panel(element: _Element) -> bool:
    names = _names(element)
    if element.get("role") == "tabpanel" or not PANELS.isdisjoint(names):
        return True
    parent = element.getparent()
    if OLD_PANEL in names:
        return not any("tabbed-block" in _names(child) for child in element)
    # VitePress: the code blocks of a group.
    return (
        parent is not None
        and "blocks" in _names(parent)
        and (group := parent.getparent()) is not None
        and "vp-code-group" in _names(group)
    )


def _names(element: _Element) -> list[str]:
    return (element.get("class") or "").split() if isinstance(element.tag, str) else []
