"""Parsing and cleaning of addresses from outside. Broken addresses never raise an error."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urljoin, urlsplit

MAX_ADDRESS_CHARS = 2_000  # a longer address is a script, data, or a trap
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
# The only part of IPv6 that has public addresses of hosts, by IANA's registries.
PUBLIC_IPV6 = IPv6Network("2000::/3")
NAT64 = IPv6Network("64:ff9b::/96")  # an IPv4 address inside an IPv6 address (RFC 6052)
# Special networks that `ipaddress` takes for public, or that only newer versions of it know.
SPECIAL_NETWORKS = (
    ip_network("192.0.0.0/24"),  # protocol assignments, without websites
    ip_network("192.88.99.0/24"),  # relays of 6to4 (deprecated)
    ip_network("2001::/23"),  # protocol assignments, such as Teredo
    ip_network("3fff::/20"),  # documentation
)
PASSWORD = re.compile(r"(\s*(?:[a-z][a-z0-9+.-]*:)?[/\\]{2})[^/?#\\]*@", re.ASCII | re.IGNORECASE)
# Characters that are not quoted in a fragment. "%" is one, since anchors may be quoted already.
SAFE_IN_FRAGMENT = "%/?:@!$&'()*+,;=~"
NO_PARTS = SplitResult("", "", "", "", "")
# Matches most addresses that a request can be sent to, without parsing them.
PLAIN = re.compile(
    r"https?://(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}(?::(?:[1-5]\d{4}|[1-9]\d{0,3}))?"
    r"(?:[/?][!-~]*)?\Z",
    re.ASCII,
)


def split_address(address: str) -> SplitResult:
    """Return the parts of an address, all empty if it is broken. The port may still be invalid."""
    try:
        return urlsplit(address)
    except ValueError:  # a broken IPv6 address, for example
        return NO_PARTS


def join(base: str, address: str) -> str:
    """Return the absolute form of an address relative to *base*; empty if either is broken."""
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def is_web_address(address: str) -> bool:
    """Tell whether Scrapy can send a request to an address.

    >>> [is_web_address("http://" + rest) for rest in ("[::1]:8000/ü", "e.org:port/", "[::1]x/")]
    [True, False, False]
    >>> [is_web_address("http://" + host) for host in ("e.org.", ".", "..", "a..e.org")]
    [True, False, False, False]
    """
    if PLAIN.match(address):
        return True
    from w3lib.url import safe_url_string  # loads an HTTP client; few addresses are not plain

    try:
        address.encode()  # a lone surrogate raises UnicodeEncodeError, a ValueError
        forms = [urlsplit(safe_url_string(form)) for form in (address, clean_address(address))]
        return all(
            # An empty label of a host, or one that is too long, raises UnicodeEncodeError.
            form.scheme in DEFAULT_PORTS and (form.hostname or "").encode("idna") and form.port != 0
            for form in forms
        )
    except ValueError:
        return False


def absolute(base: str, address: str) -> str:
    """Return the clean absolute form of an address relative to *base*; empty if it is not a web
    address, or has more than 2,000 characters.

    >>> absolute("https://e.org/a/", " b#top "), absolute("https://e.org/", "http://[x/")
    ('https://e.org/a/b', '')
    """
    if len(address) > MAX_ADDRESS_CHARS:
        return ""
    whole = clean_address(join(base, address.strip()))
    return whole if len(whole) <= MAX_ADDRESS_CHARS and is_web_address(whole) else ""


def clean_address(address: str) -> str:
    """Return an address without fragment, default port, user and password; empty if it is broken.

    >>> clean_address("http://me:secret@e.org:80/a#top"), clean_address("https://e.org:8443")
    ('http://e.org/a', 'https://e.org:8443')
    """
    address = address.partition("#")[0]
    parts = split_address(address)
    netloc = parts.netloc
    if parts is NO_PARTS:
        return ""
    if ":" not in netloc and "@" not in netloc:
        return address
    host = netloc.rpartition("@")[2]
    host = host.removesuffix(DEFAULT_PORTS.get(parts.scheme, ":")).removesuffix(":")
    return address.replace("//" + netloc, "//" + host, 1)


def route_of(address: str) -> str:
    """Return the fragment of an address if scripts read it as a route, "" for others. Such a
    fragment begins with ``#/`` or ``#!/``, and its address is a page of its own once scripts run.
    The route of the front page is the page without a fragment; a second fragment is an anchor.

    >>> [route_of("https://e.org/" + end) for end in ("#/tea?a=ü#top", "#!/tea", "#/", "#tea")]
    ['#/tea?a=%C3%BC', '#!/tea', '', '']
    """
    route = address.partition("#")[2].partition("#")[0]
    if not route.startswith(("/", "!/")) or route in ("/", "!/"):
        return ""
    return "#" + quote(route, SAFE_IN_FRAGMENT, errors="replace")


def page_address(address: str) -> str:
    """Return an address as `clean_address` does, but with its route (`route_of`).

    >>> page_address("http://me@e.org:80/#/tea"), page_address("https://e.org/a#top")
    ('http://e.org/#/tea', 'https://e.org/a')
    """
    clean = clean_address(address)
    return clean + route_of(address) if clean else ""


def folder_address(address: str) -> str:
    """Return the beginning of the addresses beside an address: its folder, or with a route
    (`route_of`) all routes of its document.

    >>> folder_address("https://e.org/a/b?c"), folder_address("https://e.org/a/b#!/c/d")
    ('https://e.org/a/', 'https://e.org/a/b#!/')
    """
    route = route_of(address)
    return clean_address(address) + route[: route.index("/") + 1] if route else join(address, ".")


def without_password(address: str) -> str:
    """Return an address, which may be relative, without its user name and password.

    >>> without_password("https://me:secret@e.org/a"), without_password("//me@e.org/@me")
    ('https://e.org/a', '//e.org/@me')
    """
    match = PASSWORD.match(address) if "@" in address else None
    return match[1] + address[match.end() :] if match else address


def parameter_order(address: str) -> str:
    """Return an address' parameters in their order, or nothing if they are sorted. Scrapy's
    fingerprints and w3lib sort them, but a site may answer each order differently.

    >>> parameter_order("http://e.org/?a=1&b=2"), parameter_order("http://e.org/?b=%32&a=1")
    ('', 'b=2&a=1')
    """
    query = address.partition("#")[0].partition("?")[2]
    pairs = parse_qsl(query, keep_blank_values=True) if "&" in query else []
    return "" if pairs == sorted(pairs) else urlencode(pairs, errors="replace")


def host_name(address: str) -> str:
    """Return an address' host in lower case, without its port; empty if it has none."""
    return split_address(address).hostname or ""


