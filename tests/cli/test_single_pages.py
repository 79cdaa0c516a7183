"""``contentspider extract`` of single pages: by their address, or from standard input."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider import cli
from tests.conftest import Site, serve, site
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["site"]

HTML = f"<title>Tea</title><nav><a href=/>Home</a></nav><h1>Tea</h1><p>{prose(1)}"


@pytest.fixture
def extract(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., str]:
    """Run the command, with *stdin* as its standard input, and return its standard output."""

    def run(*arguments: str, code: int = 0, stdin: str = "") -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            assert cli.main(["extract", *arguments]) == code
        sys.stdout.flush()
        output, errors = capfdbinary.readouterr()
        return (errors if code else output).decode()

    return run


def test_extract_reads_page_by_url(site: Site, extract: Callable[..., str]) -> None:
    site.add("/tea", HTML)
    item = json.loads(extract(f"{site.url}/tea"))
    assert (item["url"], item["title"]) == (f"{site.url}/tea", "Tea")
    assert item["content"] == f"Tea\n{prose(1)}"
    assert site.requests == ["/tea"]


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("md", f"# Tea\n\n{prose(1)}\n"),
        ("txt", f"Tea\n{prose(1)}\n"),
        ("html", f"<body>\n<h1>Tea</h1>\n<p>{prose(1)}</p>\n</body>\n</html>\n"),
        ("json", ""),
    ],
)
def test_extract_writes_stdin_page_in_each_format(
    kind: str, written: str, extract: Callable[..., str]
) -> None:
    output = extract("-", "--format", kind, "-o", "-", stdin=HTML)
    assert output.endswith(written)
    assert "Home" not in output
    if kind == "json":
        assert json.loads(output)["content"] == f"Tea\n{prose(1)}"


def test_links_of_stdin_page_resolve_against_given_url(extract: Callable[..., str]) -> None:
    page = f"{HTML} <a href=b>{prose(2)}</a> {prose(3)}"
    output = extract("-", "--url", "https://e.org/a/", "--format", "md", stdin=page)
    assert output.startswith("<https://e.org/a/>\n")
    assert "](https://e.org/a/b)" in output


def test_page_without_text_gives_error_exit_code(extract: Callable[..., str], site: Site) -> None:
    assert "no text" in extract("-", stdin="<div id=app></div>", code=1)
    assert "404" in extract(f"{site.url}/none", code=1)


def test_extract_refuses_private_addresses_without_allow_private(
    site: Site, extract: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", 80))])
    assert "--allow-private" in extract("http://example.org/", code=1)


def test_extract_accepts_urls_and_folders_together(
    site: Site, extract: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("saved")
    (folder / "1.html").write_text(HTML)
    with serve() as other:
        other.add("/", HTML)
        lines = extract(f"{other.url}/", str(folder)).splitlines()
    assert [json.loads(line)["url"] for line in lines] == [f"{other.url}/", "1.html"]
