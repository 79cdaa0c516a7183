"""Contents are stored once, packed with what is alike: they are what they were, and smaller."""

from __future__ import annotations

import pytest

from contentspider.ground.compression import MAX_BYTES
from contentspider.ground.errors import DAMAGE
from contentspider.state.book import contents as module
from contentspider.state.book.contents import ENOUGH, ITEM, MAX_BASES, PAGE, Contents
from contentspider.state.book.database import Database

TEMPLATE = " ".join(f"name{number * number}" for number in range(400))


def records(count: int, template: str = TEMPLATE) -> list[bytes]:
    return [f"{template} page {number} says {number**9}".encode() for number in range(count)]


def words_of(database: Database, kind: str) -> list[bytes]:
    query = "SELECT words FROM dictionaries WHERE kind = ? ORDER BY number"
    return [words for (words,) in database.rows(query, (kind,))]


def sizes(database: Database) -> list[int]:
    query = "SELECT length(data) FROM contents ORDER BY number"
    return [size for (size,) in database.rows(query)]


@pytest.fixture
def database() -> Database:
    return Database(None)


def test_first_contents_of_a_kind_make_a_dictionary(database: Database) -> None:
    contents, given = Contents(database), records(ENOUGH + 15)
    numbers = [contents.put(ITEM, record) for record in given]
    assert words_of(database, ITEM) == [b"".join(given[:ENOUGH])[-module.WORDS_BYTES :]]
    assert max(sizes(database)[ENOUGH:]) < 0.2 * sizes(database)[0]
    for reader in (contents, Contents(database)):
        assert [reader.get(number) for number in numbers] == given
    assert contents.kind(numbers[0]) == ITEM
    assert contents.kind(99) == ""


def test_dictionary_is_replaced_when_it_stops_helping_and_old_contents_stay_readable(
    database: Database,
) -> None:
    given = records(ENOUGH + 5)
    numbers = [Contents(database).put(ITEM, record) for record in given]
    assert not words_of(database, ITEM)  # each process had one content
    for _ in range(2):
        contents = Contents(database)
        numbers += [contents.put(ITEM, record) for record in given]
        assert len(words_of(database, ITEM)) == 1
    others = records(ENOUGH + 5, TEMPLATE[::-1])
    contents = Contents(database)
    numbers += [contents.put(ITEM, record) for record in others]
    assert len(words_of(database, ITEM)) == 2
    assert sizes(database)[-1] < 0.3 * sizes(database)[-ENOUGH]
    reader = Contents(database)
    assert [reader.get(number) for number in numbers] == given * 3 + others


def test_each_kind_has_its_own_dictionary(database: Database) -> None:
    contents = Contents(database)
    for kind in (PAGE, ITEM):
        for record in records(ENOUGH + 1, TEMPLATE + kind):
            contents.put(kind, record)
        assert len(words_of(database, kind)) == 1
    assert words_of(database, PAGE) != words_of(database, ITEM)


def test_content_is_packed_with_its_base(database: Database) -> None:
    contents = Contents(database)
    page = " ".join(f"word{number**5}" for number in range(2_000)).encode()
    base = contents.put(PAGE, page)
    number = contents.put(ITEM, b'{"content": "' + page[100:] + b'"}', base)
    assert sizes(database)[1] < 0.05 * sizes(database)[0]
    contents.forget()
    assert contents.get(number) == b'{"content": "' + page[100:] + b'"}'
    assert contents.get(base) == page
    # With a dictionary beside it, too; the base may have been packed with another.
    for record in records(ENOUGH + 1):
        contents.put(ITEM, record)
    other = contents.put(ITEM, page[50:], base)
    later = contents.put(ITEM, page[60:], other)
    contents.forget()
    assert (contents.get(later), contents.get(other)) == (page[60:], page[50:])
    assert sizes(database)[-1] < 0.05 * sizes(database)[0]


