"""Serves Django's admin with pages that only its users may read: ``FOLDER PAGES SESSION_PAGES``.

It prints its address, and writes a line to ``requests`` in the folder for each request: the method,
the path, and the user who is logged in. A session ends after SESSION_PAGES pages (0: never).
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path

FOLDER = Path(sys.argv[1])
PAGES, SESSION_PAGES = int(sys.argv[2]), int(sys.argv[3])
NAME, PASSWORD = "crawler", "grünes-Kamel-4711"
WORDS = "tea leaves rest in warm water until the pot is full and the kitchen smells of smoke"

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "db.sqlite3"}},
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
        f"{__name__}.note_request",
    ],
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of-the-tests",
    SITE_ID=1,
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
pages_of_session: Counter[str] = Counter()


def note_request(get_response: Any) -> Any:
    """Write down each request, and end a session after its pages."""

    def answer(request: Any) -> Any:
        key = request.session.session_key or ""
        pages_of_session[key] += 1
        if SESSION_PAGES and key and pages_of_session[key] > SESSION_PAGES:
            request.session.delete(key)
            request.session = type(request.session)()
            request.user = django.contrib.auth.models.AnonymousUser()
        user = request.user.get_username() or "-"
        response = get_response(request)
        with (FOLDER / "requests").open("a") as file:
            file.write(f"{request.method} {request.get_full_path()} {user}\n")
        return response

    return answer


def bye(request: Any) -> HttpResponse:
    """End the session, whose address does not say so."""
    django.contrib.auth.logout(request)
    return HttpResponse("<p>Good bye, and thank you for the time that you have spent here.</p>")


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def fill() -> None:
    """Create the database: a user who may read pages, and the pages."""
    from django.contrib.auth.models import Permission, User
    from django.contrib.flatpages.models import FlatPage
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    user = User.objects.create_user(NAME, "", PASSWORD, is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_flatpage"))
    for number in range(PAGES):
        words = " ".join(f"{word}{number if place % 5 == 0 else ''}" for place, word in enumerate(WORDS.split() * 3))
        FlatPage.objects.create(url=f"/tea/{number}/", title=f"Tea {number}", content=words)


django.setup()
fill()

from django.contrib import admin  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

admin.site.site_url = "/bye/"  # the admin's link "View site", on all of its pages
urlpatterns = [path("admin/", admin.site.urls), path("bye/", bye)]
server = make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
