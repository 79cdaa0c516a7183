"""What the arguments of several commands have in common."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from contentspider.crawl.option import Option
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable
from contentspider.run.flags import BY_KEY
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from contentspider.page.input.page import Page
    from contentspider.site.learn.options import LearningOptions
    from contentspider.site.models.model import SiteModel
    from contentspider.state.crawls.outcome import Outcome

    Group: TypeAlias = argparse._ArgumentGroup
    Parser: TypeAlias = argparse.ArgumentParser | Group
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


CRAWL_HELP = "what it crawls (an address), its name (--name), or its ledger's file"


def reading(option: Option) -> Callable[[str], Any]:
    """Return what reads the text of an argument; its errors say what to give."""

    def read(text: str) -> Any:
        try:
            if isinstance(option.default, (list, dict)):
                return option.convert(text) if option.convert else text
            return option.read(text)
        except ContentSpiderError as error:
            raise argparse.ArgumentTypeError(f"{text!r} cannot be used: {error}") from None

    return read


def number(minimum: int) -> Callable[[str], Any]:
    """Return what reads a whole number from *minimum* on."""
    return reading(Option("", minimum, "", minimum=minimum))


not_negative, positive, folds = number(0), number(1), number(2)
share = reading(Option("", 0.95, "", minimum=0, maximum=1))


def add_option(parser: Parser, key: str, **changes: Any) -> None:
    """Add an option of the table (`contentspider.run.flags`), with *changes* to its argument.

    Not given, it is its default.
    """
    option = BY_KEY[key]
    default = option.default
    given: dict[str, Any] = {"dest": key, "default": default, "help": option.help}
    if isinstance(default, bool):
        given["action"] = "store_false" if option.flag.startswith("--no-") else "store_true"
    else:
        given |= {"type": reading(option), "metavar": option.metavar or None}
        if option.choices and not option.metavar:
            given["metavar"] = f"{{{','.join(filter(None, option.choices))}}}"
        if isinstance(default, (list, dict)):
            given |= {"action": "append", "default": []}
        if option.const:
            given |= {"nargs": "?", "const": option.const}
    parser.add_argument(*option.flags.split(), **(given | changes))


def add_state_dir(parser: Parser) -> None:
    """Add the option that says where crawls' ledgers are."""
    add_option(parser, "state_dir")


def add_learning_options(parser: argparse.ArgumentParser, features: str = "slots") -> None:
    """Add the options that choose how a site is learned."""
    add_option(parser, "labels")
    add_option(parser, "features", action="store", default=features)
    add_option(parser, "classifier")


def chosen_learning(options: argparse.Namespace) -> LearningOptions:
    """Return how sites are learned, by the command's options."""
    from contentspider.site.learn.options import LearningOptions, OptionError

    try:
        return LearningOptions(
            labels=options.labels,
            features=options.features,
            classifier=options.classifier,
            keep_teasers=getattr(options, "keep_teasers", False),
        )
    except OptionError as error:
        raise error.renamed("--" + error.option.replace("_", "-")) from error


def folder(text: str) -> Path:
    """Return a folder; a store of models is none."""
    if is_url(text):
        raise argparse.ArgumentTypeError(
            f"{text} is no folder; 'contentspider models --models {text} export' brings a model of"
            " it here"
        )
    return Path(text)


def exit_codes(meanings: Mapping[Outcome, str]) -> str:
    """Return what the exit codes mean, as lines of the help."""
    lines = [
        fill(f"{outcome.value} {meaning}", 79, initial_indent="  ", subsequent_indent="    ")
        for outcome, meaning in meanings.items()
    ]
    return "\n".join(["exit codes:", *lines])


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the argument and the options that name a site, a crawl or a folder."""
    parser.add_argument(
        "source",
        metavar="SITE_OR_CRAWL",
        help=(
            "a site that has a model, a crawl's name or ledger, or a folder of a site's HTML files"
        ),
    )
    parser.add_argument("--site", default="", help="which site of a crawl of several")
    add_models(parser)


def add_models(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where models and crawls are."""
    add_option(parser, "models")
    add_option(parser, "state_dir")


def kept_pages(site: str, state_dir: str) -> list[Page]:
    """Return the pages of a site that its crawl has kept; none if there is no crawl of it."""
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.ledger.ledger import Ledger

    try:
        ledger = Ledger(find_crawl(site, state_dir), read_only=True)
    except ContentSpiderError:
        return []
    try:
        return list(ledger.pages.sample(site))
    finally:
        ledger.close()


def known_site(options: argparse.Namespace) -> tuple[SiteModel, list[Page]]:
    """Return the model of what the options name (`add_source`), and its pages, as far as they are
    at hand.

    Where a folder or a crawl has no model, one is learned from its pages.
    """
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.state.stores.shared_models import open_models

    store = open_models(options.models, options.state_dir)
    source, state_dir = str(options.source), options.state_dir
    folder = Path(source)
    if source in store.sites():
        return store.read(source), kept_pages(source, state_dir)
    if folder.is_dir():
        from contentspider.page.input.files import read_pages

        site, pages = folder.resolve().name, read_pages(folder)
        model = store.load(site)
        sample = SiteLearner.sample(pages)
    else:
        site, sample = _of_crawl(source, state_dir, options.site)
        model = store.load(site)
    if not sample:
        raise ContentSpiderError(f"{printable(source)} has no pages with text")
    if model is None:
        print(printable(f"{site}: no model in {options.models}; one is learned"), file=sys.stderr)
        model = SiteLearner(site).fit(sample)
    return model, sample


def _of_crawl(name: str, state_dir: str, site: str) -> tuple[str, list[Page]]:
    from contentspider.state.crawls.export import find_crawl
    from contentspider.state.ledger.ledger import Ledger

    crawl = find_crawl(name, state_dir)
    ledger = Ledger(crawl, read_only=True)
    try:
        sites = ledger.pages.sites()
        chosen = site or (sites[0] if len(sites) == 1 else "")
        if chosen not in sites:
            raise ContentSpiderError(
                f"{crawl} has pages of {', '.join(sites) or 'no site'}; say with --site which"
            )
        return chosen, [page for page in ledger.pages.sample(chosen) if page.content.blocks]
    finally:
        ledger.close()


def model_for(options: argparse.Namespace, site: str, files: list[Path]) -> SiteModel:
    """Return the model of *site*, or of the site that the folder of *files* is named as; one that
    is learned from them, if there is none.
    """
    from contentspider.page.input.page import Page
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.state.stores.shared_models import open_models

    store = open_models(options.models, options.state_dir)
    name = options.source.resolve().name
    for known in (site, name):
        if known in store.sites():
            return store.read(known)
    print(printable(f"{name}: no model in {options.models}; one is learned"), file=sys.stderr)
    pages = (Page.from_html(path.read_bytes(), path.as_posix()) for path in files)
    return SiteLearner(site or name).fit(pages)
