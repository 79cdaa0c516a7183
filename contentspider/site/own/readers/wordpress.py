"""WordPress: the newest posts and pages, as its REST API gives them."""

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
            content, title = post.get("content"), post.get("title")
            if not isinstance(content, dict) or content.get("protected"):
                continue
            link = string(post.get("link"))
            address = absolute(url, link) if link else ""
            text = text_of(string(content.get("rendered")))
            if address and text and address not in found:
                rendered = string(title.get("rendered")) if isinstance(title, dict) else ""
                # Dates are in UTC, without an offset.
                dates = (string(post.get(name)) for name in ("date_gmt", "modified_gmt"))
                dates = (date and f"{date}Z" for date in dates)
                found[address] = own_text(address, text, f"wordpress {url}", rendered, (), *dates)
        return list(found.values())
