"""Fingerprints of texts: near-equal ones are found, others are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.recrawl import fingerprint as module
from contentspider.recrawl.fingerprint import MAX_BITS, Fingerprints, fingerprint
from tests.sites import prose

if TYPE_CHECKING:
    import pytest


def text(*seed: object) -> str:
    return "\n".join(prose(*seed, number) for number in range(5))


def test_a_fingerprint_is_that_of_the_words_and_their_order() -> None:
    assert fingerprint("Tea, and a cup!") == fingerprint("tea and\n a CUP")
    assert len({fingerprint(one) for one in ("tea and a cup", "a cup and tea", "tea")}) == 3
    assert fingerprint("") == fingerprint(" - ") == ""
    assert fingerprint("The ferry leaves at nine \ud800") == "2806fb91f3e796f5"


def test_near_equal_texts_are_found_the_nearest_first() -> None:
    others = [text("page", number) for number in range(50)]
    edited = others[7].replace(prose("page", 7, 2), prose("page", 7, 2) + " One sentence more.")
    one = fingerprint(others[7])
    known = Fingerprints([fingerprint(each) for each in [*others[:7], edited, *others[7:]]])
    assert known.near(one) == [8, 7]
    assert known.near(fingerprint(text("another"))) == []
    assert Fingerprints([]).near(one) == []


def test_so_many_bits_may_differ_and_of_equal_ones_the_first_comes_first() -> None:
    near, far = (f"{2**bits - 1:016x}" for bits in (MAX_BITS, MAX_BITS + 1))
    known = Fingerprints([far, *[near] * 40, "0" * 16])
    assert known.near("0" * 16) == [41, *range(1, 41)]


def test_only_the_beginning_of_a_long_text_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fingerprint("tea and a cup")
    monkeypatch.setattr(module, "MAX_CHARS", 13)
    assert fingerprint("tea and a cup of milk") == whole != fingerprint("tea and a mug of milk")
