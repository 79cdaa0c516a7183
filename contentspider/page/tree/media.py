"""Addresses and names of films and frames."""

from __future__ import annotations

import re

from contentspider.ground.addresses import NO_PARTS, split_address

# These addresses work only within a frame.
PLAYER = re.compile(
    r"(?:https?:)?//(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/(?!videoseries|live_stream)([\w-]+)"
)


def shown_at(address: str) -> str:
    """Return the address where a person can open the content of a frame.

    >>> shown_at("//www.youtube-nocookie.com/embed/abc?rel=0"), shown_at("https://e.org/map")
    ('https://www.youtube.com/watch?v=abc', 'https://e.org/map')
    """
    player = PLAYER.match(address)
    return f"https://www.youtube.com/watch?v={player[1]}" if player else address


def name_of(address: str, is_file: bool) -> str:
    """Return a name for a film or frame: the name of the file if it *is_file*, else the host.

    >>> name_of("https://e.org/a/tea.mp4?x=1", True), name_of("//e.org/a.html", False)
    ('tea.mp4', 'e.org')
    """
    parts = split_address(address)
    if parts is NO_PARTS:
        return ""
    file = parts.path.rstrip("/").rpartition("/")[2]
    host = parts.hostname or ""
    return (file if is_file and "." in file else host or file) or address
