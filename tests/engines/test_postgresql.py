"""What is PostgreSQL's own: what every engine does is in test_contract.py."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from contentspider.index.engine import Query, create_engine
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import Document
from contentspider.index.sync import upsert_in_halves
from tests.engines.documents import engine, named
from tests.servers import KEY, index_url, postgresql_server, shared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.index.engine import Engine
    from tests.servers import Server

__all__ = ["engine"]

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def url() -> Iterator[str]:
    with index_url(postgresql_server) as made:
        yield made


@pytest.fixture
def server(url: str) -> Server:
    return shared(postgresql_server)


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.url, autocommit=True) as made:
        yield made


def titles(engine: Engine, words: str) -> list[str]:
    return [str(hit.record["title"]) for hit in engine.search(Query(words)).hits]


def test_documents_postgresql_rejects_are_reported_and_others_stored(engine: Engine) -> None:
    many = " ".join(f"word{number}" for number in range(150_000))
    documents = [named(str(number)) for number in range(7)]
    documents[2] = named("2", content="a\0b")
    documents[5] = named("5", content=many)
    refused = {entry.id: entry.reason for entry in upsert_in_halves(engine.upsert, documents)}
    assert sorted(engine.find([str(number) for number in range(7)])) == ["0", "1", "3", "4", "6"]
    assert "NUL" in refused["2"]
    assert "too long for tsvector" in refused["5"]
    assert many[:50] not in refused["5"]


def test_null_characters_and_surrogates_are_stored_in_more_field(engine: Engine) -> None:
    more = {"price": 1.5, "odd": "a\0b\ud800"}
    assert engine.upsert([named("a", more=more)]) == []
    found = engine.get("a")
    assert found is not None
    assert found["more"] == more


def is_down(engine: Engine) -> bool:
    try:
        engine.find(["a"])
    except EngineDownError:
        return True
    return False


def test_killed_server_raises_engine_down_error_until_restarted(
    server: Server, engine: Engine
) -> None:
    engine.upsert([named("a")])
    server.kill()
    try:
        # The process of the connection may outlive the server's by a moment.
        assert any(is_down(engine) for _ in range(10_000))
        with pytest.raises(EngineDownError):
            engine.find(["a"])
        with pytest.raises(EngineDownError):
            engine.upsert([named("b")])
    finally:
        server.start()
    assert list(engine.find(["a", "b"])) == ["a"]


def test_busy_server_raises_engine_down_error(
    engine: Engine,
    url: str,
    connection: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c lock_timeout=50")
    impatient = create_engine(url)
    table = psycopg.sql.Identifier(url.rpartition("/")[2])
    with connection.transaction():
        connection.execute(psycopg.sql.SQL("LOCK TABLE {}").format(table))
        with pytest.raises(EngineDownError, match="lock timeout"):
            impatient.upsert([named("a")])
    assert impatient.upsert([named("a")]) == []
    impatient.close()


def test_connection_in_the_middle_of_a_command_is_replaced(engine: Engine) -> None:
    """So does psycopg leave it, if the server's process dies at a bad moment."""
    assert not engine.upsert([named("a")])
    engine._connection.pgconn.send_query(b"SELECT pg_sleep(60)")  # type: ignore[attr-defined]
    with pytest.raises(EngineDownError):
        engine.find(["a"])
    assert not engine.upsert([named("b")])
    assert sorted(engine.find(["a", "b"])) == ["a", "b"]


