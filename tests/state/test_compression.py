"""Records that are packed with a dictionary: they are what they were, and smaller."""

from __future__ import annotations

import zlib

import pytest
from contentspider.state.compression import ENOUGH, RecordCompressor
from contentspider.state.schema import HISTORY

from contentspider.ground.compression import needs_dictionary
from contentspider.ground.errors import DAMAGE
from contentspider.state.database import Database

TEMPLATE = " ".join(f"name{number * number}" for number in range(400))


def records(count: int, template: str = TEMPLATE) -> list[bytes]:
    return [f"{template} page {number} says {number**9}".encode() for number in range(count)]


def words_of(database: Database, kind: str) -> list[bytes]:
    query = "SELECT words FROM dictionaries WHERE kind = ? ORDER BY number"
    return [words for (words,) in database.rows(query, (kind,))]


@pytest.fixture
def database() -> Database:
    return Database(None, schema=HISTORY)


def test_dictionary_is_built_from_first_five_records(database: Database) -> None:
    packing, given = RecordCompressor(database, "items"), records(20)
    packed = [packing.pack(record) for record in given]
    assert words_of(database, "items") == [b"".join(given[:ENOUGH])]
    assert list(map(needs_dictionary, packed)) == [False] * ENOUGH + [True] * 15
    assert max(map(len, packed[ENOUGH:])) < 0.2 * len(packed[0])
    for reader in (packing, RecordCompressor(database), RecordCompressor(database, "pages")):
        assert [reader.unpack(each) for each in packed] == given


def test_dictionary_is_replaced_when_it_stops_helping_and_old_records_stay_readable(
    database: Database,
) -> None:
    given = records(10)
    packed = [RecordCompressor(database, "items").pack(record) for record in given]
    assert not words_of(database, "items")  # each writer had one record
    for _ in range(2):
        packing = RecordCompressor(database, "items")
        packed += map(packing.pack, given)
        assert words_of(database, "items") == [b"".join(given[:ENOUGH])]
    others = records(10, TEMPLATE[::-1])
    packing = RecordCompressor(database, "items")
    packed += map(packing.pack, others)
    assert words_of(database, "items") == [
        b"".join(records[:ENOUGH]) for records in (given, others)
    ]
    assert len(packed[-1]) < 0.3 * len(packed[-ENOUGH - 1])
    assert list(map(RecordCompressor(database).unpack, packed)) == given * 3 + others


def test_each_record_kind_has_its_own_dictionary(database: Database) -> None:
    for kind in ("pages", "items"):
        for record in records(ENOUGH + 1):
            RecordCompressor(database).unpack(RecordCompressor(database, kind).pack(record))
        packing = RecordCompressor(database, kind)
        for record in records(ENOUGH + 1, TEMPLATE + kind):
            packing.pack(record)
        assert len(words_of(database, kind)) == 1


@pytest.mark.large
def test_damaged_record_or_missing_dictionary_raises_error(database: Database) -> None:
    packing = RecordCompressor(database, "items")
    packed = [packing.pack(record) for record in records(ENOUGH + 2)][-1]
    database.do("DELETE FROM dictionaries")
    bomb = zlib.compress(zlib.compress(bytes(400_000_000), 9), 9)
    bomb = zlib.decompress(bomb)
    for damaged in (packed, b"", b"x", packed[:-1], bomb):
        with pytest.raises(DAMAGE):
            RecordCompressor(database).unpack(damaged)
