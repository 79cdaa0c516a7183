"""What a reader of the docs does with their code blocks.

- ``sh`` and ``console`` are run by bash. What a console block shows is printed, but for numbers.
- Python is run in a process of its own, and dialogues with Python by doctest.
- A block whose paragraph names its file (In `sites.toml`:) is added to the end of that file. A
  command reads it later; `settings.py`, spiders and what they name are of a project of Scrapy's,
  which is crawled with at the end.
- JSON that is marked as output has the fields of an object that a command before it wrote.

Nothing is replaced in a block: https://example.org is reached by a proxy (`tests.docs_site`). But
servers listen at any port, and end when they listen; and pip, which has no network here, installs
nothing: it is looked whether the package has the extra.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from http.client import HTTPConnection
from threading import Timer
from typing import TYPE_CHECKING, Any

from tests.conftest import read_jsonl
from tests.docs_blocks import Block, parts_of_a_dialogue, without_numbers
from tests.ground.test_plugins import install

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.docs_site import DocsSite

LANGUAGES = {"sh", "console", "python", "pycon", "toml"}
# Programs that are not ours, and what of a command shows that it needs them.
PROGRAMS = {"wget": "wget ", "curl": "curl ", "openssl": "openssl ", "chromium": "--screenshots"}
SPIDER_CLASS = re.compile(r"^class \w+\((?:scrapy\.|Crawl)Spider\)", re.MULTILINE)
SERVER = re.compile(r"^(contentspider (?:serve|annotate)\b.*?)(?=\s*#|$)", re.MULTILINE)
READY = re.compile(r"http://([\w.]+):(\d+)/(?:\?token=\S+)? \(Ctrl-C ends it\)")
PIP = re.compile(r"^pip install '?contentspider(?:\[([\w,]+)\])?'?(?=\s*#|\s*$)", re.MULTILINE)
PIP_HERE = re.compile(r"^pip install \.$", re.MULTILINE)
EXTRAS = "from importlib.metadata import metadata as m; print(*m('contentspider').get_all({!r}))"
BASH = ("bash", "-euo", "pipefail", "-c")
SECONDS = 120
# For pages that have settings, and no spider.
SPIDER = """
import scrapy
from contentspider import ContentItem


class Reader(scrapy.Spider):
    name = "reader"
    start_urls = ["https://example.org", "https://example.org/tea", "https://example.org/ferry"]

    def parse(self, response):
        yield ContentItem.from_response(response)
