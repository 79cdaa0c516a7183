"""Reads the newest posts and pages of WordPress from its REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.addresses import absolute
from contentspider.site.own.readers.reading import (
    is_json,
    objects,
    own_text,
    read_json,
    string,
    text_of,
)
from contentspider.site.own.texts import MAX_TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.sources import Announced
    from contentspider.site.own.texts import OwnText

API_RELATION = "https://api.w.org/"
KINDS = ("posts", "pages")
# Some servers take many seconds for more than 20 posts.
QUERY = "per_page=20&_fields=link,title,content,date_gmt,modified_gmt"


class WordPress:
    """The own texts of WordPress: the content of posts and of pages, without themes and widgets."""

    name = "wordpress"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of the newest posts and pages, if a page announces the API."""
        for rel, _, root in announced.links:
            if API_RELATION in rel.split():
                # On sites with plain permalinks the API is a parameter: ``/?rest_route=/``.
                separator = "&" if "?" in root else "?"
                for kind in KINDS:
                    yield f"{root.rstrip('/')}/wp/v2/{kind}{separator}{QUERY}"

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the texts of a list of posts, without posts that are protected by a password."""
        if not is_json(body):
            return []
        texts: dict[str, OwnText] = {}
        for post in objects(read_json(body), MAX_TEXTS):
            own = _post_text(post, url)
            if own is not None:
                texts.setdefault(own.url, own)
        return list(texts.values())


def _post_text(post: dict[str, object], url: str) -> OwnText | None:
    """Return the own text of a post; None if it lacks an address or a public text."""
    content, title = post.get("content"), post.get("title")
    if not isinstance(content, dict) or content.get("protected"):
        return None
    link = string(post.get("link"))
    address = absolute(url, link) if link else ""
    text = text_of(string(content.get("rendered")))
    if not address or not text:
        return None
    rendered_title = string(title.get("rendered")) if isinstance(title, dict) else ""
    # WordPress gives dates in UTC, without an offset.
    dates = [string(post.get(name)) for name in ("date_gmt", "modified_gmt")]
    utc_dates = [date and f"{date}Z" for date in dates]
    return own_text(address, text, f"wordpress {url}", rendered_title, (), *utc_dates)
