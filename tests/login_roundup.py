"""Serves Roundup, an issue tracker, with issues that only its users may read: ``FOLDER ISSUES
SESSION_PAGES``.

It prints its address, and writes a line to ``requests`` in the folder for each request: the method
and the path. A session ends after SESSION_PAGES pages (0: never). Its form to log in is beside
every page that others ask for.
"""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from collections import Counter
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

NAME, PASSWORD = "crawler", "blue-camel-4712"
WORDS = "the kettle leaks near the handle when the water boils for more than some minutes"
# What Roundup's schema allows others.
ANONYMOUS = "db.security.addPermissionToRole('Anonymous', 'View', cl)"


class Server(WSGIServer):
    request_queue_size = 128


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def administer(tracker: Path, *arguments: str) -> None:
    from roundup.admin import AdminTool

    with contextlib.redirect_stdout(io.StringIO()):
        sys.argv = ["roundup-admin", "-i", str(tracker), *arguments]
        assert not AdminTool().main()


def fill(tracker: Path, url: str, count: int) -> None:
    """Create the tracker: a user, and issues, which others may not see."""
    import roundup.instance
    from roundup.password import Password

    config = f"mail_domain=e.org,tracker_web={url}/,admin_email=a@e.org,mail_host=localhost"
    administer(tracker, "install", "classic", "sqlite", config)
    schema = tracker / "schema.py"
    text = schema.read_text()
    assert ANONYMOUS in text
    schema.write_text(text.replace(ANONYMOUS, "pass"))
    administer(tracker, "initialise", "of-the-tests")
    database = roundup.instance.open(str(tracker)).open("admin")
    password = Password(PASSWORD, scheme="plaintext")
    user = database.user.create(username=NAME, password=password, roles="User", address="c@e.org")
    for number in range(count):
        words = " ".join(f"{word}{number}" for word in WORDS.split())
        message = database.msg.create(author=user, content=words, summary=words)
        database.issue.create(title=f"Kettle {number} leaks", messages=[message])
    database.commit()
    database.close()


class Sessions:
    """Roundup, with an end of its sessions after some pages."""

    def __init__(self, folder: Path, tracker: Path, limit: int) -> None:
        from roundup.cgi.wsgi_handler import RequestDispatcher

        self._folder, self._limit = folder, limit
        self._answer = RequestDispatcher(str(tracker))
        self._pages: Counter[str] = Counter()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        with (self._folder / "requests").open("a") as file:
            query = environ["QUERY_STRING"]
            file.write(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{query}\n")
        for name, cookie in SimpleCookie(environ.get("HTTP_COOKIE", "")).items():
            self._pages[cookie.value] += 1
            if name.startswith("roundup_session") and 0 < self._limit < self._pages[cookie.value]:
                environ["HTTP_COOKIE"] = ""
        return self._answer(environ, start_response)


def main() -> None:
    folder, count, limit = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    logging.disable()
    server = make_server("127.0.0.1", 0, None, Server, Quiet)  # type: ignore[arg-type]
    url = f"http://127.0.0.1:{server.server_port}"
    fill(folder / "tracker", url, count)
    server.set_app(Sessions(folder, folder / "tracker", limit))
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
