"""``contentspider rules``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.arguments import positive, share
from contentspider.cli.known import add_models, add_source, known_site, model_for
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from contentspider.cli.arguments import Commands
    from contentspider.runtime.contentspider_rules import Reading, Rules

FORMATS = ("xml", "json", "css", "ftr")


def add_to(commands: Commands) -> None:
    """Add the command."""
    rules = commands.add_parser(
        "rules",
        help="write a site's model as a few keep and drop rules, and apply them",
        description=(
            "Write what a site's model keeps as a few rules (tags with an id or a class), which"
            " one file of Python applies without contentspider:"
            " contentspider/runtime/contentspider_rules.py."
        ),
    )
    actions = rules.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser("export", help="learn the rules of a site, and write them")
    add_source(export)
    export.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where to write them (default: here)"
    )
    export.add_argument(
        "--format", choices=FORMATS, help="what to write (default: by FILE's ending, else xml)"
    )
    export.add_argument(
        "--max-rules", type=positive, default=15, metavar="N", help="at most so many (default: 15)"
    )
    export.set_defaults(act=_export)
    check = actions.add_parser(
        "check",
        help="tell what rules do on pages, and how far they agree with the model",
        description=(
            "Tell of each rule on how many pages it matches, never ends, or is empty, and how far"
            " the rules agree with the site's model; exit code 1 if that is too little."
        ),
    )
    check.add_argument("rules", type=Path, metavar="RULES", help="a rule file, XML or JSON")
    check.add_argument(
        "source", type=Path, metavar="SOURCE", help="a folder of the site's HTML files, or a file"
    )
    check.add_argument(
        "--min-agreement",
        type=share,
        default=0.95,
        metavar="SHARE",
        help="the F1 of words against the model's text below which it fails (default: 0.95)",
    )
    add_models(check)
    check.set_defaults(act=_check)
    apply = actions.add_parser("apply", help="print the text that rules keep of HTML files")
    apply.add_argument("rules", type=Path, metavar="RULES", help="a rule file, XML or JSON")
    apply.add_argument(
        "paths", type=Path, nargs="+", metavar="PATH", help="HTML files, or folders of them"
    )
    apply.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=(
            "write to FILE: JSON lines of path and text if it ends in .jsonl, else text (default:"
            " to standard output, text of a single file, JSON lines of several)"
        ),
    )
    apply.set_defaults(act=_apply)
    rules.set_defaults(run=_rules)


def _rules(options: argparse.Namespace) -> int:
    from contentspider.runtime.contentspider_rules import RuleError

    try:
        code: int = options.act(options)
    except RuleError as error:
        raise ContentSpiderError(str(error)) from error
    return code


def _export(options: argparse.Namespace) -> int:
    from contentspider.ground.atomic import replacing
    from contentspider.site.rules.extraction import learn_rules, rules_of_manifest
    from contentspider.site.rules.files import write_rules

    model, pages = known_site(options)
    if pages:
        rules = learn_rules(model, pages, options.max_rules)
    else:
        rules = rules_of_manifest(model, options.max_rules)
    ending = options.output.suffix[1:] if options.output else ""
    form = options.format or (ending if ending in FORMATS else "xml")
    text, warnings = write_rules(rules, form)
    if options.output:
        with replacing(options.output) as file:
            file.write(text.encode())
    else:
        print(text, end="")
    for rule in rules.rules:
        counts = f"  ({rule.pages} pages, {rule.chars} characters)" if rule.pages else ""
        _say(f"{rule}{counts}")
    for warning in warnings:
        _say(f"warning: {warning}")
    _say(f"{model.site}: {len(rules.rules)} rules {_learned_from(rules, len(pages))}")
    return 0


def _learned_from(rules: Rules, pages: int) -> str:
    if not pages:
        return (
            "learned from the model's manifest, since no crawl of the site has pages; how far they"
            " agree with the model is not known ('contentspider rules check' tells)"
        )
    where = f"learned from {rules.pages} pages"
    if rules.agreement is None:
        return f"{where}, too few to tell how far they agree with the model on others"
    if pages > rules.pages:
        how = "other pages"
    else:
        how = "those of the pages that were left out of a trial"
    return f"{where}; agreement with the model {rules.agreement:.3f} on {how}"


def _check(options: argparse.Namespace) -> int:
    from contentspider.page.input.page import Page
    from contentspider.runtime.contentspider_rules import Rules
    from contentspider.site.scores import text_score

    rules = Rules.load(options.rules)
    files = html_paths([options.source])
    model = model_for(options, rules.site, files)
    count = len(rules.rules)
    hits, unended, empty = [0] * count, [0] * count, [0] * count
    scores = []
    for path, reading in readings(rules, files):
        page = Page.from_html(path.read_bytes(), path.as_posix())
        if not page.content.blocks:
            continue
        scores.append(text_score(reading.text, model.extract(page).text).f1)
        for number in range(count):
            hits[number] += reading.matched[number] > 0
            unended[number] += reading.unbalanced[number] > 0
            empty[number] += reading.matched[number] > 0 and not reading.chars[number]
    if not scores:
        raise ContentSpiderError(f"{options.source} has no pages with text")
    for rule, *counts in zip(rules.rules, hits, unended, empty, strict=True):
        said = "matches on {} of {} pages, never ends on {}, is empty on {}"
        print(f"{rule}: {said.format(counts[0], len(scores), *counts[1:])}")
    agreement = sum(scores) / len(scores)
    print(
        printable(
            f"agreement with the model {model.version} of {model.site}: {agreement:.3f} on"
            f" {len(scores)} pages (at least {options.min_agreement:g} is asked for)"
        )
    )
    return int(agreement < options.min_agreement)


def _apply(options: argparse.Namespace) -> int:
    from contentspider.ground.atomic import replacing
    from contentspider.runtime.contentspider_rules import Rules

    rules = Rules.load(options.rules)
    files = html_paths(options.paths)
    if options.output:
        is_jsonl = options.output.suffix == ".jsonl"
    else:
        is_jsonl = len(files) > 1

    def lines() -> Iterator[str]:
        for path, reading in readings(rules, files):
            for rule in unbalanced(rules, reading):
                _say(f"{path}: an element of '{rule}' never ends")
            text = reading.text
            if is_jsonl:
                text = json.dumps({"path": path.as_posix(), "text": text}, ensure_ascii=False)
            yield text + "\n"

    if options.output:
        with replacing(options.output) as file:
            for line in lines():
                file.write(line.encode("utf-8", "replace"))
    else:
        for line in lines():
            sys.stdout.write(line if is_jsonl else printable(line))
    return 0


def html_paths(paths: list[Path]) -> list[Path]:
    """Return the HTML files that the paths are, or hold; raises `ContentSpiderError` if there are
    none.
    """
    from contentspider.page.input.files import html_files

    if missing := [str(path) for path in paths if not path.exists()]:
        raise ContentSpiderError(f"{', '.join(missing)}: no such file or folder")
    files = [file for path in paths for file in (html_files(path) if path.is_dir() else [path])]
    if not files:
        raise ContentSpiderError(f"no HTML files under {', '.join(map(str, paths))}")
    return files


def readings(rules: Rules, files: list[Path]) -> Iterator[tuple[Path, Reading]]:
    """Yield what the rules make of each file."""
    for path in files:
        yield path, rules.read(path.read_bytes())


def unbalanced(rules: Rules, reading: Reading) -> list[str]:
    """Return the rules an element of which never ends on a page."""
    return [str(rule) for rule, count in zip(rules.rules, reading.unbalanced, strict=True) if count]


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr)
