"""Inputs that are broken or hostile, made from valid ones; the same seed makes the same."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

# Tags, strings, words and signs: of them all formats that are text consist.
TOKEN = re.compile(rb"<[^<>]*>|\"[^\"\n]*\"|'[^'\n]*'|\w+|\s+|.", re.DOTALL)
ENCODINGS = "utf-16 utf-16-be utf-32 utf-7 utf-8-sig cp1252 shift_jis gb18030 iso2022_jp".split()
PIECES = [
    *(bytes([byte]) for byte in b"\x00\x01\x1f\x80\xff<>&\"'{}[]:,#;\n\\*_`!|-=./%"),
    "\ufeff\u2028\u202e\u0130💥é".encode(),
    b"\xed\xa0\x80",  # a lone surrogate, as UTF-8 would have it
    *b"<item> </item> <entry> <![CDATA[ ]]> <!-- --> <?x <!DOCTYPE &x; &#0; &#xd800; /> <x".split(),
    *b'null true -1 1e999 NaN \\ud800 \\u0000 [[[[ }}}} {} [] "" 0 99999999999999999999'.split(),
    *b"http://[x/ https://e.org:port/ javascript:x ../../x /etc/passwd %00 0001-01-01".split(),
    b"encoding='utf-16'",
    b"xml:base='http://[x/'",
    b"xmlns='\xff'",
    b"<" * 300,
    b"[" * 3_000,
    b"a" * 5_000,
]
ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**31, 2**63 - 1, 1e308, "", "\ud800", "\0", "http://[x/", "../../x"),
    *("0001-01-01", "9999-12-31T23:59:59+00:00", "2026-03-01", "x" * 99, [], [[]], {}, [None]),
    {"rendered": []},
]


@lru_cache(maxsize=256)
def _tokens(body: bytes) -> list[bytes]:
    return TOKEN.findall(body)


def garbled(draw: random.Random, valid: Sequence[bytes], pieces: Sequence[bytes] = ()) -> bytes:
    """Return one of *valid* with some of it cut out, doubled, moved, or replaced by worse."""
    body = draw.choice(valid)
    if draw.random() < 0.4:
        body = b"".join(_with_other_tokens(draw, list(_tokens(body)), valid))
    if draw.random() < 0.05:
        body = body.decode("utf-8", "replace").encode(draw.choice(ENCODINGS), "replace")
    return flipped(draw, body, valid, [*PIECES, *pieces] if pieces else PIECES)


def _with_other_tokens(
    draw: random.Random, tokens: list[bytes], valid: Sequence[bytes]
) -> list[bytes]:
    for _ in range(draw.randint(1, 6)):
        at, to = sorted(draw.randrange(len(tokens) + 1) for _ in range(2))
        some = tokens[at : min(to, at + draw.choice([1, 1, 5, 40]))]
        kind = draw.randrange(5)
        if kind == 0:
            tokens[at : at + len(some)] = []
        elif kind == 1:
            tokens[to:to] = some * draw.choice([1, 1, 3, 200])
        elif kind == 2:
            tokens[at : at + len(some)] = reversed(some)
        elif kind == 3:
            draw.shuffle(some)
            tokens[at : at + len(some)] = some
        else:
            others = _tokens(draw.choice(valid))
            start = draw.randrange(len(others) or 1)
            tokens[at:at] = others[start : start + draw.choice([1, 5, 50])]
    return tokens


def flipped(
    draw: random.Random, body: bytes, valid: Sequence[bytes], pieces: Sequence[bytes] = PIECES
) -> bytes:
    """Return *body* with some bytes changed, without a look at what they say."""
    changed = bytearray(body)
    for _ in range(draw.choice([0, 1, 1, 2, 4, 8])):
        start = draw.randrange(len(changed) + 1)
        end = min(len(changed), start + draw.choice([0, 1, 3, 20, 200]))
        kind = draw.randrange(7)
        if kind == 0:
            del changed[start:end]
        elif kind == 1:
            changed[start:start] = changed[start:end] * draw.choice([1, 2, 50])
        elif kind == 2:
            changed[start:end] = draw.choice(pieces)
        elif kind == 3:
            other = draw.choice(valid)
            at = draw.randrange(len(other) or 1)
            changed[start:start] = other[at : at + draw.choice([5, 50, 500])]
        elif kind == 4 and draw.random() < 0.3:
            del changed[start:]
        elif kind == 5:
            changed[start:end] = draw.randbytes(end - start)
        elif start < len(changed):
            changed[start] ^= 1 << draw.randrange(8)
    return bytes(changed)


def with_odd_values(draw: random.Random, value: Any, chance: float = 0.05) -> Any:
    """Return a value of JSON in which some values are replaced by odd ones, and others are gone."""
    if draw.random() < chance:
        return draw.choice(ODD_VALUES)
    if isinstance(value, dict):
        kept = [name for name in value if draw.random() > chance / 4]
        return {name: with_odd_values(draw, value[name], chance) for name in kept}
    if isinstance(value, list):
        return [with_odd_values(draw, one, chance) for one in value if draw.random() > chance / 4]
    return value
