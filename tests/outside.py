"""How clients that are not ours ask an index: for a word in titles, and for pages after a day."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.servers import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator


def _seconds(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp())


def sqlite(url: str, word: str, day: str) -> Iterator[str]:
    """Yield the ids that Python's own client finds."""
    with closing(sqlite3.connect(url.partition(":")[2])) as made:
        rows = made.execute(
            "SELECT id FROM documents JOIN pages ON number = pages.rowid"
            " WHERE pages MATCH ? AND datetime(published_at) > ?",
            [f"title: {word}", day],
        )
        yield from (name for (name,) in rows)


def tantivy(url: str, word: str, day: str) -> Iterator[str]:
    """Yield the ids that tantivy's parser of queries finds."""
    from tantivy import Index

    (folder,) = Path(url.partition(":")[2]).glob("index-*")
    index = Index.open(str(folder))
    query = index.parse_query(f"+title:{word} +published_at:[{day}T00:00:00Z TO *]", ["content"])
    searcher = index.searcher()
    for _, address in searcher.search(query).hits:
        yield str(searcher.doc(address).get_first("id"))


def postgresql(url: str, word: str, day: str) -> Iterator[str]:
    """Yield the ids that SQL finds, with a word as it is stored."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    database, _, table = url.rpartition("/")
    statement = SQL(
        "SELECT id FROM {} WHERE published_at > %s AND words @@ to_tsquery('simple', %s)"
    ).format(Identifier(table))
    with psycopg.connect(database) as made:
        yield from (name for (name,) in made.execute(statement, [day, f"{word}:A"]))


def asked(url: str, path: str, body: object, **headers: str) -> Any:
    """Return the answer of a server that is asked by HTTP."""
    with closing(HTTPConnection(urlsplit(url).netloc)) as made:
        kind = {"Content-Type": "application/json"}
        made.request("POST", path, json.dumps(body), headers | kind)
        return json.load(made.getresponse())


def typesense(url: str, word: str, day: str) -> Iterator[str]:
    """Yield the ids that Typesense finds in titles."""
    search = {"collection": url.rpartition("/")[2], "q": word, "query_by": "title"}
    search["filter_by"] = f"published_at:>{_seconds(day)}"
    body = {"searches": [search]}
    found = asked(url, "/multi_search", body, **{"X-TYPESENSE-API-KEY": KEY})
    yield from (hit["document"]["id"] for hit in found["results"][0]["hits"])


def opensearch(url: str, word: str, day: str) -> Iterator[str]:
    """Yield the ids that a query in OpenSearch's own terms finds."""
    clauses = [{"match": {"title": word}}, {"range": {"published_at": {"gt": day}}}]
    body = {"query": {"bool": {"must": clauses}}}
    found = asked(url, f"/{url.rpartition('/')[2]}/_search", body)
    yield from (hit["_id"] for hit in found["hits"]["hits"])


def meilisearch(url: str, word: str, day: str) -> Iterator[str]:
    """Yield the ids that a search without anything of ours finds."""
    search = {"q": word, "filter": f"published_at > {_seconds(day)}"}
    path = f"/indexes/{url.rpartition('/')[2]}/search"
    found = asked(url, path, search, Authorization=f"Bearer {KEY}")
    yield from (hit["id"] for hit in found["hits"])


ASK = {
    "sqlite": sqlite,
    "tantivy": tantivy,
    "postgresql": postgresql,
    "typesense": typesense,
    "opensearch": opensearch,
    "elasticsearch": opensearch,
    "meilisearch": meilisearch,
}
