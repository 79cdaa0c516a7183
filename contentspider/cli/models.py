"""The command ``contentspider models`` and its actions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.command import MODELS, STATE_DIR, argument, command, group
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError, StateError
from contentspider.ground.terminal import printable, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from contentspider.cli.command import Argument, Command
    from contentspider.page.input.page import Page
    from contentspider.site.fields.own_fields import OwnKnowledge
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.summary import SlotSummary
    from contentspider.state.stores.models import ModelStore

    Action: TypeAlias = Callable[[ModelStore, argparse.Namespace], list[str]]

SITE = argument("SITE", "the site, as 'models list' or its crawl names it, or its address")
ANY_SITE = argument("[SITE]", "whose generations", default="")
GENERATION = argument("[GENERATION]", "its number (default: the present one)", default=0, least=1)
EARLIER = argument("[GENERATION]", "its number (default: the one before)", default=0, least=1)
TWO = argument("[GENERATION...]", "two, or one and the present one (default: the last)", least=1)
MOST = argument("--most N", "slots of each kind (default: 20)", default=20, least=0)
FILE = argument("FILE", "a zip file", Path)


def action(name: str, *arguments: Argument) -> Callable[[Action], Command]:
    """Return a decorator that makes an action from a function that returns the lines to print."""

    def decorate(act: Action) -> Command:
        def run(options: argparse.Namespace) -> None:
            from contentspider.state.stores.models import SharedModels, open_models

            store = open_models(options.models, options.state_dir)
            if getattr(options, "site", ""):
                options.site = known_site(store, options)
            for line in act(store, options):
                print(printable(line))
            if isinstance(store, SharedModels):
                for error in store.send():
                    raise error

        run.__doc__ = act.__doc__
        # The state folder has the local copy of a shared store.
        return command(name, *arguments, STATE_DIR)(run)

    return decorate


def known_site(store: ModelStore, options: argparse.Namespace) -> str:
    """Return the site of the store that a person means: by its name there, the name of its crawl
    or file of sites, or its address.
    """
    from contentspider.state.crawls.export import site_of

    name: str = options.site
    return name if name in store.sites() else site_of(name, options.state_dir)


def kept_pages(site: str, state_dir: str) -> list[Page]:
    """Return the pages of a site that its crawl has kept; empty if it was not crawled."""
    from contentspider.state.crawls.export import crawled_pages, find_crawl

    try:
        return crawled_pages(find_crawl(site, state_dir), site)[1]
    except ContentSpiderError:
        return []


def read_model(store: ModelStore, site: str, generation: int = 0) -> SiteModel:
    """Return a site's model; the error of a missing one lists the existing ones."""
    try:
        return store.read(site, generation)
    except FileNotFoundError as error:
        if generation:
            raise ContentSpiderError(store.missing(site, generation)) from error
        sites = ", ".join(store.sites()) or "none yet"
        raise ContentSpiderError(
            f"{store.folder} has no model of {site!r}; it has: {sites}"
        ) from error
    except StateError as error:
        what = f"generation {generation}" if generation else "the model"
        raise StateError(f"{what} of {site}: {error}") from error


@action("list", ANY_SITE)
def list_models(store: ModelStore, options: argparse.Namespace) -> list[str]:
    """List the sites that have a model, or the generations of one. Each saved model is a
    generation; the last ones are kept.
    """
    from contentspider.site.models.folder import read_manifest

    if not options.site:
        return _sites(store, options)
    generations = store.generations(options.site)
    if not generations.numbers():
        read_model(store, options.site)
    present = generations.present()
    lines = [f"  {'':>4}  {'model':12}  {'learned at':25}  {'pages':>5}  why"]
    for number in generations.numbers():
        try:
            manifest = read_manifest(generations.path(number))
        except (FileNotFoundError, StateError) as error:
            lines.append(f"  {number:4}  {error}")
            continue
        origin = manifest.get("rolled_back_to")
        reason = manifest.get("reason") or "unknown"
        lines.append(
            f"{'*' if number == present else ' '} {number:4}  {manifest.get('version')!s:12} "
            f" {manifest.get('learned_at') or 'unknown'!s:25}  {manifest.get('pages')!s:>5} "
            f" {reason}{f' to {origin}' if origin else ''}"
        )
    return lines


