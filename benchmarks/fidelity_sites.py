"""Pages of public websites beside the Markdown that their authors wrote, out of git repositories.

`fidelity_sites.toml` names the sites. Each repository has the source in a commit and the pages that
the site's generator made of it in another, most often on a branch `gh-pages`, so that nothing is
built. A source belongs to the page whose path is the source's own without its ending (`a/b.md`:
`a/b.html`, `a/b/index.html`), or what its front matter names (`slug`, `permalink`), or its title.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any

import tomllib
from fidelity_asciidoc import to_html
from fidelity_build import build, starlight

MOST_PAGES = 60  # of a site
LEAST_CHARACTERS = 300  # of a source: a shorter one is a stub
FRONT_MATTER = re.compile(
    r"\A(?:(?:---|\+\+\+)[ ]*\n|(?=[a-z_]+: ))(.*?)\n(?:---|\+\+\+)[ ]*\n", re.DOTALL
)
FIELD = re.compile(r"^(title|slug|permalink|url|path)\s*[:=]\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
DATED = re.compile(r"(\d{4})-(\d\d)-(\d\d)-(.+)\Z")
PAGE_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.DOTALL | re.IGNORECASE)
ENDINGS = (".md", ".mdx", ".qmd", ".markdown", ".rst", ".adoc")
ANTORA = re.compile(r"^(?:ROOT/|([\w-]+/))pages/")  # a module's folder
INDEXES = frozenset(["index", "readme", "_index"])


def sites() -> list[dict[str, Any]]:
    """Return the entries of the file of sites."""
    return list(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["site"])


def half(name: str) -> str:
    """Return which half a site belongs to, by a hash of its name."""
    return "choosing" if hashlib.sha256(name.encode()).digest()[0] % 2 else "judging"


def files(repository: Path, reference: str) -> dict[str, bytes]:
    """Return the text files of a *reference* COMMIT:FOLDER, by their path in the folder."""
    commit, _, root = reference.partition(":")
    git = ["git", "-C", str(repository)]
    listing = [*git, "ls-tree", "-r", "-z", "--name-only", "--full-tree", reference]
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.split("\0")
    wanted = [name for name in names if name.endswith((*ENDINGS, ".html"))]
    prefix = f"{root}/" if root else ""
    asked = "".join(f"{commit}:{prefix}{name}\n" for name in wanted).encode()
    batch = [*git, "cat-file", "--batch"]
    answer = io.BytesIO(subprocess.run(batch, input=asked, check=True, capture_output=True).stdout)
    data = {}
    for name in wanted:
        size = answer.readline().rsplit(b" ", 1)[1].strip()
        if size != b"missing":  # a copy of a repository may lack its largest files
            data[name] = answer.read(int(size) + 1)[:-1]
    return data


def built_files(folder: Path) -> dict[str, bytes]:
    """Return the text files of a *folder*, by their path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.name.endswith((*ENDINGS, ".html")) and path.is_file()
    }


def site_files(site: dict[str, Any], folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the sources and the pages of a *site*."""
    if "package" in site:
        sources, pages = build(site, folder)
        return built_files(sources), built_files(pages)
    repository = folder / site["repository"].replace("/", "+")
    repository = repository / "repo" if (repository / "repo").is_dir() else repository
    if "build" in site:
        pages = built_files(starlight(site, repository, folder))
    else:
        pages = files(repository, site["pages"])
    return files(repository, site["source"]), pages


def fields(source: str) -> dict[str, str]:
    """Return what the front matter of a *source* says."""
    block = FRONT_MATTER.match(source)
    return dict(FIELD.findall(block[1])) if block else {}


def paths(source_path: str, front_matter: dict[str, str]) -> list[str]:
    """Return the paths that the page of a source may have, the likeliest first."""
    path = PurePosixPath(ANTORA.sub(r"\1", source_path)).with_suffix("")
    stems = [path.parent if path.name.lower() in INDEXES else path]
    stems += [stem.with_name(re.sub(r"^\d+[-_.]", "", stem.name)) for stem in stems if stem.name]
    for name in ("slug", "permalink", "url", "path"):
        if value := front_matter.get(name, "").strip("/"):
            stems += [PurePosixPath(value.removesuffix(".html")), path.parent / value]
    if dated := DATED.match(path.name):
        stems += [
            PurePosixPath(*front, dated[1], dated[2], dated[3], dated[4])
            for front in ([], ["news"], path.parts[:-1])
        ]
    return [
        candidate.removeprefix("./")
        for stem in stems
        for candidate in (f"{stem}/index.html", f"{stem}.html")
    ]


def addresses(sources: dict[str, str], pages: dict[str, bytes]) -> dict[str, str]:
    """Return the page's path of each source that has a page."""
    lower = {path.lower(): path for path in pages}
    titles = {
        path: unescape(title[1].strip())
        for path, html in pages.items()
        if (title := PAGE_TITLE.search(html.decode("utf-8", "replace")))
    }
    address = {}
    for source_path, source in sources.items():
        front_matter = fields(source)
        candidates = [path.lower() for path in paths(source_path, front_matter)]
        path = next((lower[path] for path in candidates if path in lower), None)
        name = front_matter.get("title")
        named = [path for path, title in titles.items() if name and title.startswith(name)]
        if path or len(named) == 1:
            address[source_path] = path or named[0]
    return address


def as_read(path: str, source: str) -> str:
    """Return a *source* in the form that is compared."""
    return to_html(source) if path.endswith(".adoc") else source


def unpack(site: dict[str, Any], repositories: Path, folder: Path) -> None:
    """Write the pages of a *site* beside their sources to *folder*/NAME.json."""
    source_files, pages = site_files(site, repositories)
    sources = {
        path: data.decode("utf-8", "replace").replace("\r\n", "\n")
        for path, data in source_files.items()
        if path.endswith(ENDINGS) and not re.search(site.get("without", r"\A\Z"), path)
    }
    address = addresses(sources, pages)
    chosen = sorted(
        (path for path in address if len(sources[path]) >= LEAST_CHARACTERS),
        key=lambda path: hashlib.sha256(path.encode()).digest(),
    )[:MOST_PAGES]
    record = {
        "addresses": address,
        "pages": [
            {
                "source": path,
                "address": address[path],
                "markdown": as_read(path, sources[path]),
                "html": pages[address[path]].decode("utf-8", "replace"),
            }
            for path in chosen
        ],
    }
    (folder / f"{site['name']}.json").write_text(json.dumps(record, ensure_ascii=False), "utf-8")
    print(
        f"{site['name']}: {len(sources)} sources, {len(address)} with a page, {len(chosen)} taken"
    )
