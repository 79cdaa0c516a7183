"""Pages whose classes and ids are numbered names, as page builders write them (``b-123``)."""

from __future__ import annotations

import re
import zlib

ATTRIBUTE = re.compile(rb"""(?<=[\s"'])(class|id)=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
NUMBERS = 9973


def number_names(html: bytes) -> bytes:
    """Return a page with a number in place of each class and id; a name has one number.

    All other bytes stay as they are, in whatever encoding that contains ASCII.
    """

    def rename(match: re.Match[bytes]) -> bytes:
        attribute, *quoted = match.groups(b"")
        names = b"".join(quoted).split()
        numbered = [b"b-%d" % (zlib.crc32(name) % NUMBERS) for name in names]
        return b'%s="%s"' % (attribute, b" ".join(numbered))

    return ATTRIBUTE.sub(rename, html)