@action("show", SITE, GENERATION, MOST)
def show(store: ModelStore, options: argparse.Namespace) -> list[str]:
    """Print a model: its quality, people's overrides, a summary in a few sentences, and the slots
    of the site with their probability of being content.
    """
    from contentspider.site.judge.prior import Prior

    model = read_model(store, options.site, options.generation)
    number = options.generation or store.generations(options.site).present()
    learned = f"learned from {counted(model.pages, 'pages')} (labels: {model.labels})"
    lines = [f"{model.site}: model {model.version}, {learned}"]
    if number:
        at = f", learned at {model.learned_at}" if model.learned_at else ""
        lines.append(f"generation {number}{at}")
    if model.quality:
        lines.append(f"quality: {model.quality}")
        lines += [f"  F1 {page.f1:.3f}  {page.url}" for page in model.quality.worst]
        lines += [f"  doubtful template: {template}" for template in model.quality.doubtful]
    if not model.is_of(shipped := Prior.shipped()):
        lines.append(
            f"it was learned with another prior ({model.prior}) than the shipped one"
            f" ({shipped.digest}): if you do not use CONTENTSPIDER_PRIOR_FILE, learn the site"
            " again (crawl --relearn)"
        )
    lines += [*_field_lines(model), *_own_field_lines(model)]
    pages = kept_pages(options.site, options.state_dir)
    lines += [*_overrides_lines(store, options.site, pages), *_sentences(model, pages)]
    tables = {
        "content": [slot for slot in model.summary if slot.is_content],
        "boilerplate": [slot for slot in model.summary if not slot.is_content],
    }
    return lines + _tables(tables, options.most)


def _field_lines(model: SiteModel) -> list[str]:
    """Return lines for each field that the model has learned: its sources, and its places."""
    lines = []
    for name, knowledge in model.fields.items():
        line = f"{name}: stated by {counted(knowledge.stated, 'pages')} of the sample"
        if not knowledge.trusts_stated:
            line += "; not used, since all state one value and show others"
        if knowledge.distrusted:
            line += f"; rules that contradict them are not used: {', '.join(knowledge.distrusted)}"
        if knowledge.common:
            line += f"; nearly all pages have: {', '.join(knowledge.common)}"
        lines.append(line)
        lines += [
            f"  {learned.place}: right on {learned.right} of {counted(learned.given, 'pages')}"
            " held back"
            for learned in knowledge.places
        ]
    return lines


def _own_field_lines(model: SiteModel) -> list[str]:
    """Return lines for each own field that the model has learned: its test, places and doubts."""
    lines = []
    for name, knowledge in model.own_fields.items():
        lines.append(f"{name} (your field): {_test_of(knowledge)}")
        lines += [f"  {place}" for place in knowledge.places]
        lines += [f"  doubt: {doubt}" for doubt in knowledge.doubts]
    return lines


def _test_of(knowledge: OwnKnowledge) -> str:
    """Return how well the places of an own field have been tested."""
    if not knowledge.places:
        examples = knowledge.stated or knowledge.examples
        return f"no place was learned from its {examples} examples"
    if knowledge.stated:
        return (
            f"stated by {counted(knowledge.stated, 'pages')} of the sample; the places below are"
            f" right on {knowledge.fitting} of {knowledge.given} held back"
        )
    return (
        f"the places below fit {knowledge.fitting} of {knowledge.examples} examples, and give a"
        f" value on {knowledge.given} of {counted(knowledge.pages, 'pages')} of the sample"
    )


def _sentences(model: SiteModel, pages: list[Page]) -> list[str]:
    from contentspider.site.models.explanation import explain_model

    try:
        explanation = explain_model(model, pages)
    except NotEnoughTextError:
        return []
    source = (
        f"{counted(explanation.pages, 'pages')} of its crawl"
        if explanation.pages
        else "its manifest"
    )
    head = f"in short (right for {explanation.agreement:.1%} of the words, by {source})"
    return ["", head, *(f"  {sentence}" for sentence in explanation.sentences)]


def _tables(tables: Mapping[str, Sequence[SlotSummary]], most: int) -> list[str]:
    lines = []
    for title, slots in tables.items():
        lines += ["", f"{title} ({counted(len(slots), 'slots')})"]
        lines.append(f"{'sure':>5} {'score':>7} {'blocks':>7} {'pages':>6}  slot | example")
        lines += [
            f"{slot.probability:5.2f} {slot.score:7.1%} {slot.blocks:7} {slot.pages:6} "
            f" {slot.slot} | {' '.join(slot.example.split())}"
            for slot in slots[:most]
        ]
    return lines