def origin_of(address: str) -> tuple[str, str]:
    """Return the scheme of an address, and its host with the port unless that is the default.

    >>> origin_of("https://me:secret@Example.org:443/a"), origin_of("http://e.org:8000/")
    (('https', 'example.org'), ('http', 'e.org:8000'))
    """
    parts = split_address(clean_address(address))
    return parts.scheme, parts.netloc.lower()


def network_of(host: str) -> str:
    """Return which network a host's name belongs to: ``loopback``, ``link-local``, ``private`` (any
    other that is not public); empty if the host is public, or only a look-up can tell.

    >>> [network_of(host) for host in ("localhost", "127.1", "::ffff:10.0.0.1", "169.254.169.254")]
    ['loopback', 'loopback', 'private', 'link-local']
    >>> [network_of(host) for host in ("example.org", "8.8.8.8", "2130706433")]
    ['', '', 'loopback']

    An IPv6 address that leads to an IPv4 address (mapped, NAT64, 6to4) belongs to its network.

    >>> [network_of(host) for host in ("::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b::808:808")]
    ['loopback', 'private', '']
    """
    name = _ascii(host.partition("%")[0].lower()).rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return "loopback"
    address = _ip_address(name)
    if address is None:
        return ""
    if isinstance(address, IPv6Address):
        address = _ipv4_within(address) or address
    if address.is_loopback or address.is_unspecified:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    return "" if _is_public(address) else "private"


def _ascii(name: str) -> str:
    """Return a name as the look-up gets it: full-width digits become digits, for example."""
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name


def _ipv4_within(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address leads to, None if it leads to none."""
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address can belong to a host on the public internet. `is_global` does not
    suffice: it is true for multicast and for IPv6 networks without public hosts (site-local,
    IPv4-compatible, local NAT64).
    """
    if address.is_multicast or any(address in network for network in SPECIAL_NETWORKS):
        return False
    if isinstance(address, IPv6Address) and address not in PUBLIC_IPV6:
        return False
    return address.is_global


def _ip_address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        pass
    try:  # the old forms that the system's look-up accepts: 127.1, 2130706433, 0x7f.1
        return IPv4Address(socket.inet_aton(name))
    except (OSError, ValueError):
        return None


def host_of(address: str) -> str:
    """Return the host of an address, with a port if the address has one; empty if there is none.

    >>> host_of("http://me@Example.org:80?a/b"), host_of("data:,x")
    ('example.org:80', '')
    """
    _, slashes, after_scheme = address.partition("://")
    return (
        re.split(r"[/?#]", after_scheme, maxsplit=1)[0].rpartition("@")[2].lower()
        if slashes
        else ""
    )


def section_address(url: str, anchor: str) -> str:
    """Return the address of a section of the page at *url*; without an *anchor* it is *url*, and
    so it is for a page with a route (`route_of`): its fragment is taken.

    >>> section_address("https://example.org/tea#top", "how to")
    'https://example.org/tea#how%20to'
    """
    if not anchor or route_of(url):
        return url
    return f"{url.partition('#')[0]}#{quote(anchor, SAFE_IN_FRAGMENT, errors='replace')}"
