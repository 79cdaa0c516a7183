"""The server that learns the sites of many crawls."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.learning.learn_process import (
    LearningError,
    LearningTimeoutError,
    learn_in_process,
)
from contentspider.crawl.learning.learn_server import SERVER_VARIABLE, LearnServer
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
def ledger_path(tmp_path: Path) -> Path:
    """Return a ledger that holds four pages of each of two sites."""
    path = tmp_path / "crawl.sqlite"
    ledger = Book(path)
    for site in ("tea.example", "oak.example"):
        for number in range(4):
            url = f"https://{site}/{number}"
            binding = ItemBinding(Page.from_html(article(number), url))
            ledger.items.hold(site, {"url": url}, binding)
    ledger.commit()
    ledger.close()
    return path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LearnServer]:
    """Run a server, and let this process ask it. No other learning process can be started."""
    with LearnServer() as server:
        monkeypatch.setenv(SERVER_VARIABLE, server.environment[SERVER_VARIABLE])
        yield server


def test_server_learns_several_sites_in_one_process(
    server: LearnServer, ledger_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server._process is None, "it is started for the first site"
    tea = learn_in_process(ledger_path, "tea.example", OPTIONS, 60).model
    process = server._process
    assert process is not None
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    oak = learn_in_process(ledger_path, "oak.example", OPTIONS, 60).model
    assert (tea.site, oak.site, oak.pages) == ("tea.example", "oak.example", 4)
    assert server._process is process


def test_server_reports_errors_as_a_child_does(
    server: LearnServer, ledger_path: Path, tmp_path: Path
) -> None:
    with pytest.raises(NotEnoughTextError, match=r"unknown\.example"):
        learn_in_process(ledger_path, "unknown.example", OPTIONS, 60)
    (tmp_path / "prior.npz").write_bytes(b"broken")
    options = LearningOptions(prior_file=str(tmp_path / "prior.npz"))
    with pytest.raises(LearningError, match=r"prior\.npz.* cannot be used"):
        learn_in_process(ledger_path, "tea.example", options, 60)
    with pytest.raises(LearningTimeoutError):
        learn_in_process(ledger_path, "tea.example", OPTIONS, 0.001)
    assert learn_in_process(ledger_path, "tea.example", OPTIONS, 60).model.pages == 4


def test_crawl_starts_a_learner_of_its_own_without_a_server(
    ledger_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SERVER_VARIABLE, str(tmp_path / "no server"))
    assert learn_in_process(ledger_path, "tea.example", OPTIONS, 60).model.pages == 4


@pytest.mark.thorough
def test_site_is_learned_by_child_if_server_dies(
    server: LearnServer, ledger_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn_in_process(ledger_path, "tea.example", OPTIONS, 60)
    process = server._process
    assert process is not None
    send = socket.socket.sendall

    def send_and_kill(connection: socket.socket, task: bytes) -> None:
        send(connection, task)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    monkeypatch.setattr(socket.socket, "sendall", send_and_kill)
    for _ in range(2):
        assert learn_in_process(ledger_path, "tea.example", OPTIONS, 60).model.pages == 4


def test_crawls_do_without_server_if_its_socket_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with LearnServer() as server:
        assert not server.environment
    assert not list(folder.iterdir())


def test_crawls_do_without_server_if_it_cannot_be_started(
    ledger_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_child(*_: object) -> bytes:
        raise NotEnoughTextError("of the child")

    monkeypatch.setattr("contentspider.crawl.learning.learn_process._ask_child", ask_child)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with LearnServer() as server:
        monkeypatch.setenv(SERVER_VARIABLE, server.environment[SERVER_VARIABLE])
        with pytest.raises(NotEnoughTextError, match="of the child"):
            learn_in_process(ledger_path, "tea.example", OPTIONS, 20.0)
