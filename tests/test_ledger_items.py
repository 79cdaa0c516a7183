"""Items of a ledger: held until a model is there, released once; what is damaged is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.input.page import Page
from contentspider.state.ledger.ledger import Ledger
from tests.ledgers import killed
from tests.test_storage import HTML, Article

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_held_items_are_released_in_order_and_settled_once(path: Path) -> None:
    ledger = Ledger(path)
    odd = Article("odd", made=object())  # cannot go to disk
    for number, item in enumerate([{"url": "a"}, odd, {"url": "b"}]):
        assert ledger.items.hold("site", item, Page.from_html(HTML, f"u{number}"), key=f"k{number}")
    assert not ledger.items.hold("site", {"url": "a"}, Page.from_html(HTML, "u0"), key="k0")
    ledger.items.hold("other", {"url": "c"}, Page.from_html(HTML))
    ledger.commit()
    assert ledger.items.held_counts() == {"other": 1, "site": 3}
    assert [page.url for page in ledger.items.held_pages("site")] == ["u0", "u1", "u2"]
    released = list(ledger.items.release("site"))
    assert [held.item for held in released] == [{"url": "a"}, odd, {"url": "b"}]
    assert ledger.items.settle(released[0].row, "k0", line=b'{"n": 1}')
    assert not ledger.items.settle(None, "k0", line=b'{"n": 2}')
    assert ledger.items.settle(released[2].row, "k2", reason="dropped")
    assert list(ledger.items.lines()) == [b'{"n": 1}']
    assert ledger.items.has_item("k0")
    assert ledger.items.has_item("k1")
    assert not ledger.items.has_item("k9")
    assert ledger.items.held_counts() == {"other": 1, "site": 1}
    ledger.close()


def with_an_item_in_memory(path: Path) -> tuple[Ledger, int]:
    """Return a ledger that holds an item which is no data, and the row of its address."""
    ledger = Ledger(path)
    ledger.begin_run()
    row = ledger.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    assert row is not None
    ledger.frontier.queue.take()
    ledger.items.hold(
        "site", Article("odd", made=object()), Page.from_html(HTML), key="k", address_row=row
    )
    ledger.frontier.finish(row, "held")
    return ledger, row


def test_an_item_that_is_in_memory_only_is_fetched_again_after_a_kill(path: Path) -> None:
    ledger, _ = with_an_item_in_memory(path)
    ledger.commit()
    again = killed(ledger)
    again.begin_run()
    assert again.items.held_counts() == {}
    assert again.frontier.queue.length == 1
    again.close()


def test_an_item_in_memory_ends_its_address_when_it_is_out(path: Path) -> None:
    ledger, row = with_an_item_in_memory(path)
    (held,) = ledger.items.release("site")
    ledger.items.settle(held.row, "k", row, b"{}")
    assert ledger.frontier.states() == {"held": 1}
    ledger.frontier.mark_released(row, "released", None)
    assert ledger.frontier.states() == {"released": 1}
    ledger.close()


def test_what_is_damaged_is_said_and_left_out(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger(path)
    for number in range(3):
        ledger.items.hold("x", {"n": number}, Page.from_html(HTML, f"u{number}"), key=f"h{number}")
        ledger.items.settle(None, f"{number}/0", number, b'{"n": %d}' % number)
        ledger.pages.offer("x", Page.from_html(HTML, f"u{number}"))
    ledger._database.do("UPDATE held_items SET page = x'00' WHERE number = 2")
    ledger._database.do("UPDATE items SET line = x'00' WHERE number = 2")
    ledger._database.do("UPDATE pages SET page = x'00' WHERE url = 'u1'")
    assert [held.item["n"] for held in ledger.items.release("x")] == [0, 2]
    assert [page.url for page in ledger.items.held_pages("x")] == ["u0", "u2"]
    assert list(ledger.items.lines()) == [b'{"n": 0}', b'{"n": 2}']
    assert [page.url for page in ledger.pages.sample("x")] == ["u0", "u2"]
    assert len([line for line in caplog.messages if "crawl.sqlite" in line]) == 4
    ledger.close()
