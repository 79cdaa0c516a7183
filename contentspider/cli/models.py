"""``contentspider models``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import add_option, add_state_dir, not_negative, positive
from contentspider.cli.known import kept_pages
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.ground.terminal import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from contentspider.cli.arguments import Commands
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.summary import SlotSummary
    from contentspider.state.stores.models import ModelStore


def add_to(commands: Commands) -> None:
    """Add the command."""
    models = commands.add_parser(
        "models",
        help="show what was learned, go back to it, move it",
        description=(
            "Show what was learned of sites: each model that was saved is a generation, of which"
            " the last stay."
        ),
    )
    add_option(models, "models")
    actions = models.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser(
        "list", help="list the sites that have a model, or the generations of a site's"
    )
    listing.add_argument("site", nargs="?", default="")
    listing.set_defaults(act=_list)
    show = actions.add_parser(
        "show",
        help="print a site's content and noise signatures with how probably they are content",
    )
    show.add_argument("site")
    _add_generation(show, "the present one")
    show.add_argument(
        "--prior",
        type=Path,
        metavar="FILE",
        help="the prior that your crawls use (CONTENTSPIDER_PRIOR_FILE; default: the shipped one)",
    )
    _add_most(show)
    show.set_defaults(act=_show)
    explain = actions.add_parser(
        "explain", help="print a site's model as a few sentences: in what it says content is"
    )
    explain.add_argument("site")
    _add_generation(explain, "the present one")
    explain.set_defaults(act=_explain)
    diff = actions.add_parser("diff", help="print which signatures became content or noise")
    diff.add_argument("site")
    diff.add_argument(
        "generations",
        nargs="*",
        type=positive,
        metavar="GENERATION",
        help="two generations, or one and the present one (default: the last two)",
    )
    _add_most(diff)
    diff.set_defaults(act=_diff)
    rollback = actions.add_parser(
        "rollback", help="make an earlier generation the present one again"
    )
    rollback.add_argument("site")
    _add_generation(rollback, "the one before the present one")
    rollback.set_defaults(act=_rollback)
    export = actions.add_parser("export", help="write a site's model as one file")
    export.add_argument("site")
    export.add_argument("file", type=Path)
    export.add_argument("--generation", type=positive, default=0, metavar="N")
    export.set_defaults(act=_export)
    importing = actions.add_parser(
        "import", help="make the model in a file the present one of its site"
    )
    importing.add_argument("file", type=Path)
    importing.set_defaults(act=_import)
    for action in (listing, show, explain, diff, rollback, export, importing):
        add_state_dir(action)  # the copy of a shared store is in it, too
    models.set_defaults(run=_models)


def _add_generation(parser: argparse.ArgumentParser, usual: str) -> None:
    parser.add_argument(
        "generation", nargs="?", type=positive, default=0, help=f"its number (default: {usual})"
    )


def _add_most(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--most",
        type=not_negative,
        default=20,
        metavar="N",
        help="signatures of each kind (default: 20)",
    )


def _models(options: argparse.Namespace) -> int:
    from contentspider.state.stores.shared_models import SharedModels, open_models

    store = open_models(options.models, options.state_dir)
    options.act(store, options)
    if isinstance(store, SharedModels):
        for error in store.send():
            raise error
    return 0


def _read(store: ModelStore, site: str, generation: int = 0) -> SiteModel:
    """Return a site's model; an error says what there is."""
    try:
        return store.read(site, generation)
    except FileNotFoundError as error:
        if generation:
            raise ContentSpiderError(store.missing(site, generation)) from error
        known = ", ".join(store.sites()) or "none yet"
        raise ContentSpiderError(
            f"{store.folder} has no model of {site!r}; it has: {known}"
        ) from error
    except StateError as error:
        what = f"generation {generation}" if generation else "the model"
        raise StateError(f"{what} of {site}: {error}") from error


def _list(store: ModelStore, options: argparse.Namespace) -> None:
    from contentspider.site.models.folder import read_manifest

    if not options.site:
        for site in store.sites():
            print(site)
        return
    generations = store.generations(options.site)
    if not generations.numbers():
        model = _read(store, options.site)
        print(f"*    model {model.version}, {model.pages} pages, of an earlier version")
        return
    present = generations.present()
    print(f"  {'':>4}  {'model':12}  {'learned at':25}  {'pages':>5}  why")
    for number in generations.numbers():
        try:
            manifest = read_manifest(generations.path(number))
        except (FileNotFoundError, StateError) as error:
            print(printable(f"  {number:4}  {error}"))
            continue
        origin = manifest.get("rolled_back_to")
        reason = manifest.get("reason") or "unknown"
        print(
            printable(
                f"{'*' if number == present else ' '} {number:4}  {manifest.get('version')!s:12} "
                f" {manifest.get('learned_at') or 'unknown'!s:25}  {manifest.get('pages')!s:>5} "
                f" {reason}{f' to {origin}' if origin else ''}"
            )
        )