def _overrides_lines(store: ModelStore, site: str, pages: list[Page]) -> list[str]:
    """Return lines with people's overrides, and their effect on the kept pages of a crawl."""
    from contentspider.site.override_effects import override_effects

    overrides = store.overrides(site)
    if overrides is None:
        return []
    lines = ["", f"overrides by people ({counted(len(overrides.tables), 'rules')})"]
    if not pages:
        lines[-1] += "; without pages of a crawl, their effects cannot be counted"
    for effect in override_effects(overrides, pages):
        what = f"  {effect.kind:5} {effect.selector}"
        if effect.pattern:
            what += f"  on {effect.pattern}"
        if pages:
            blocks = (
                f"{counted(effect.blocks, 'blocks')} on " if effect.kind in ("keep", "drop") else ""
            )
            what += f": {blocks}{effect.pages} of {counted(len(pages), 'pages')}"
        lines.append(what)
    return lines


@action("diff", SITE, TWO, MOST)
def diff(store: ModelStore, options: argparse.Namespace) -> list[str]:
    """Print the slots that became content or boilerplate, are new, or are gone."""
    from contentspider.site.models.summary import compare

    generations = store.generations(options.site)
    numbers: list[int] = options.generation or []
    if len(numbers) > 2:
        raise ContentSpiderError(f"{len(numbers)} generations are given; give two at most")
    read_model(store, options.site)
    second = numbers[1] if len(numbers) == 2 else generations.present()
    earlier = [number for number in generations.numbers() if number < second]
    first = numbers[0] if numbers else max(earlier, default=0)
    if not first or not second:
        raise ContentSpiderError(
            f"{options.site} has one generation only: there is nothing to compare"
        )
    before, after = (read_model(store, options.site, number) for number in (first, second))
    old = f"{first} (model {before.version}, {counted(before.pages, 'pages')})"
    new = f"{second} (model {after.version}, {counted(after.pages, 'pages')})"
    lines = [f"{options.site}: from generation {old} to {new}"]
    compared = compare(before.summary, after.summary)
    changes = {kind: slots for kind, slots in compared.items() if slots}
    if not changes:
        lines.append("no slot became content or boilerplate, is new, or is gone")
    return lines + _tables(changes, options.most)


@action("rollback", SITE, EARLIER)
def rollback(store: ModelStore, options: argparse.Namespace) -> list[str]:
    """Make an earlier generation the present one again. It gets a new number."""
    before = store.generations(options.site).present()
    number = store.rollback(options.site, options.generation)
    model = read_model(store, options.site)
    done = "is the present one already" if number == before else f"is generation {number} now"
    return [f"{options.site}: model {model.version}, of {counted(model.pages, 'pages')}, {done}"]


@action("export", SITE, FILE)
def export_model(store: ModelStore, options: argparse.Namespace) -> list[str]:
    """Write a site's present model to a file: a zip archive without people's overrides."""
    from contentspider.state.stores import transfer

    model = read_model(store, options.site)
    transfer.export_model(model, options.file)
    return [f"{options.site}: model {model.version} -> {options.file}"]


@action("import", FILE)
def import_model(store: ModelStore, options: argparse.Namespace) -> list[str]:
    """Read a model from a file that 'export' wrote, and make it the present one of its site."""
    from contentspider.state.stores import transfer

    model = transfer.import_model(options.file)
    store.save(model, "import")
    number = store.generations(model.site).present()
    return [f"{model.site}: model {model.version} is generation {number} now"]


def _list_sites(options: argparse.Namespace) -> None:
    from contentspider.state.stores.models import open_models

    sites = _sites(open_models(options.models, options.state_dir), options)
    for site in sites:
        print(printable(site))
    if sites:
        say(f"these sites have a model; see one: contentspider models show {sites[0].split()[0]}")


def _sites(store: ModelStore, options: argparse.Namespace) -> list[str]:
    """Return the sites that have a model, with the names of their crawls, and say so if there are
    none.
    """
    from contentspider.state.crawls.export import crawls_of_sites

    crawls = crawls_of_sites(options.state_dir)
    sites = [
        f"{site} ({', '.join(crawls[site])})" if site in crawls else site for site in store.sites()
    ]
    if not sites:
        say(f"no site has a model in {options.models} yet: a crawl learns one")
    return sites


models = group(
    "models",
    "Show, roll back, export and import the models of sites.",
    (list_models, show, diff, rollback, export_model, import_model),
    MODELS,
    STATE_DIR,
    default=_list_sites,
)
