"""Bodies that publish own texts, and what sources make of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.site.own.sources import Source

URL = "https://e.org/feed"


def rss(*items: str) -> bytes:
    return (
        '<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:media="http://search.yahoo.com/mrss/"><channel><link>https://e.org/</link>'
        "<title>The site</title>"
        + "".join(f"<item>{item}</item>" for item in items)
        + "</channel></rss>"
    ).encode()


def atom(*entries: str, head: str = "") -> bytes:
    entries = tuple(f"<entry>{entry}</entry>" for entry in entries)
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{head}{"".join(entries)}</feed>'.encode()


def as_json(value: object) -> bytes:
    return json.dumps(value).encode()


def texts(source: Source, body: bytes, url: str = URL) -> list[tuple[str, str]]:
    return [(text.url, text.text) for text in source.read(body, url)]


ODD = [
    "http://[x/",
    "http://[::1/",
    "http://e.org:port/",
    "http://e.org:99999/",
    "http://e.org:0/",
    "http://",
    "javascript:alert(1)",
    "mailto:a@e.org",
    "urn:1",
    "\ud800",
    "https://e.org/\udfff",
    "http://\u2100.org/",
    "https://e.org/" + "a" * 2_000,
]

JSON_FEED = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "The site",
    "authors": [{"name": "The Editors"}],
    "items": [
        {
            "id": "1",
            "url": "/a",
            "title": "Tea",
            "content_html": "<p>One</p><p>two",
            "summary": "s",
            "date_published": "2024-03-01T08:00:00Z",
            "date_modified": "2024-03-02T08:00:00Z",
            "authors": [{"name": "Ada Byron"}],
        },
        {"id": 2, "url": "https://e.org/b", "content_text": "a <b> c"},
        {"id": 3, "url": "https://e.org/c", "title": "No text"},
        {"id": 4, "url": 5, "content_text": "no address"},
        "no object",
    ],
}

MARKDOWN = """---
title: "Tea and leaves"
author: Ada Byron
date: 2024-03-01
tags: [a]
---
# Tea #

![A cup](cup.png) Tea is made of *leaves*, **hot _water_** and
[time](/time "title"), see <https://e.org/x>.<!-- not
this -->

Two lines
---------
> Quoted `a * b * c` text\\*

```python
# no heading
x = "*a*"
```
1. first
   more of it
- [x] second

| Kind | Price |
|------|------:|
| black | 2 &euro; |

[1]: https://e.org/ref
See [there][1], 2 * 3 * 4, snake_case_name and <b>bold</b>.
***
"""
