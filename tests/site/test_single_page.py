"""One page by itself: what is kept of it, and the guess where hardly anything is sure."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from contentspider import Page, SiteLearner, extract_html
from contentspider.extract import extract_paths
from contentspider.ground.errors import StateError
from contentspider.site.judge.prior import Prior, Trees
from contentspider.site.learn.options import LearningOptions
from contentspider.site.learn.single_page import extract_page

if TYPE_CHECKING:
    from pathlib import Path

PROSE = "Tea is made of leaves, and of hot water; it is drunk from cups all over the world today. "
HTML = (
    f"<title>Tea</title><nav><a href=/>Home</a> <a href=/b>Blog</a></nav><h1>Tea</h1>"
    f"<p>{PROSE * 3}</p><p>{PROSE * 2}</p><footer>© 2020 <a href=/legal>Terms</a></footer>"
)


def test_single_page_is_judged_by_shipped_prior() -> None:
    extraction = extract_html(HTML.encode(), "https://example.org/tea")
    assert extraction.text.count("cups") == 5
    assert "Home" not in extraction.text
    assert "Terms" not in extraction.text
    alone, _ = Prior.shipped().judge_page(extraction.page)
    np.testing.assert_array_equal(extraction.probabilities, alone)
    assert (extraction.by_prior, extraction.is_guess) == (True, False)
    assert 0.3 < extraction.confidence <= 0.5
    assert extraction.to_dict()["model_version"] == Prior.shipped().digest
    assert extraction.to_dict()["url"] == "https://example.org/tea"


@pytest.mark.parametrize("html", ["", "<p></p>", b"\x00", "<img src=x>"])
def test_page_without_text_gives_empty_extraction(html) -> None:
    extraction = extract_html(html)
    assert (extraction.text, extraction.confidence, extraction.is_guess) == ("", 0, False)


def test_shipped_prior_is_loaded_once() -> None:
    assert Prior.shipped() is Prior.shipped()


LINE = "word " * 12
UNSURE = Page.from_html(f"<p>one two</p><p>{LINE}</p><p>{LINE}</p>")


@pytest.fixture
def unsure_prior(monkeypatch) -> Prior:
    """A prior that is sure of no block of a page of three."""
    unsure = np.array([0.01, 0.4, 0.3], dtype=np.float32)
    monkeypatch.setattr(Trees, "probabilities", lambda self, rows: unsure[: len(rows)])
    return Prior.shipped()


def test_unsure_prior_falls_back_to_guess_and_marks_it(unsure_prior) -> None:
    probabilities, is_guess = unsure_prior.judge_page(UNSURE)
    assert (is_guess, (probabilities > 0.5).tolist()) == (True, [False, True, True])
    extraction = extract_page(UNSURE)
    assert (extraction.kept.tolist(), extraction.is_guess) == ([False, True, True], True)
    assert extraction.confidence < 0.4


def test_site_model_guesses_page_it_knows_too_little_about(unsure_prior) -> None:
    model = SiteLearner("example.org").fit([Page.from_html("<p>one</p><p>two</p>", "/tea")])
    extraction = model.extract(UNSURE)
    assert (extraction.by_prior, extraction.is_guess) == (True, True)
    assert extraction.kept.tolist() == [False, True, True]


def test_single_file_is_extracted_with_prior(tmp_path: Path) -> None:
    file = tmp_path / "tea.html"
    file.write_text(HTML)
    (item,) = extract_paths([file])
    assert item["model_version"] == Prior.shipped().digest
    assert item["site"] == tmp_path.name
    assert str(item["content"]).count("cups") == 5
    (tmp_path / "broken.npz").write_bytes(b"x")
    with pytest.raises(StateError, match="broken"):
        list(extract_paths([file], LearningOptions(prior_file=str(tmp_path / "broken.npz"))))


def test_extract_html_imports_neither_scikit_learn_nor_scrapy() -> None:
    script = (
        "import json, sys; from contentspider import extract_html; import contentspider.extract;"
        f"extract_html({HTML!r});"
        "names = 'sklearn', 'scipy', 'scrapy';"
        "print(json.dumps([name for name in names if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []
