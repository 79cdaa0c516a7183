"""Ledgers as a later process finds them."""

from __future__ import annotations

from contentspider.state.ledger.ledger import Ledger


def killed(ledger: Ledger) -> Ledger:
    """Return the ledger as a new process finds it after a kill."""
    ledger.close()
    return Ledger(ledger.path)