def _show(store: ModelStore, options: argparse.Namespace) -> None:
    from contentspider.site.judge.prior import Prior

    model = _read(store, options.site, options.generation)
    number = options.generation or store.generations(options.site).present()
    pages = f"learned from {model.pages} pages (labels: {model.labels})"
    lines = [f"{model.site}: model {model.version}, {pages}"]
    if number:
        learned = f", learned at {model.learned_at}" if model.learned_at else ""
        lines.append(f"generation {number}{learned}")
    if model.quality:
        lines.append(f"quality: {model.quality}")
        lines += [f"  F1 {page.f1:.3f}  {page.url}" for page in model.quality.worst]
    prior = Prior.from_file(options.prior) if options.prior else Prior.shipped()
    if not model.is_of(prior):
        lines.append(
            f"It was learned with another prior ({model.prior}) than this one ({prior.digest}):"
            " crawl with --relearn to learn the site anew, or say with --prior which your crawls"
            " use"
        )
    lines += _corrections(store, options.site, options.state_dir)
    for title, chosen in (
        ("content", [slot for slot in model.summary if slot.is_content]),
        ("noise", [slot for slot in model.summary if not slot.is_content]),
    ):
        lines += ["", f"{title} ({len(chosen)} signatures)", *_table(chosen[: options.most])]
    print(printable("\n".join(lines)))


def _explain(store: ModelStore, options: argparse.Namespace) -> None:
    from contentspider.site.rules.explanation import explain_model

    model = _read(store, options.site, options.generation)
    found = explain_model(model, kept_pages(options.site, options.state_dir))
    of = f"{found.pages} pages of its crawl" if found.pages else "its manifest"
    agreement = f"this says of {found.agreement:.1%} of the words what the model decides:"
    lines = [f"{model.site}: model {model.version}; on {of} {agreement}"]
    print(printable("\n".join([*lines, *map(str, found.sentences)])))


def _table(slots: Sequence[SlotSummary]) -> list[str]:
    head = f"{'sure':>5} {'score':>7} {'blocks':>7} {'pages':>6}  signature | example"
    return [
        head,
        *(
            f"{slot.probability:5.2f} {slot.score:7.1%} {slot.blocks:7} {slot.pages:6} "
            f" {slot.slot} | {' '.join(slot.example.split())}"
            for slot in slots
        ),
    ]


def _corrections(store: ModelStore, site: str, state_dir: str) -> list[str]:
    """Return the rules of people, and what they do on the pages that a crawl of the site has
    kept.
    """
    from contentspider.report.corrections import effects

    overrides = store.overrides(site)
    if overrides is None:
        return []
    pages = kept_pages(site, state_dir)
    lines = ["", f"corrections by people ({len(overrides.tables)} rules)"]
    if not pages:
        lines[-1] += "; no pages of a crawl are at hand to count what they do"
    for effect in effects(overrides, pages):
        what = f"  {effect.kind:5} {effect.selector}"
        if effect.pattern:
            what += f"  on {effect.pattern}"
        if pages:
            blocks = f"{effect.blocks} blocks on " if effect.kind in ("keep", "drop") else ""
            what += f": {blocks}{effect.pages} of {len(pages)} pages"
        lines.append(what)
    return lines


def _diff(store: ModelStore, options: argparse.Namespace) -> None:
    from contentspider.site.models.summary import compare

    generations = store.generations(options.site)
    asked: list[int] = options.generations
    if len(asked) > 2:
        raise ContentSpiderError(f"{len(asked)} generations are given; give two at most")
    _read(store, options.site)
    second = asked[1] if len(asked) == 2 else generations.present()
    earlier = [number for number in generations.numbers() if number < second]
    first = asked[0] if asked else max(earlier, default=0)
    if not first or not second:
        raise ContentSpiderError(
            f"{options.site} has one generation only: there is nothing to compare"
        )
    before, after = (_read(store, options.site, number) for number in (first, second))
    old = f"{first} (model {before.version}, {before.pages} pages)"
    new = f"{second} (model {after.version}, {after.pages} pages)"
    lines = [f"{options.site}: from generation {old} to {new}"]
    changes = compare(before.summary, after.summary)
    for kind, slots in changes.items():
        if slots:
            lines += ["", f"{kind} ({len(slots)} signatures)", *_table(slots[: options.most])]
    if not any(changes.values()):
        lines.append("no signature became content or noise, is new, or is gone")
    print(printable("\n".join(lines)))


def _rollback(store: ModelStore, options: argparse.Namespace) -> None:
    before = store.generations(options.site).present()
    number = store.rollback(options.site, options.generation)
    model = _read(store, options.site)
    done = "is the present one already" if number == before else f"is generation {number} now"
    print(printable(f"{options.site}: model {model.version}, of {model.pages} pages, {done}"))


def _export(store: ModelStore, options: argparse.Namespace) -> None:
    from contentspider.state.stores.transfer import export_model

    model = _read(store, options.site, options.generation)
    export_model(model, options.file)
    print(printable(f"{options.site}: model {model.version} -> {options.file}"))


def _import(store: ModelStore, options: argparse.Namespace) -> None:
    from contentspider.state.stores.transfer import import_model

    model = import_model(options.file)
    store.save(model, "import")
    number = store.generations(model.site).present()
    print(printable(f"{model.site}: model {model.version} is generation {number} now"))
