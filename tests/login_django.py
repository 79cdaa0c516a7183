"""Serves Django's admin with pages that only its users may read: ``FOLDER PAGES SESSION_PAGES``.

It prints its address, and writes a line for each request to two files in the folder: to
``requests`` the method, the path, and the user who is logged in, and to ``sessions`` the key of the
session. A session ends after SESSION_PAGES pages (0: never). Every page links to ``/bye/``, which
ends it, too.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from socketserver import ThreadingMixIn
from threading import Lock
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

NAME, PASSWORD = "crawler", "grünes-Kamel-4711"
WORDS = "tea leaves rest in warm water until the pot is full and the kitchen smells of smoke"
urlpatterns: list[Any] = []
pages: Counter[str] = Counter()
lock = Lock()


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def configure(folder: Path) -> None:
    """Have Django use a database in a folder, and this module."""
    import django
    from django.conf import settings

    kinds = ("request", "auth", "messages")
    processors = ("template.context_processors.{}", *["contrib.{0}.context_processors.{0}"] * 2)
    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "db.sqlite3"}
        },
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        INSTALLED_APPS=[
            *(f"django.contrib.{app}" for app in ("admin", "auth", "contenttypes", "sessions")),
            *(f"django.contrib.{app}" for app in ("messages", "sites", "flatpages")),
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            f"{__name__}.watched",
        ],
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        ROOT_URLCONF=__name__,
        SITE_ID=1,
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        f"django.{processor.format(kind)}"
                        for processor, kind in zip(processors, kinds, strict=True)
                    ]
                },
            }
        ],
        SECRET_KEY="of-the-tests",  # noqa: S106 - it protects nothing
    )
    django.setup()


def watched(get_response: Any) -> Any:
    """Write down each request, and end a session after its pages."""
    from django.contrib.auth.models import AnonymousUser

    folder, limit = Path(sys.argv[1]), int(sys.argv[3])

    def answer(request: Any) -> Any:
        key = request.session.session_key or ""
        with lock:
            pages[key] += 1
        if key and 0 < limit < pages[key]:
            request.session.delete(key)
            request.session = type(request.session)()
            request.user = AnonymousUser()
        user = request.user.get_username() or "-"
        response = get_response(request)
        with lock:
            with (folder / "requests").open("a") as file:
                file.write(f"{request.method} {request.get_full_path()} {user}\n")
            with (folder / "sessions").open("a") as file:
                file.write(f"{request.session.session_key or ''}\n")
        return response

    return answer


def bye(request: Any) -> Any:
    """End the session, whose address does not say so."""
    from django.contrib.auth import logout
    from django.http import HttpResponse

    logout(request)
    return HttpResponse("<p>Good bye, and thank you for the time that you have spent here.</p>")


def fill(count: int) -> None:
    """Create the database: a user who may read pages, and the pages."""
    from django.contrib.auth.models import Permission, User
    from django.contrib.flatpages.models import FlatPage
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    user = User.objects.create_user(NAME, "", PASSWORD, is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_flatpage"))
    for number in range(count):
        words = " ".join(f"{word}{number}" for word in WORDS.split())
        FlatPage.objects.create(url=f"/tea/{number}/", title=f"Tea {number}", content=words)


def main() -> None:
    configure(Path(sys.argv[1]))
    from django.contrib import admin
    from django.core.wsgi import get_wsgi_application
    from django.urls import path

    fill(int(sys.argv[2]))
    admin.site.site_url = "/bye/"  # the admin's link "View site", on all of its pages
    urlpatterns.extend([path("admin/", admin.site.urls), path("bye/", bye)])
    server = make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
