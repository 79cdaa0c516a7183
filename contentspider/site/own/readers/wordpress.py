"""WordPress: the newest posts and pages, as its REST API gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.addresses import absolute
from contentspider.page.about.dates import parse_date
from contentspider.site.own.readers.reading import (
    is_json,
    objects,
    read_json,
    string,
    text_of,
    title_of,
)
from contentspider.site.own.texts import MAX_TEXTS, OwnText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.site.own.sources import Announced

API_RELATION = "https://api.w.org/"
KINDS = ("posts", "pages")
# More take some servers many seconds.
QUERY = "per_page=20&_fields=link,title,content,date_gmt,modified_gmt"


class WordPress:
    """The own texts of WordPress: the content of posts and of pages, without themes and widgets."""

    name = "wordpress"

    def addresses(self, announced: Announced) -> Iterator[str]:
        """Yield the addresses of the newest posts and pages, if a page says where the API is."""
        for rel, _, root in announced.links:
            if API_RELATION in rel.split():
                # Where addresses are plain, the API is a parameter: ``/?rest_route=/``.
                joint = "&" if "?" in root else "?"
                for kind in KINDS:
                    yield f"{root.rstrip('/')}/wp/v2/{kind}{joint}{QUERY}"

    def read(self, body: bytes, url: str, content_type: str = "") -> list[OwnText]:
        """Return the texts of a list of posts; those behind a password are left out."""
        found: dict[str, OwnText] = {}
        for post in objects(read_json(body), MAX_TEXTS) if is_json(body) else ():
            content = post.get("content")
            if not isinstance(content, dict) or content.get("protected"):
                continue
            link = string(post.get("link"))
            address = absolute(url, link) if link else ""
            text = text_of(string(content.get("rendered")))
            if address and text:
                found.setdefault(
                    address,
                    OwnText(
                        address,
                        text,
                        f"wordpress {url}",
                        _title(post),
                        published_at=_date(post.get("date_gmt")),
                        modified_at=_date(post.get("modified_gmt")),
                    ),
                )
        return list(found.values())


def _title(post: dict[str, object]) -> str:
    title = post.get("title")
    return title_of(string(title.get("rendered"))) if isinstance(title, dict) else ""


def _date(value: object) -> str:
    """Return a date of WordPress, which is in UTC without an offset."""
    date = string(value)
    return parse_date(f"{date}Z") if date else ""
