"""Compression of records with a shared dictionary (RFC 1950): records of one kind are alike."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from contentspider.ground.compression import needs_dictionary, pack, unpack

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database

COMPRESSION = 5  # zlib's level for records that stay for years; 3 is 30 % faster, 6 % larger
WORDS_BYTES = 32_000  # zlib uses no more of a dictionary
ENOUGH = 5  # the number of records that make a dictionary
WORTH = 0.85  # a new dictionary is made if the present one leaves more of a record than this share


class RecordCompressor:
    """Compresses records of one *kind* with a dictionary in *database*; unpacks any kind."""

    def __init__(self, database: Database, kind: str = "") -> None:
        self._database = database
        self._kind = kind
        self._packed, self._recent = 0, b""
        self._read: dict[int, bytes] = {}

    def pack(self, data: bytes) -> bytes:
        """Return a compressed record."""
        # Queried each time, because a rollback may have deleted the dictionary.
        query = "SELECT words FROM dictionaries WHERE kind = ? ORDER BY number DESC LIMIT 1"
        packed = pack(data, self._database.value(query, (self._kind,)) or b"", COMPRESSION)
        self._packed += 1
        if self._packed <= ENOUGH:
            self._recent = (self._recent + data)[-WORDS_BYTES:]
        if self._packed == ENOUGH and len(packed) > WORTH * len(pack(data)):
            self._database.do(
                "INSERT OR IGNORE INTO dictionaries (id, kind, words) VALUES (?, ?, ?)",
                (zlib.adler32(self._recent), self._kind, self._recent),
            )
        return packed

    def unpack(self, packed: bytes) -> bytes:
        """Return the record that `pack` compressed; raises one of `DAMAGE`."""
        if not needs_dictionary(packed):
            return unpack(packed)
        number = int.from_bytes(packed[2:6], "big")
        if number not in self._read:
            query = "SELECT words FROM dictionaries WHERE id = ?"
            self._read[number] = self._database.value(query, (number,)) or b""
        return unpack(packed, self._read[number])
