"""``contentspider models``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import not_negative
from contentspider.errors import ContentSpiderError
from contentspider.terminal import printable

if TYPE_CHECKING:
    import argparse

    from contentspider.cli.arguments import Commands


def add_to(commands: Commands) -> None:
    """Add the command."""
    models = commands.add_parser(
        "models", help="show what was learned", description="Show what was learned of sites."
    )
    models.add_argument(
        "--models",
        default="models",
        type=Path,
        metavar="DIR",
        help="the models' folder (default: models)",
    )
    actions = models.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the sites that have a model")
    show = actions.add_parser(
        "show",
        help="print a site's content and noise signatures with how probably they are content",
    )
    show.add_argument("site")
    show.add_argument(
        "--most",
        type=not_negative,
        default=20,
        metavar="N",
        help="signatures of each kind (default: 20)",
    )
    models.set_defaults(run=_models)


def _models(options: argparse.Namespace) -> int:
    from contentspider.storage.models import ModelStore

    store = ModelStore(options.models)
    if options.action == "list":
        for site in store.sites():
            print(site)
        return 0
    try:
        model = store.read(options.site)
    except FileNotFoundError as error:
        known = ", ".join(store.sites()) or "none yet"
        raise ContentSpiderError(
            f"{options.models} has no model of {options.site!r}; it has: {known}"
        ) from error
    print(
        f"{model.site}: model {model.version}, learned from {model.pages} pages (labels:"
        f" {model.labels})"
    )
    for title, chosen in (
        ("content", [slot for slot in model.summary if slot.probability > 0.5]),
        ("noise", [slot for slot in model.summary if slot.probability <= 0.5]),
    ):
        print(
            f"\n{title} ({len(chosen)} signatures)\n{'sure':>5} {'score':>7} {'blocks':>7}"
            f" {'pages':>6}  signature | example"
        )
        for slot in chosen[: options.most]:
            example = " ".join(slot.example.split())
            line = (
                f"{slot.probability:5.2f} {slot.score:7.1%} {slot.blocks:7} {slot.pages:6} "
                f" {slot.slot} | {example}"
            )
            print(printable(line))
    return 0
