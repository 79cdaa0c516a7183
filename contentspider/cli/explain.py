"""The command ``contentspider explain``."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contentspider.cli.command import MODELS, STATE_DIR, argument, command
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Floats
    from contentspider.site.models.model import SiteModel
    from contentspider.site.own.texts import OwnText
    from contentspider.state.stores.knowledge import Knowledge
    from contentspider.state.stores.models import ModelStore

MAX_EXPLAINED = 5
SHOWN_CHARS = 90


class _Site(NamedTuple):
    """A page of a *site*. If a crawl has kept it, *pages* are the page and others of that crawl,
    *own_texts* are texts that the site publishes about its pages (such as feeds), and *read_at* is
    the time when the page was fetched. *model* is the one that was learned from *pages*, None if
    it is stored.
    """

    page: Page
    site: str
    pages: Sequence[Page] = ()
    own_texts: Sequence[OwnText] = ()
    read_at: str = ""
    model: SiteModel | None = None


@command(
    "explain",
    argument("URL", "the page's address, or the file of a saved page"),
    argument("[TEXT]", "a part of the text in question; without it all texts are listed"),
    argument("--folder DIR", "the folder of the site that a saved page is of", Path),
    argument("--crawl CRAWL", "which crawl, as in 'changes' (default: any that has the page)"),
    argument("--allow-private", "fetch from private networks, too"),
    MODELS,
    STATE_DIR,
)
def explain(options: argparse.Namespace) -> None:
    """Say why a text of a page is kept or dropped, and which line of overrides.toml would change
    that. The page is read as a crawl has kept it. If no crawl has, it is fetched. A saved page is
    judged by the model of its folder, which is learned from the folder's files if none is stored.
    """
    from contentspider.site.models.reasons import Reasons, blocks_with
    from contentspider.state.stores.knowledge import Knowledge
    from contentspider.state.stores.models import open_models

    store = open_models(options.models, options.state_dir)
    found = _saved(options) or _crawled(options) or _fetched(options)
    model = found.model or store.load(found.site)
    known = Knowledge(model, store.overrides(found.site))
    extraction = known.extract(found.page, found.site)
    texts = [" ".join(block.text.split()) for block in extraction.page.content.blocks]
    say(f"{found.page.url}: {int(extraction.kept.sum())} of {counted(len(texts), 'texts')} kept")
    if not options.text:
        for text, is_kept in zip(texts, extraction.kept.tolist(), strict=True):
            print(printable(f"{'+' if is_kept else '-'} {text[:SHOWN_CHARS]}"))
        say("why one of them is kept (+) or dropped (-): give a part of it after the address")
        return
    chosen = blocks_with(extraction.page, options.text)
    if not chosen:
        raise ContentSpiderError(
            f"the page has no text with {options.text!r} (each text is an element, such as a"
            " paragraph); without a text all of them are listed",
            code="no-such-text",
        )
    reasons = Reasons(
        known.model,
        [known.extract(page, found.site) for page in found.pages],
        _voted(known.model, found),
        _own_texts(found),
    )
    for index in chosen[:MAX_EXPLAINED]:
        for line in str(reasons.explain(extraction, index)).split("\n"):
            print(printable(line))
    if len(chosen) > MAX_EXPLAINED:
        say(
            f"{counted(len(chosen) - MAX_EXPLAINED, 'more texts')} with these words: give more of"
            " them"
        )
    _tell_overrides(known, found, str(store.place(found.site)))


def _saved(options: argparse.Namespace) -> _Site | None:
    """Return the page in a file, with the other files of its site's folder; None if the file does
    not exist. With a folder the file may be named by its path below it, as items name it.
    """
    from contentspider.page.input.files import html_files, read_pages
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.state.stores.models import open_models

    file = Path(options.url)
    if options.folder and not file.is_file():
        file = options.folder / file
        if not file.is_file():
            raise ContentSpiderError(f"{options.url} is no file below {options.folder}")
    if not file.is_file():
        return None
    store = open_models(options.models, options.state_dir)
    folder = (options.folder or _folder_of_site(file, store)).resolve()
    file, site = file.resolve(), folder.name
    if not file.is_relative_to(folder):
        raise ContentSpiderError(
            f"{file} is not in the folder {folder}: give the one that it is in"
        )
    overrides = store.overrides(site)
    page = next(read_pages(folder, [file], overrides=overrides), None)
    if page is None or not page.content.blocks:
        raise ContentSpiderError(f"{file} is no HTML page with text")
    files = [other for other in html_files(folder) if other != file]
    learner = SiteLearner(site)
    others = learner.sample(read_pages(folder, files, overrides=overrides))
    model = store.load(site) or (learner.fit([page, *others]) if others else None)
    say(
        f"{options.url}: compared with {counted(len(others), 'pages')} in {folder} (--folder names"
        " another)" + ("" if model else "; the general prior judges a page alone")
    )
    return _Site(page, site, [page, *others], model=model)


def _folder_of_site(file: Path, store: ModelStore) -> Path:
    """Return the folder of the site to which a saved page belongs.

    It is the nearest folder above the page that has the name of a known site. Without one it is the
    outermost folder below the current one that has pages, or the page's own folder.
    """
    from contentspider.page.input.files import is_named_page

    known, folders = set(store.sites()), list(file.absolute().parents)[:-1]
    for folder in folders:
        if folder.name in known or store.overrides(folder.name) is not None:
            return folder
    within = [folder for folder in folders[1:] if Path.cwd() in folder.parents]
    with_pages = [folder for folder in within if any(map(is_named_page, folder.iterdir()))]
    return [folders[0], *with_pages][-1]


def _crawled(options: argparse.Namespace) -> _Site | None:
    """Return the page as its crawl has kept it; None if no crawl has."""
    from contentspider.state.crawls.books import read_book
    from contentspider.state.crawls.export import find_page

    try:
        path, name = find_page(options.url, options.crawl or "", options.state_dir)
    except ContentSpiderError:
        if options.crawl:
            raise
        return None
    with closing(read_book(path)) as book:
        page, version = book.known.stored(name), book.known.page(name)
        if page is None or version is None:
            return None
        others = [
            other for other in book.stored_pages.sample(version.site) if other.url != page.url
        ]
        own_texts = book.own_texts.of_site(version.site)
        return _Site(page, version.site, [page, *others], own_texts, version.last_fetched)


def _fetched(options: argparse.Namespace) -> _Site:
    """Return the page as its server sends it now."""
    from contentspider.cli.extract import read_page
    from contentspider.ground.sites import SiteKeys
    from contentspider.state.stores.knowledge import Knowledge
    from contentspider.state.stores.models import open_models

    fetched = read_page(options.url, options.allow_private)
    say("no crawl here has kept the page: it was fetched, and is compared with no other page")
    site = SiteKeys().key(fetched.url)
    store = open_models(options.models, options.state_dir)
    known = Knowledge(store.load(site), store.overrides(site))
    return _Site(known.read_fetched(fetched, fetched.url), site)


def _voted(model: SiteModel | None, found: _Site) -> dict[str, Floats]:
    """Return the labels that the site's pages give each other now, by the page's address."""
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.site.learn.options import LearningOptions
    from contentspider.site.vote.blocks import gather
    from contentspider.site.vote.labels import VOTES

    if len(found.pages) < 2 or model is None or model.labels != VOTES:
        return {}
    learner = SiteLearner(found.site, LearningOptions(features=model.features))
    sample = learner.sample(found.pages, found.own_texts)
    blocks = gather(sample)
    labels = learner.label(sample, blocks, found.own_texts).probabilities
    return {page.url: labels[blocks.pages == number] for number, page in enumerate(sample)}


def _own_texts(found: _Site) -> dict[str, Sequence[OwnText]]:
    """Return the texts that the site publishes of the page, by its address."""
    from contentspider.site.own.matching import stated_texts, texts_by_page

    texts = [*found.own_texts, *stated_texts([found.page])]
    return {found.page.url: texts_by_page([found.page], texts).get(0, [])}


def _tell_overrides(known: Knowledge, found: _Site, folder: str) -> None:
    """Say where the corrections are, and that the page was read before they changed."""
    from datetime import datetime, timezone
    from pathlib import Path

    from contentspider.page.input.overrides import OVERRIDES

    path = Path(folder) / OVERRIDES
    say(f"overrides.toml is {path}" if known.overrides else f"overrides.toml would be {path}")
    if known.overrides and found.read_at and path.is_file():
        changed = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
        if changed > datetime.fromisoformat(found.read_at):
            say("it has changed since the page was read: the next crawl applies it")
