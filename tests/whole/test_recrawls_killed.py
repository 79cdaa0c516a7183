"""Crawls of a known site that are killed, and what troubles they meet: no change is lost, told
twice or false.
"""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TIMEOUT, Site, read_jsonl, run
from tests.messages import wording
from tests.processes import Popen
from tests.sites import article, prose
from tests.whole.test_durability import killing
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    Moment = tuple[str, int]
    Told = list[tuple[object, ...]]

PAGES = 30
# What is killed: the process (or VICTIM), at the so many-th call of a method, before it or after;
# an engine takes so many documents at a time (BATCH).
KILLING = """
import os, signal, sys
from importlib import import_module
from itertools import count
from contentspider.cli import main

where, method, when, after = sys.argv[1].split(" ")
module, kind = where.split(":")
of = getattr(import_module(module), kind)
call, numbers = getattr(of, method), count(1)
victim = int(os.environ.get("VICTIM", 0)) or os.getpid()
if "BATCH" in os.environ:
    of.max_documents = int(os.environ["BATCH"])

def killed(*arguments, **named):
    dies = next(numbers) == int(after)
    if dies and when == "before":
        os.kill(victim, signal.SIGKILL)
    result = call(*arguments, **named)
    if dies:
        os.kill(victim, signal.SIGKILL)
    return result

setattr(of, method, killed)
sys.exit(main(sys.argv[2:]))
"""
FIELDS = ("--fields", "fields.toml")
LEARNING = "learning"
KEEPER = "contentspider.crawl.queue.keeper:BookKeeper"
BOOK = "contentspider.state.book"
OUTPUT = "contentspider.state.files.output:JsonLinesWriter"
# Around the steps of a page (its version is written, its item is taken, it is settled, it is
# published, its old version is dropped), around the replacement of the output, and before the end
# of the run.
AT_THE_END = [
    (f"{OUTPUT} publish before", 1),
    (f"{BOOK}.book:Book publish after", 1),
    (f"{BOOK}.book:Book publish before", 1),
    (f"{BOOK}.book:Book end_run before", 1),
    (f"{BOOK}.visits:Visits write after", 12),
    (f"{BOOK}.visits:Visits take_item before", 7),
    (f"{BOOK}.book:Book begin_ending after", 1),
    (f"{BOOK}.losses:Losses mark_gone after", 1),
    (f"{BOOK}.anchors:Anchors flush after", 1),
    (f"{BOOK}.copies:Copies clean after", 1),
    (f"{BOOK}.book:Book end_run after", 1),
    (f"{KEEPER} _queue_known after", 1),
    (f"{KEEPER} commit after", 1),
    (f"{OUTPUT} publish after", 1),
]


def moments() -> list[Moment]:
    """Return 26 moments, the most dangerous first."""
    draw = random.Random(11)
    fetches = [("fetch", number) for number in draw.sample(range(1, PAGES + 8), 9)]
    visits = [
        ("contentspider.crawl.revisits.revisits:Revisits compare after", number)
        for number in draw.sample(range(1, PAGES), 3)
    ]
    return [AT_THE_END[0], fetches[0], visits[0], *AT_THE_END[1:], *fetches[1:], *visits[1:]]


def edited_site(site: Site, folder: Path, *options: str) -> Recrawls:
    """Return a site that has been crawled once, and whose texts of three pages were edited then."""
    again = Recrawls(site, folder)
    again.articles = {f"/{number}": article(number) for number in range(1, PAGES)}
    again.crawl(*options)
    assert len(again.records()) == PAGES
    for path in ("/3", "/9", "/21"):
        number = int(path[1:])
        again.articles[path] = article(number).replace(prose(number, 1), prose("edited", number))
    return again


def changed_site(site: Site, folder: Path, *options: str) -> Recrawls:
    """Return a site that has been crawled once, and has changed since."""
    again = edited_site(site, folder, *options)
    for path in ("/4", "/10"):
        del again.articles[path]
    for number, status in ((5, 301), (6, 308), (7, 301)):
        again.articles[f"/to/{number}"] = again.articles.pop(f"/{number}")
        again.answers[f"/{number}"] = status, f"/to/{number}"
    again.unlinked |= {"/to/6", "/12"}
    again.articles |= {f"/{number}": article(number) for number in (90, 91)}
    return again


def told(again: Recrawls, folder: Path) -> Told:
    """Return what the change log of a folder says of the second crawl, but for when."""
    again.folder, seq = folder, again.seq
    found = again.records()
    again.seq = seq
    names = ("url", "change", "change_ratio", "change_cause", "previous_hash", "content_hash")
    more = ("reason", "previous_url", "previous_id")
    return sorted(
        (*(record[name] for name in (*names, *more)), str(record["fields"])) for record in found
    )


