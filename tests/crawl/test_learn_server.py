"""The children that learn sites: several crawls share one server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.learning.learn_process import (
    LearningError,
    LearningTimeoutError,
    learn_in_process,
)
from contentspider.ground import children
from contentspider.ground.errors import NotEnoughTextError
from contentspider.page.input.page import Page
from contentspider.site.learn.options import LearningOptions
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the server forks")
OPTIONS = LearningOptions()


@pytest.fixture
def book_path(tmp_path: Path) -> Path:
    """Return a book that holds four pages of each of two sites."""
    path = tmp_path / "crawl.sqlite"
    book = Book(path)
    for site in ("tea.example", "oak.example"):
        for number in range(4):
            url = f"https://{site}/{number}"
            binding = ItemBinding(Page.from_html(article(number), url))
            book.items.hold(site, {"url": url}, binding)
    book.commit()
    book.close()
    return path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[children._Server]:
    """Have a server that other processes share. No other one can be started."""
    server = children._Server()
    monkeypatch.setattr(children, "_server", server)
    monkeypatch.setenv(children.VARIABLE, children.shared_server()[children.VARIABLE])
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    yield server
    server.end()


def test_server_learns_several_sites_and_reports_errors(
    server: children._Server, book_path: Path, tmp_path: Path
) -> None:
    process = server._process
    assert process
    tea = learn_in_process(book_path, "tea.example", OPTIONS, 60).model
    with pytest.raises(NotEnoughTextError, match=r"unknown\.example"):
        learn_in_process(book_path, "unknown.example", OPTIONS, 60)
    (tmp_path / "prior.npz").write_bytes(b"broken")
    options = LearningOptions(prior_file=str(tmp_path / "prior.npz"))
    with pytest.raises(LearningError, match=r"prior\.npz.* cannot be used"):
        learn_in_process(book_path, "tea.example", options, 60)
    with pytest.raises(LearningTimeoutError):
        learn_in_process(book_path, "tea.example", OPTIONS, 0)
    oak = learn_in_process(book_path, "oak.example", OPTIONS, 60).model
    assert (tea.site, oak.site, oak.pages) == ("tea.example", "oak.example", 4)
    assert server._process is process


@pytest.mark.thorough
def test_crawl_learns_by_server_of_its_own_when_shared_one_is_killed(
    server: children._Server, book_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server._process
    server._process.kill()
    server._process.wait()
    monkeypatch.undo()
    monkeypatch.setenv(children.VARIABLE, server._address)
    for _ in range(2):
        assert learn_in_process(book_path, "tea.example", OPTIONS, 60).model.pages == 4
