"""Tests for the states of addresses."""

from __future__ import annotations

import re

import pytest

from contentspider.state.address_state import TRANSITIONS, AddressState
from contentspider.state.book.book import Book
from tests.conftest import ROOT

DOCS = ROOT / "docs" / "durability.md"
ROW = re.compile(r"^\| `(\w+)` \| .* \| ((?:`\w+`(?:, )?)+) \|$", re.MULTILINE)


def test_every_state_has_transitions() -> None:
    assert list(TRANSITIONS) == list(AddressState)


def test_documentation_has_same_transitions() -> None:
    documented = {
        AddressState(state): frozenset(map(AddressState, re.findall(r"\w+", targets)))
        for state, targets in ROW.findall(DOCS.read_text(encoding="utf-8"))
    }
    assert documented == TRANSITIONS


def test_states_are_written_as_their_values() -> None:
    assert f"{AddressState.HELD}" == str(AddressState.HELD) == "held"


@pytest.mark.parametrize("state", ["taken", "moved"])
def test_taken_address_rejects_states_outside_table(state: str) -> None:
    book = Book(None)
    row = book.frontier.enqueue(b"1", "http://e.org/", 0, "{}")
    book.frontier.queue.take()
    with pytest.raises(ValueError, match=state):
        book.frontier.finish(row, state)
    assert book.frontier.states() == {"taken": 1}


def test_held_address_does_not_become_fetched() -> None:
    book = Book(None)
    row = book.frontier.enqueue(b"1", "http://e.org/", 0, "{}")
    book.frontier.queue.take()
    book.frontier.finish(row, "held")
    with pytest.raises(ValueError, match="from held to fetched"):
        book.frontier.mark_released(row, "fetched", None)
    assert book.frontier.states() == {"held": 1}