def crawl_killed(again: Recrawls, folder: Path, moment: Moment, *options: str) -> bool:
    """Crawl, and kill the process at a moment; tell whether that was in time."""
    what, after = moment
    command = ["crawl", again.site.url, "--own-site", "-o", "pages.jsonl", "--no-sitemaps"]
    command += options
    (folder / "killing.py").write_text(KILLING)
    program = ["-m", "contentspider"] if what == "fetch" else ["killing.py", f"{what} {after}"]
    answer = again.site.answer
    with Popen(
        [sys.executable, *program, *command], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as process:
        if what == "fetch":
            again.site.answer = killing(process, answer, after)
        assert process.stderr is not None
        said = process.stderr.read()
        code = process.wait(TIMEOUT)
    again.site.answer = answer
    assert code in (0, -signal.SIGKILL), said[-3000:]
    return code != 0


def resume(again: Recrawls, folder: Path, *options: str) -> None:
    """Go on with a crawl, unless it was killed after its end."""
    name = again.site.url.removeprefix("http://").replace(":", "-")
    connection = sqlite3.connect(folder / f".scrapy/contentspider/{name}.sqlite")
    (ended,) = connection.execute("SELECT reason FROM runs ORDER BY number DESC").fetchone()
    connection.close()
    if ended != "finished":
        again.folder = folder
        again.crawl("--resume", *options)


def test_killed_crawl_reports_each_change_once(
    site: Site, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "fields.toml").write_text('[color]\ncss = "article::attr(data-color)"\n')
    again = changed_site(site, begun, *FIELDS)
    again.articles["/15"] = again.articles["/15"].replace("<article>", "<article data-color=red>")
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(begun, undisturbed)
    again.folder = undisturbed
    again.crawl(*FIELDS)
    wanted, items = told(again, undisturbed), pages_of(undisturbed)
    fields = {record[0]: record[-1] for record in wanted if record[3] == "fields"}
    assert fields == {"/15": "{'color': [None, 'red']}"}
    kinds = [record[1] for record in wanted if record[0] != "/15"]
    assert [kinds.count(kind) for kind in ("new", "gone", "moved")] == [2, 2, 3]
    assert kinds.count("changed") in (3, 4), "the start page names other pages"

    found = moments()
    assert len(set(found)) == 26
    if not request.config.getoption("--all-kills"):
        found = found[:2]
    for number, moment in enumerate(found):
        folder = tmp_path / str(number)
        shutil.copytree(begun, folder)
        assert crawl_killed(again, folder, moment, *FIELDS), moment
        resume(again, folder, *FIELDS)
        assert told(again, folder) == wanted, moment
        assert pages_of(folder) == items, moment


def pages_of(folder: Path) -> list[tuple[object, ...]]:
    """Return the address, text and change of each item in a folder's output."""
    items = read_jsonl(folder / "pages.jsonl")
    return sorted((item["url"], item["content"], item["change"]) for item in items)


def redesigned(page: str) -> str:
    """Return an article in another template: all of its text is at other places."""
    page = page.replace("<article>", "<main class=story><h4>Story</h4><div class=text>")
    return page.replace("</article>", "</div><p class=share>Send this story by mail</p></main>")


def redesigned_site(site: Site, folder: Path) -> Recrawls:
    """Return a site that has been crawled once, and then got another template and some changes."""
    again = edited_site(site, folder)
    again.articles |= {"/90": article(90)}
    again.articles = {path: redesigned(page) for path, page in again.articles.items()}
    return again


def learning_moments() -> list[Moment]:
    """Return nine moments of a crawl that learns its site again: while pages are held, so many
    milliseconds into learning, around the storing of the model, and while items are released.
    """
    draw = random.Random(52)
    items = "contentspider.state.book.items:Items"
    models = "contentspider.crawl.learning.models:CrawlModels"
    return [
        (LEARNING, draw.randint(0, 300)),
        (f"{items} hold after", draw.randint(1, 8)),
        (LEARNING, draw.randint(300, 1_500)),
        (f"{models} save before", 1),
        (f"{models} save after", 1),
        (f"{items} release after", 1),
        (f"{items} record after", draw.randint(2, PAGES // 2)),
        (f"{items} record after", draw.randint(PAGES // 2, PAGES)),
        (f"{items} hold after", draw.randint(9, PAGES - 1)),
    ]


def crawl_killed_in_learning(again: Recrawls, folder: Path, milliseconds: int) -> bool:
    """Crawl, and kill the process so long after it began to learn its site again; tell whether that
    was in time.
    """
    command = [sys.executable, "-m", "contentspider", "crawl", again.site.url, "--own-site"]
    command += ["-o", "pages.jsonl", "--no-sitemaps", "--log-level", "INFO"]
    timers: list[threading.Timer] = []
    with Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "its template has changed" in line:
                timers.append(threading.Timer(milliseconds / 1_000, process.kill))
                timers[0].start()
        code = process.wait(TIMEOUT)
    for timer in timers:
        timer.cancel()
        timer.join()
    assert timers, "the site was not learned again"
    assert code in (0, -signal.SIGKILL)
    return code != 0


def items_of(folder: Path) -> list[tuple[object, ...]]:
    """Return the items of a folder's last crawl, with their texts and changes."""
    items = read_jsonl(folder / "pages.jsonl")
    names = ("url", "title", "content", "content_markdown", "change", "change_ratio")
    return sorted(tuple(item[name] for name in names) for item in items)


@pytest.mark.thorough
def test_crawl_killed_while_it_learns_a_new_template_ends_as_an_unkilled_one(
    site: Site, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    again = redesigned_site(site, begun)
    unkilled = tmp_path / "unkilled"
    shutil.copytree(begun, unkilled)
    again.folder = unkilled
    again.crawl("--log-level", "INFO")
    assert "its template has changed" in again.said
    assert "the new model is used" in again.said
    changes, items = told(again, unkilled), items_of(unkilled)
    assert len(items) == PAGES + 1
    assert not any("by mail" in str(item[2]) for item in items)

    moments = learning_moments()
    assert len(set(moments)) == 9
    if not request.config.getoption("--all-kills"):
        moments = moments[:1]
    kills = 0
    for number, (what, after) in enumerate(moments):
        folder = tmp_path / str(number)
        shutil.copytree(begun, folder)
        if what == LEARNING:
            kills += crawl_killed_in_learning(again, folder, after)
        else:
            kills += crawl_killed(again, folder, (what, after))
        resume(again, folder)
        assert items_of(folder) == items, (what, after)
        assert told(again, folder) == changes, (what, after)
    assert kills >= len(moments) - 1, "one of the two that are timed may come too late"


@pytest.mark.thorough
def test_repeatedly_killed_crawl_reports_each_change_once(site: Site, tmp_path: Path) -> None:
    again = changed_site(site, tmp_path)
    shutil.copytree(tmp_path, undisturbed := tmp_path / "undisturbed")
    again.folder = undisturbed
    again.crawl()
    wanted = told(again, undisturbed)
    for moment in (
        ("fetch", 9),
        (f"{BOOK}.visits:Visits write after", 1),
        (f"{BOOK}.anchors:Anchors flush after", 1),
        (f"{BOOK}.book:Book publish after", 1),
    ):
        assert crawl_killed(again, tmp_path, moment, "--resume"), moment
    resume(again, tmp_path)
    assert told(again, tmp_path) == wanted


@pytest.mark.thorough
def test_pages_linked_only_by_unreadable_page_stay_unchanged(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    behind = [f"/{number}" for number in range(4, 12)]
    again.unlinked |= set(behind)
    again.articles["/1"] = article(1, "".join(f"<a href={path}>{path}</a>" for path in behind))
    again.crawl()
    assert len(again.records()) == 12
    again.answers["/1"] = 500, ""
    for code in (4, 4, 4, 0):  # then it is known as broken
        again.crawl("-s", "RETRY_TIMES=0", "-s", "CONTENTSPIDER_MISSING_CRAWLS=2", code=code)
        seen = again.seq
    assert {record["change"] for record in again.records()} == {"unchanged"}
    done = run("changes", site.url, "--since", str(seen), cwd=tmp_path)
    assert not done.stdout, "unchanged pages are printed only if they are asked for"
    del again.answers["/1"]
    again.crawl("-s", "CONTENTSPIDER_MISSING_CRAWLS=2")
    assert again.changes() == {}, "nor were they missing meanwhile"


def test_history_of_later_version_is_rejected(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl()
    (path,) = (tmp_path / ".scrapy/contentspider").glob("*.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    done = run("crawl", site.url, "--own-site", "--no-sitemaps", cwd=tmp_path, check=False)
    assert done.returncode == 1
    for said in (done, run("changes", site.url, cwd=tmp_path, check=False)):
        assert said.returncode == 1
        assert wording("state.other-schema") + " 99" in said.stderr
    assert path.read_bytes() == before
    assert not path.with_name(path.name + ".broken").exists()


def test_changes_command_works_during_crawl(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl()
    again.records()
    answer, asked = site.answer, []

    def asking(path: str) -> tuple[int, str, bytes]:
        if path == "/7":
            arguments = ("changes", site.url, "--since", str(again.seq - 2))
            asked.append(run(*arguments, cwd=tmp_path).stdout)
        return answer(path)

    site.answer = asking
    again.crawl()
    assert [told.count('"change": "new"') for told in asked] == [2]
    assert {record["change"] for record in again.records()} == {"unchanged"}
