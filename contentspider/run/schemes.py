"""Finds out whether the server of an address without a scheme has HTTPS."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from contentspider.ground.fetch import check_proxy
from contentspider.ground.scope import with_scheme
from contentspider.ground.terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence

CONNECT_SECS = 10.0
PORTS = {"https": 443, "http": 80}


def with_schemes(addresses: Sequence[str]) -> list[str]:
    """Return addresses with schemes. Those without get http:// if their server has HTTP and no
    HTTPS, which is told, else https://.
    """
    return [address if "://" in address else _with_scheme(address) for address in addresses]


def _with_scheme(address: str) -> str:
    secure, plain = with_scheme(address), f"http://{address}"
    if check_proxy(secure) or _answers(secure) or not _answers(plain):
        return secure
    say(f"contentspider: {urlsplit(plain).netloc} has no HTTPS: the crawl uses http://")
    return plain


def _answers(address: str) -> bool:
    """Tell whether the server of an address accepts a connection, and TLS for https://. The crawl
    itself decides about the certificate.
    """
    parts = urlsplit(address)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(OSError, UnicodeError):
        port = parts.port or PORTS[parts.scheme]
        with socket.create_connection((parts.hostname or "", port), CONNECT_SECS) as connection:
            if parts.scheme == "https":
                context.wrap_socket(connection, server_hostname=parts.hostname).close()
            return True
    return False
