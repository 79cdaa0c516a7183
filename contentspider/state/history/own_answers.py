"""What the sources of own texts answered in earlier crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.state.ledger.own_texts import OwnAnswer, pack, read_texts, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.state.ledger.database import Database


class OwnAnswers:
    """The answers of earlier crawls, in the database of a history."""

    def __init__(self, database: Database) -> None:
        self._name = database.name
        self._do = database.do

    def at(self, address: str) -> OwnAnswer | None:
        """Return the last answer of the source at an address, None if there is none."""
        row = self._do(
            "SELECT site, address, etag, last_modified, texts FROM own_answers WHERE address = ?",
            (address,),
        ).fetchone()
        if row is None:
            return None
        records = unpack(row[4])
        texts = read_texts(self._name, records if isinstance(records, list) else [records])
        return OwnAnswer(row[0], row[1], row[2], row[3], tuple(texts))

    def replace(self, answers: Iterable[OwnAnswer]) -> None:
        """Replace the known answers of the sites of a crawl by its own."""
        every = list(answers)
        for site in {answer.site for answer in every}:
            self._do("DELETE FROM own_answers WHERE site = ?", (site,))
        for answer in every:
            records = [own.to_record() for own in answer.texts]
            self._do(
                "INSERT OR REPLACE INTO own_answers VALUES (?, ?, ?, ?, ?)",
                (answer.address, answer.site, answer.etag, answer.last_modified, pack(records)),
            )
