"""The links of the search page that narrow and order its results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from contentspider.index.filters import Comparison, Order
from contentspider.index.own_fields import DATE, NUMBER
from contentspider.index.result_rows import SHOWN_DATES
from contentspider.index.schema import DATE_FIELDS
from contentspider.web.site_names import host_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contentspider.index.engine import Query, Results

FACET_NAMES = {"site": "Sites", "language": "Languages", "page_type": "Types"}
DATE_NAMES = {"published_at": "published", "modified_at": "modified"}
SITE, OWN_FACET = "site", "fields."
MAX_VALUES = 12  # of a facet
MAX_VALUE_CHARS = 100  # of a value of an own field that has a link
MAX_OWN_FIELDS = 10  # that are counted, or that order results


class Choice(NamedTuple):
    """A link that narrows or orders results: its *text*, the number of *pages* that it leads to
    (0: not shown), its *address*, and whether it *is_chosen* now. A *note* tells texts apart.
    """

    text: str
    pages: int
    address: str
    is_chosen: bool
    note: str = ""


def facet_links(
    query: Query, results: Results, names: Mapping[str, str]
) -> dict[str, list[Choice]]:
    """Return the links that narrow results by each facet, by the heading of the facet. *names* are
    those of sites.

    A facet of one value gets no links, since it narrows nothing. Neither does an own field whose
    texts are all different. Long texts have none.
    """
    links: dict[str, list[Choice]] = {}
    for facet, counts in results.facets.items():
        if facet.startswith(OWN_FACET):
            name = facet.removeprefix(OWN_FACET)
            if own_choices := _own_choices(query, name, counts):
                links[name] = own_choices
        elif len(counts) > 1:
            links[FACET_NAMES[facet]] = [
                Choice(
                    _shown(facet, value, names),
                    count,
                    results_address(query, 0, **{facet: value}),
                    query.filters.get(facet) == value,
                    _host_beside(facet, value, names),
                )
                for value, count in list(counts.items())[:MAX_VALUES]
            ]
    return links


def _shown(facet: str, value: str, names: Mapping[str, str]) -> str:
    """Return how a value of a facet is shown: a site by its name."""
    return names.get(value, value) if facet == SITE else value


def _host_beside(facet: str, value: str, names: Mapping[str, str]) -> str:
    """Return the host of a site that is shown by another name, else ""."""
    host = host_of(value)
    return host if facet == SITE and _shown(facet, value, names) != host else ""


def _own_choices(query: Query, name: str, counts: Mapping[str, int]) -> list[Choice]:
    """Return the links that narrow results by the texts of an own field."""
    short = {value: count for value, count in counts.items() if len(value) <= MAX_VALUE_CHARS}
    if max(short.values(), default=0) < 2:
        return []
    return [_own_choice(query, name, *choice) for choice in list(short.items())[:MAX_VALUES]]


def _own_choice(query: Query, name: str, value: str, count: int) -> Choice:
    comparison = Comparison(name, "=", (value,))
    comparisons = [*(each for each in query.comparisons if each != comparison), comparison]
    address = results_address(replace(query, comparisons=comparisons), 0)
    return Choice(value, count, address, comparison in query.comparisons)


def order_links(
    query: Query, results: Results, own_types: Mapping[str, Sequence[str]]
) -> list[Choice]:
    """Return the links that order results by relevance, by a date that one of the shown pages has,
    or by a number or date of an own field.
    """
    names = [
        name
        for name, types in own_types.items()
        if {NUMBER, DATE} & set(types) and name not in DATE_FIELDS
    ]
    dates = [name for name in SHOWN_DATES if any(name in hit.record for hit in results.hits)]
    orders: list[tuple[str, Order | None]] = [
        ("relevance", None),
        *(
            (f"{DATE_NAMES[name]}, {direction}", Order(name, is_descending))
            for name in dates
            for direction, is_descending in (("newest first", True), ("oldest first", False))
        ),
        *(
            (f"{name}, {direction}", Order(name, is_descending))
            for name in names[:MAX_OWN_FIELDS]
            for direction, is_descending in (("smallest first", False), ("largest first", True))
        ),
    ]
    return [
        Choice(text, 0, results_address(replace(query, order=order), 0), query.order == order)
        for text, order in orders
    ]


def chosen_links(query: Query, names: Mapping[str, str]) -> list[Choice]:
    """Return for each filter of a query the link to the results without it. *names* are those of
    sites.
    """
    facets = [
        Choice(_shown(name, str(value), names), 0, results_address(query, 0, **{name: ""}), True)
        for name, value in query.filters.items()
    ]
    own = [
        Choice(
            str(each),
            0,
            results_address(
                replace(query, comparisons=[other for other in query.comparisons if other != each]),
                0,
            ),
            True,
        )
        for each in query.comparisons
    ]
    return facets + own


def query_parameters(query: Query) -> list[tuple[str, str]]:
    """Return the parameters of an address for the filters and the order of a query."""
    parameters = [(name, str(value)) for name, value in query.filters.items()]
    parameters += [("filter", str(each)) for each in query.comparisons]
    return parameters + ([("sort", str(query.order))] if query.order else [])


def results_address(query: Query, offset: int, **filters: str) -> str:
    """Return the address of a query's results from *offset*, with other *filters* ("": none)."""
    changed = replace(query, filters={**query.filters, **filters})
    start = [("from", str(offset))] if offset > 0 else []
    parameters = [(name, value) for name, value in query_parameters(changed) if value]
    return "/?" + urlencode([("q", query.words), *parameters, *start], errors="replace")