def test_wrong_password_raises_engine_error_without_password(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong-4712")
    with pytest.raises(EngineError, match="authentication failed") as caught:
        create_engine(url).open(is_writer=True)
    assert not isinstance(caught.value, EngineDownError)
    assert "wrong-4712" not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", KEY)
    with pytest.raises(EngineError, match="does not exist") as caught:
        create_engine(url.replace("/postgres/", "/nosuch/")).open(is_writer=True)
    assert not isinstance(caught.value, EngineDownError)


@pytest.mark.parametrize(
    "wrong",
    [
        *("postgresql:pages", "postgresql://h", "postgresql://h/a/b/c", "postgresql://h//b"),
        *("postgresql://h:port/a/b", "postgresql://h/a/%s", "postgresql://h/a/" + "b" * 51),
    ],
)
def test_incomplete_url_raises_engine_error(wrong: str) -> None:
    with pytest.raises(EngineError, match="postgresql://host:port/database/table"):
        create_engine(wrong)


def test_foreign_table_is_left_unchanged(url: str, connection: psycopg.Connection) -> None:
    name = url.rpartition("/")[2]
    table = psycopg.sql.Identifier(name)
    for comment in ("NULL", "'{\"theirs\": 1}'"):
        connection.execute(psycopg.sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        connection.execute(psycopg.sql.SQL("CREATE TABLE {} AS SELECT 7 AS n").format(table))
        connection.execute(f'COMMENT ON TABLE "{name}" IS {comment}')
        theirs = create_engine(url)
        with pytest.raises(EngineError, match=" exists, but"):
            theirs.open(is_writer=True)
        with (
            pytest.raises(EngineError, match=" exists, but"),
            theirs.rebuild(),
        ):
            pass
        theirs.close()
        left = connection.execute(psycopg.sql.SQL("SELECT n FROM {}").format(table))
        assert left.fetchall() == [(7,)]


def test_ids_and_query_words_are_not_executed_as_sql(engine: Engine) -> None:
    engine.upsert([named("a';--", title="""Don't "drop" %s \\ 'tables' :* & !""")])
    assert list(engine.find(["a';--"])) == ["a';--"]
    for words in ("don't", '"drop"', "%s", "\\", "tables':*", "a & !", "tables <-> drop", "(", "'"):
        engine.search(Query(words))
    assert titles(engine, "tables' & !drop") == ["""Don't "drop" %s \\ 'tables' :* & !"""]
    with pytest.raises(EngineError, match="nosuch"):
        engine.search(Query("drop", {"nosuch": "x"}))


def test_words_of_one_heading_rank_before_words_apart_on_a_short_page(engine: Engine) -> None:
    engine.upsert(
        [
            named("guide", headings=["Ferry timetable"], content="Other words follow. " * 400),
            named("note", content="A ferry came. Nobody on the pier had seen any timetable."),
        ]
    )
    assert titles(engine, "ferry timetable") == ["guide", "note"]


def test_failed_rebuild_leaves_index_unchanged(engine: Engine, url: str) -> None:
    engine.upsert([named("old")])
    with pytest.raises(KeyError), engine.rebuild() as (new, _):
        new.upsert([named("new")])
        raise KeyError
    assert titles(engine, "") == ["old"]
    for name in ("second", "third"):
        with engine.rebuild() as (new, _):
            new.upsert([named(name)])
        assert titles(engine, "") == [name]


def test_documents_are_listed_page_by_page(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contentspider.index.engines.postgresql.PAGE", 2)
    for count in range(6):
        assert [stored.id for stored in engine.documents()] == [str(n) for n in range(count)]
        engine.upsert([named(str(count))])
    engine.upsert([Document("zz", "other", 1, "h", {"url": "u", "site": "s"})])
    assert [stored.id for stored in engine.documents("other")] == ["zz"]


def test_words_are_corrected_and_completed_by_words_of_the_index(
    engine: Engine, connection: psycopg.Connection, url: str
) -> None:
    table = url.rpartition("/")[2]
    engine.upsert([named("1", title="Café integrations"), named("2", title="Reports")])
    for words, title in (("intergations", "Café integrations"), ("repo", "Reports")):
        assert titles(engine, words) == [title]
    assert engine.search(Query("cafe integratons")).corrected == "cafe integrations"
    assert titles(engine, "wordless") == []
    assert [hit.record["id"] for hit in engine.search(Query("integ", is_typing=True)).hits] == ["1"]
    with engine.rebuild() as (new_index, _):
        new_index.upsert([named("3", title="Ferries")])
    assert titles(engine, "feries") == ["Ferries"]
    assert titles(engine, "intergations") == []
    # Other tests leave tables of failed rebuilds.
    names = {name for (name,) in connection.execute("SELECT tablename FROM pg_tables")}
    assert not {f"{table}__new", f"{table}__new__words"} & names


def test_table_of_another_program_is_not_taken_for_words(
    url: str, connection: psycopg.Connection
) -> None:
    name = psycopg.sql.Identifier(url.rpartition("/")[2] + "__words")
    connection.execute(psycopg.sql.SQL("CREATE TABLE {} (word text)").format(name))
    engine = create_engine(url)
    with pytest.raises(EngineError):
        engine.open(is_writer=True)
    with pytest.raises(EngineError), engine.rebuild():
        pass
    assert connection.execute(psycopg.sql.SQL("SELECT count(*) FROM {}").format(name))
    engine.close()


def test_writers_of_several_crawls_keep_the_marks_and_types_of_others(
    engine: Engine, url: str
) -> None:
    def write(crawl: str) -> None:
        with closing(create_engine(url)) as writer:
            writer.open(is_writer=True)
            for number in range(10):
                writer.set_mark(f"{crawl}{number}", "mark")
                writer.add_own_types({f"{crawl}{number}": {"text"}})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    names = {f"{crawl}{number}" for crawl in "abcd" for number in range(10)}
    assert {name for name in names if engine.mark(name) == "mark"} == names
    assert engine.own_types().keys() == names