def test_missing_or_damaged_base_is_not_used(database: Database) -> None:
    contents = Contents(database)
    base = contents.put(PAGE, b"some page")
    database.do("UPDATE contents SET data = x'00'")
    contents.forget()
    for given in (base, 99):
        number = contents.put(ITEM, b"an item", given)
        contents.forget()
        assert contents.get(number) == b"an item"


@pytest.mark.parametrize("data", [b"", b"x", "é\ud83d".encode("utf-8", "surrogatepass")])
def test_any_bytes_are_read_back_unchanged(database: Database, data: bytes) -> None:
    contents = Contents(database)
    number = contents.put(PAGE, data)
    contents.forget()
    assert contents.get(number) == data


def test_contents_are_forgotten_with_a_rollback(tmp_path_factory: pytest.TempPathFactory) -> None:
    database = Database(tmp_path_factory.mktemp("book") / "crawl.sqlite")
    contents = Contents(database)
    for record in records(ENOUGH + 1):
        number = contents.put(ITEM, record)
    database.rollback()
    contents.forget()
    with pytest.raises(LookupError):
        contents.get(number)
    again = [contents.put(ITEM, record) for record in records(3)]
    database.commit()
    assert [Contents(database).get(each) for each in again] == records(3)
    database.close()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM contents WHERE number = :last",
        "UPDATE contents SET data = x''",
        "UPDATE contents SET data = x'00'",
        "UPDATE contents SET data = substr(data, 1, length(data) - 1)",
        "UPDATE contents SET data = CAST(substr(data, 1, 20) || x'ff' || substr(data, 22) AS BLOB)",
        "UPDATE contents SET base = number",
        "UPDATE contents SET base = 12345",
        "DELETE FROM dictionaries",
        "UPDATE dictionaries SET words = x'00'",
        "UPDATE dictionaries SET words = CAST(substr(words, 1, 50) AS BLOB)",
        "UPDATE contents SET dictionary = NULL",
        "UPDATE contents SET data = 'text'",
        "UPDATE contents SET data = 7",
        "UPDATE dictionaries SET words = 7",
    ],
)
def test_damaged_or_missing_content_raises_an_error_of_damage(
    database: Database, damage: str
) -> None:
    contents = Contents(database)
    last = [contents.put(ITEM, record) for record in records(ENOUGH + 2)][-1]
    assert database.value("SELECT dictionary FROM contents WHERE number = ?", (last,))
    database.do(damage.replace(":last", str(last)))
    with pytest.raises(DAMAGE):
        Contents(database).get(last)


def test_content_that_is_replaced_often_stays_readable(database: Database) -> None:
    """An item gets other fields with each model of its site."""
    contents, number = Contents(database), None
    for time in range(50):
        number = contents.put(ITEM, b"the item %d" % time, number)
    assert number is not None
    assert Contents(database).get(number) == b"the item 49"
    assert database.count("SELECT count(DISTINCT base) FROM contents") == MAX_BASES


def test_long_chain_of_bases_is_damage(database: Database) -> None:
    contents = Contents(database)
    numbers = [contents.put(ITEM, b"the same") for _ in range(MAX_BASES + 3)]
    database.do("UPDATE contents SET base = number - 1 WHERE number > 1")
    with pytest.raises(DAMAGE):
        Contents(database).get(numbers[-1])


@pytest.mark.large
def test_decompression_bomb_is_damage(database: Database) -> None:
    packed = module._pack(bytes(MAX_BYTES + 1), None)
    database.do("INSERT INTO contents VALUES (1, ?, NULL, NULL, ?)", (PAGE, packed))
    with pytest.raises(DAMAGE):
        Contents(database).get(1)


def test_memory_keeps_the_last_contents(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CACHE_BYTES", 100)
    contents = Contents(database)
    first = contents.put(PAGE, b"x" * 60)
    second = contents.put(PAGE, b"y" * 60)
    database.do("DELETE FROM contents")
    assert contents.get(second) == b"y" * 60
    with pytest.raises(LookupError):
        contents.get(first)
