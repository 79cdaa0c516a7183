"""One page by itself: what is kept of it, and the guess where hardly anything is sure."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider import Page, SiteLearner, extract_html
from contentspider.errors import StateError
from contentspider.extract import extract_paths
from contentspider.site.alone import extract_page
from contentspider.site.guess import guess_run, judge_page
from contentspider.site.options import LearningOptions
from contentspider.site.prior import Prior

if TYPE_CHECKING:
    from pathlib import Path

PROSE = "Tea is made of leaves, and of hot water; it is drunk from cups all over the world today. "
HTML = (
    f"<title>Tea</title><nav><a href=/>Home</a> <a href=/b>Blog</a></nav><h1>Tea</h1><p>{PROSE * 3}</p>"
    f"<p>{PROSE * 2}</p><footer>© 2020 <a href=/legal>Terms</a></footer>"
)


def test_a_page_is_judged_by_itself_as_the_prior_does() -> None:
    extraction = extract_html(HTML.encode(), "https://example.org/tea")
    assert extraction.text.count("cups") == 5
    assert "Home" not in extraction.text
    assert "Terms" not in extraction.text
    named, _ = Prior.shipped().judge([extraction.page])
    np.testing.assert_array_equal(extraction.probabilities, named)
    assert (extraction.by_prior, extraction.is_guess) == (True, False)
    assert 0.3 < extraction.confidence <= 0.5
    assert extraction.to_dict()["model_version"] == Prior.shipped().digest
    assert extraction.to_dict()["url"] == "https://example.org/tea"


@pytest.mark.parametrize("html", ["", "<p></p>", b"\x00", "<img src=x>"])
def test_a_page_without_text_has_none(html) -> None:
    extraction = extract_html(html)
    assert (extraction.text, extraction.confidence, extraction.is_guess) == ("", 0, False)


def test_the_shipped_prior_is_read_once() -> None:
    assert Prior.shipped() is Prior.shipped()


WORDS = {"menu": "one two three", "line": "word " * 12, "prose": "word " * 60}


@pytest.mark.parametrize(
    ("blocks", "run"),
    [
        # nothing is sure: the run that stands out
        ([("menu", 0.01), ("line", 0.3), ("line", 0.4), ("line", 0.3), ("menu", 0.01)], (1, 4)),
        ([("prose", 0.01), ("line", 0.4), ("menu", 0.1), ("line", 0.4), ("prose", 0.01)], (1, 4)),
        # a little is sure, and more is likely
        ([("menu", 0.9), ("prose", 0.3), ("prose", 0.01)], (0, 2)),
        # a little is sure, and the rest is sure, too
        ([("line", 0.9), ("prose", 0.02), ("prose", 0.01)], None),
        # enough is sure
        ([("prose", 0.9), ("prose", 0.45), ("prose", 0.45)], None),
        # none is better than another
        ([("prose", 0.25), ("prose", 0.25)], None),
    ],
)
def test_the_run_that_stands_out_is_guessed_where_hardly_anything_is_sure(blocks, run) -> None:
    page = Page.from_html("".join(f"<p>{WORDS[name]}</p>" for name, _ in blocks))
    probabilities = np.array([probability for _, probability in blocks], dtype=np.float32)
    found = guess_run(page, probabilities)
    assert (found and (found.start, found.stop)) == run


def test_a_guess_is_kept_and_says_so(monkeypatch) -> None:
    page = Page.from_html(f"<p>{WORDS['menu']}</p>" + f"<p>{WORDS['line']}</p>" * 2)
    monkeypatch.setattr(
        Prior, "judge_page", lambda self, page: np.array([0.01, 0.4, 0.9], dtype=np.float32)
    )
    probabilities, is_guess = judge_page(Prior.shipped(), page)
    assert not is_guess
    monkeypatch.setattr(
        Prior, "judge_page", lambda self, page: np.array([0.01, 0.4, 0.4], dtype=np.float32)
    )
    probabilities, is_guess = judge_page(Prior.shipped(), page)
    assert is_guess
    assert probabilities == pytest.approx([0.01, 0.51, 0.51])
    extraction = extract_page(page)
    assert (extraction.kept.tolist(), extraction.is_guess) == ([False, True, True], True)
    assert extraction.confidence < 0.4


def test_a_page_of_which_a_site_model_knows_too_little_is_guessed_alike(monkeypatch) -> None:
    model = SiteLearner("example.org").fit([Page.from_html(HTML, "/tea")])
    other = Page.from_html(f"<p>{WORDS['menu']}</p>" + f"<p>{WORDS['line']}</p>" * 2)
    monkeypatch.setattr(
        Prior, "judge_page", lambda self, page: np.array([0.01, 0.4, 0.4], dtype=np.float32)
    )
    extraction = model.extract(other)
    assert (extraction.by_prior, extraction.is_guess) == (True, True)
    assert extraction.kept.tolist() == [False, True, True]


def test_one_file_is_judged_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "tea.html"
    file.write_text(HTML)
    (item,) = extract_paths([file])
    assert item["model_version"] == Prior.shipped().digest
    assert item["site"] == tmp_path.name
    assert str(item["content"]).count("cups") == 5
    (tmp_path / "broken.npz").write_bytes(b"x")
    with pytest.raises(StateError, match="broken"):
        list(extract_paths([file], LearningOptions(prior_file=str(tmp_path / "broken.npz"))))


def test_a_page_alone_loads_neither_scikit_learn_nor_scrapy() -> None:
    script = (
        "import json, sys; from contentspider import extract_html; import contentspider.extract;"
        f"extract_html({HTML!r});"
        "print(json.dumps([name for name in ('sklearn', 'scipy', 'scrapy') if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []
