"""Addresses of pictures and films: the largest of a set, where a film is shown, its name."""

from __future__ import annotations

import re

from contentspider.ground.addresses import NO_PARTS, split_address

# Between two of a set: addresses have commas, too, but with no space behind them.
SEPARATOR = re.compile(r",\s+|(?<=\d[wx]),")
SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)[wx]")
# No addresses: pictures in the markup, parts of the page, and what scripts make or have not filled.
UNUSABLE = ("data:", "about:", "blob:", "javascript:", "#")
# The address of a player shows nothing outside of a frame.
PLAYER = re.compile(
    r"(?:https?:)?//(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/(?!videoseries|live_stream)([\w-]+)"
)


def usable(address: str) -> str:
    """Return an address without white space around it, empty if it cannot be one of a file.

    >>> usable(" /a.jpg "), usable("data:image/gif;base64,AA"), usable("/{width}.jpg")
    ('/a.jpg', '', '')
    """
    address = address.strip()
    return "" if address.startswith(UNUSABLE) or "{" in address else address


def largest_of(candidates: str) -> str:
    """Return the address of the largest picture in a ``srcset``, empty if there is none.

    >>> largest_of("/a.jpg 320w, /c.jpg 1280w,/b.jpg 640w"), largest_of("w_9,h_9/a.jpg, /b.jpg 2x")
    ('/c.jpg', '/b.jpg')
    """
    largest, most = "", 0.0
    for candidate in SEPARATOR.split(candidates):
        words = candidate.split()
        address = usable(words[0].strip(",")) if words else ""
        size = SIZE.match(words[1]) if len(words) > 1 else None
        pixels = float(size[1]) if size else 1.0
        if address and pixels > most:
            largest, most = address, pixels
    return largest


def shown_at(address: str) -> str:
    """Return where a person can see what a frame shows.

    >>> shown_at("//www.youtube-nocookie.com/embed/abc?rel=0"), shown_at("https://e.org/map")
    ('https://www.youtube.com/watch?v=abc', 'https://e.org/map')
    """
    player = PLAYER.match(address)
    return f"https://www.youtube.com/watch?v={player[1]}" if player else address


def name_of(address: str, is_file: bool) -> str:
    """Return what to call something at an address: its host or, if it *is_file*, the file's name.

    >>> name_of("https://e.org/a/tea.mp4?x=1", True), name_of("//e.org/a.html", False)
    ('tea.mp4', 'e.org')
    """
    parts = split_address(address)
    if parts is NO_PARTS:
        return ""
    file = parts.path.rstrip("/").rpartition("/")[2]
    host = parts.hostname or ""
    return (file if is_file and "." in file else host or file) or address