"""


def programs_of(block: Block) -> list[str]:
    """Return the programs that a block needs beside ours."""
    return [program for program, shown in PROGRAMS.items() if shown in block.text]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all JSON objects in a value."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from objects(part)


class Reader:
    """Somebody who does in a folder what a page says, word by word."""

    def __init__(
        self, python: str, folder: Path, site: DocsSite, environment: dict[str, str]
    ) -> None:
        self.python, self.folder, self.site = python, folder, site
        self.installed = folder.parent / "installed"
        path = os.pathsep.join([str(self.installed), environment.get("PYTHONPATH", "")])
        self.environment = environment | {"PYTHONPATH": path.rstrip(os.pathsep)}
        # Files of blocks that nothing has read yet.
        self.unread: dict[str, str] = {}
        self.dialogues = ""
        self.block: Block | None = None

    def do(self, block: Block) -> None:
        """Run a block, or write it to its file; raises `AssertionError`."""
        self.block = block
        if block.mark == "output":
            self.compare_fields(block)
        elif block.is_doctest:
            self.dialogues += f"{block.text}\n"
        elif block.file:
            self.write(block.file, block.text)
        elif block.language == "python":
            self.run(self.python, "-c", block.text)
        else:
            self.run_commands(block)

    def end(self) -> None:
        """Run the dialogues of the page, its project of Scrapy's, and its file of sites."""
        if self.dialogues:
            self.write("dialogues.txt", self.dialogues)
            self.run(self.python, "-m", "doctest", "dialogues.txt")
            del self.unread["dialogues.txt"]
        if any(file.endswith(".py") for file in self.unread):
            self.run_project()
        if "sites.toml" in self.unread:
            self.run(*BASH, "contentspider run sites.toml")
            self.read("sites")
        assert not self.unread, f"nothing on the page reads {', '.join(self.unread)}"

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"\n{text}")
        self.unread[name] = file.read_text(encoding="utf-8")

    def read(self, text: str) -> None:
        """Note that what is named in *text*, by its name or its folder, was read."""
        for name in list(self.unread):
            *_, above, file = f"/{name}".split("/")
            if file.partition(".")[0] in text or (above and above in text):
                del self.unread[name]

    def run_commands(self, block: Block) -> None:
        is_console = block.language == "console"
        script, shown = parts_of_a_dialogue(block.text) if is_console else (block.text, [])
        for extras in PIP.findall(script):
            known = self.run(self.python, "-c", EXTRAS.format("Provides-Extra")).split()
            assert set(filter(None, extras.split(","))) <= set(known), extras
        if PIP_HERE.search(script):
            self.install()
        script = PIP_HERE.sub("true", PIP.sub("true", script))
        if SERVER.search(script):
            printed = self.run_server(SERVER.sub(r"\1 --port 0", script))
        else:
            printed = self.run(*BASH, script)
        lines = iter([without_numbers(line) for line in printed.splitlines()])
        for line in shown:
            assert without_numbers(line) in lines, f"{block}: not printed: {line}\n{printed}"
        self.read(" ".join(self.unread) if "scrapy crawl" in script else script)
        if "contentspider crawl" in script:
            self.site.change()

    def run(self, *command: str) -> str:
        """Run a command, and return what it prints."""
        with self.start(*command) as process, self.killed_in_time(process):
            printed, _ = process.communicate()
        assert process.returncode == 0, f"{self.block}: {process.returncode}\n{printed}"
        assert "Traceback" not in printed, f"{self.block}\n{printed}"
        return printed

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    @contextmanager
    def killed_in_time(self, process: subprocess.Popen[str]) -> Iterator[None]:
        """End a process, and all that it runs, if it takes too long, or something is wrong."""
        watch = Timer(SECONDS, os.killpg, [process.pid, signal.SIGTERM])
        watch.start()
        try:
            yield
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            watch.cancel()

    def run_server(self, script: str) -> str:
        """Run commands of which the last is a server; ask it for its page, and end it by Ctrl-C."""
        printed = ""
        with self.start(*BASH, script) as process, self.killed_in_time(process):
            assert process.stdout
            for line in process.stdout:
                printed += line
                if found := READY.search(line):
                    connection = HTTPConnection(found[1], int(found[2]))
                    connection.request("GET", "/")
                    assert connection.getresponse().status < 400, f"{self.block}\n{printed}"
                    connection.close()
                    os.killpg(process.pid, signal.SIGINT)
        assert READY.search(printed), f"{self.block}\n{printed}"
        return printed

    def install(self) -> None:
        """Install the package of the folder as pip would, which would get setuptools."""
        about = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))
        (module,) = self.folder.glob("*.py")
        assert module.stem == about["project"]["name"] == "mylabels"
        self.installed.mkdir()
        code = module.read_text(encoding="utf-8")
        install(self.installed, code, about["project"]["entry-points"])
        self.read("pyproject.toml mylabels.py")

    def run_project(self) -> None:
        """Crawl with the settings and spiders of the page, as if they were a Scrapy project."""
        settings = self.folder / "settings.py"
        if "ADDONS" not in self.unread.get("settings.py", ""):
            self.write("settings.py", 'ADDONS = {"contentspider.Addon": 500}\n')
        spiders = [name for name, text in self.unread.items() if SPIDER_CLASS.search(text)]
        if not spiders:
            (self.folder / "reader.py").write_text(SPIDER)
            spiders = ["reader.py"]
        self.environment["SCRAPY_SETTINGS_MODULE"] = "settings"
        self.environment["PYTHONPATH"] += f"{os.pathsep}{self.folder}"
        for spider in spiders:
            printed = self.run(*BASH, f"scrapy runspider {spider} -o of-{spider}.jsonl")
            assert "ERROR" not in printed, printed
            items = read_jsonl(self.folder / f"of-{spider}.jsonl")
            assert any(item.get("content") or item.get("text") for item in items), printed
        self.read(" ".join(["settings", *spiders, settings.read_text(encoding="utf-8")]))

    def compare_fields(self, block: Block) -> None:
        """Compare the fields of a block of JSON with those of what was written."""
        shown = json.loads(block.text)
        written = [read_jsonl(file) for file in self.folder.glob("*.jsonl")]
        assert any(set(one) == set(shown) for one in objects(written)), f"{block}: {list(shown)}"
