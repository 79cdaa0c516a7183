"""Excerpts beside whole texts: they tell of nothing that is none."""

from __future__ import annotations

import numpy as np

from tests.ownsite import f1, feed, own, part, prose, voice, wanted


def test_excerpt_beside_complete_texts_labels_no_other_blocks() -> None:
    # The lead has a class of its own, so an excerpt of only the lead has all text of the slot.
    made = voice([*feed(0, 1, 2, 3), *(own(n, part(n, "lead")) for n in (4, 5))])
    assert set(made.evidence.whole) == {0, 1, 2, 3}
    text = [slot == "body/div.sidebar/p" for slot in made.site.slots]
    rest = np.array(text) & np.isin(made.site.pages, [4, 5])
    assert np.isnan(made.evidence.labels[rest]).all()


def test_truncated_text_and_wrong_excerpt_do_not_lower_f1() -> None:
    # Each by itself does no harm: a text that lacks its lead, and an excerpt that is a wrong box.
    cut = own(7, wanted(7).removeprefix(part(7, "lead")).strip(), "json-ld text")
    box = own(2, f"{prose('box', 2, 1)} {prose('box', 2, 2)}", "feed")
    made = voice([cut, box])
    assert f1(made, made.probabilities(made.evidence)) >= f1(made, made.plain_vote) - 0.002
