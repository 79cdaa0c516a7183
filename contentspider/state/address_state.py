"""The states of a crawl's addresses, and the transitions between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class AddressState(str, Enum):
    """The state of an address in a crawl, as the book stores it."""

    QUEUED = "queued"  # it waits for its request
    TAKEN = "taken"  # its request was handed out, and the answer has not come
    FETCHED = "fetched"  # its answer gave no item
    HELD = "held"  # its item waits until the site has been learned
    RELEASED = "released"  # its item was released
    UNCHANGED = "unchanged"  # its page is unchanged, and the crawl wants changed pages only
    REDIRECTED = "redirected"  # it redirects to its target
    SKIPPED = "skipped"  # it is left out on purpose; the reason says why
    RETRY = "retry"  # it failed for now, and its stored request is sent again
    FAILED = "failed"  # it could not be read

    def __str__(self) -> str:
        return self.value


_FINAL = frozenset(
    [
        AddressState.FETCHED,
        AddressState.RELEASED,
        AddressState.UNCHANGED,
        AddressState.REDIRECTED,
        AddressState.SKIPPED,
        AddressState.FAILED,
    ]
)
# A spider can request an address in a final state again (`dont_filter`): the state becomes QUEUED.
# An address in RETRY becomes SKIPPED if it turns out to be a duplicate.
TRANSITIONS: Mapping[AddressState, frozenset[AddressState]] = {
    AddressState.QUEUED: frozenset([AddressState.TAKEN]),
    AddressState.TAKEN: _FINAL | {AddressState.QUEUED, AddressState.HELD, AddressState.RETRY},
    AddressState.FETCHED: frozenset([AddressState.QUEUED]),
    AddressState.HELD: frozenset(
        [
            AddressState.QUEUED,
            AddressState.RELEASED,
            AddressState.UNCHANGED,
            AddressState.SKIPPED,
            AddressState.FAILED,
        ]
    ),
    AddressState.RELEASED: frozenset([AddressState.QUEUED]),
    AddressState.UNCHANGED: frozenset([AddressState.QUEUED]),
    AddressState.REDIRECTED: frozenset([AddressState.QUEUED]),
    AddressState.SKIPPED: frozenset([AddressState.QUEUED]),
    AddressState.RETRY: frozenset([AddressState.QUEUED, AddressState.SKIPPED]),
    AddressState.FAILED: frozenset([AddressState.QUEUED]),
}


def next_state(state: AddressState, new_state: str) -> AddressState:
    """Return *new_state* as a state; raises ValueError if an address cannot get it from *state*."""
    target = AddressState(new_state)
    if target not in TRANSITIONS[state]:
        raise ValueError(f"an address cannot change from {state} to {target}")
    return target
