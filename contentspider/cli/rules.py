"""The command ``contentspider rules`` and its actions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli.command import MODELS, STATE_DIR, argument, command, converter, group
from contentspider.cli.models import kept_pages
from contentspider.crawl.base.option import Option
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.json_text import json_text
from contentspider.ground.terminal import printable, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.rules.standalone import Rules
    from contentspider.site.models.model import SiteModel
    from contentspider.state.stores.models import ModelStore

FORMATS = ("xml", "json", "css", "ftr")
SHARE = converter(Option("", 0.95, "", minimum=0, maximum=1))
RULES = argument("RULES", "a rule file, XML or JSON", Path)


@command(
    "export",
    argument("SOURCE", "a site with a model, a crawl's name or book, or a folder of HTML files"),
    argument("--site SITE", "which site of a crawl of several", default=""),
    argument("-o --output FILE", "where to write them (default: standard output)", Path),
    argument("--format FORMAT", "default: by FILE's ending, else xml", FORMATS),
    argument("--max-rules N", "the most rules (default: 15)", default=15, least=1),
    MODELS,
    STATE_DIR,
)
def export(options: argparse.Namespace) -> None:
    """Learn rules from a site's model and write them to a file. A rule keeps or drops elements by
    their tag, id and class. A single Python file applies the rules without contentspider:
    contentspider/rules/standalone.py.
    """
    from contentspider.ground.atomic import replacing
    from contentspider.rules.extraction import learn_rules, rules_of_manifest
    from contentspider.rules.files import write_rules

    model, pages = _model_and_pages(options)
    if pages:
        rules = learn_rules(model, pages, options.max_rules)
    else:
        rules = rules_of_manifest(model, options.max_rules)
    ending = options.output.suffix[1:] if options.output else ""
    text, warnings = write_rules(rules, options.format or (ending if ending in FORMATS else "xml"))
    if options.output:
        with replacing(options.output) as file:
            file.write(text.encode())
    else:
        print(text, end="")
    for rule in rules.rules:
        say(
            f"{rule}"
            + (
                f"  ({counted(rule.pages, 'pages')}, {counted(rule.chars, 'characters')})"
                if rule.pages
                else ""
            )
        )
    for warning in warnings:
        say(f"warning: {warning}")
    say(
        f"{model.site}: {counted(len(rules.rules), 'rules')} learned from"
        f" {_source(rules, len(pages))}"
    )


def _model_and_pages(options: argparse.Namespace) -> tuple[SiteModel, list[Page]]:
    """Return the model of the site, crawl or folder that the options name, and its stored pages (an
    empty list if there are none). A source without a model is learned from its pages.
    """
    from contentspider.page.input.files import read_pages
    from contentspider.site.learn.learner import SiteLearner
    from contentspider.state.crawls.export import crawled_pages, find_crawl
    from contentspider.state.stores.models import open_models

    store = open_models(options.models, options.state_dir)
    source, folder = options.source, Path(options.source)
    if source in store.sites():
        return store.read(source), kept_pages(source, options.state_dir)
    if folder.is_dir():
        site, pages = folder.resolve().name, SiteLearner.sample(read_pages(folder))
    else:
        site, pages = crawled_pages(find_crawl(source, options.state_dir), options.site)
    if not pages:
        raise ContentSpiderError(f"{printable(source)} has no pages with text")
    return _model_for(store, [site], pages), pages


def _model_for(store: ModelStore, names: Sequence[str], pages: Iterable[Page]) -> SiteModel:
    """Return the model of the first site in *names* that has one, or else one learned from
    *pages*.
    """
    from contentspider.site.learn.learner import SiteLearner

    for name in names:
        if name in store.sites():
            return store.read(name)
    say(f"{names[0]}: no model in {store.folder}; learning one")
    return SiteLearner(names[0]).fit(pages)


def _source(rules: Rules, pages: int) -> str:
    """Return how many pages the rules were learned from, and how well they match the model."""
    if not pages:
        return (
            "the model's manifest, since no crawl of the site has pages; how far they agree with"
            " the model is not known (see 'contentspider rules check')"
        )
    if rules.agreement is None:
        return (
            f"{counted(rules.pages, 'pages')}, too few to tell how far they agree with the model"
            " on others"
        )
    comparison = "other pages" if pages > rules.pages else "pages that were left out in a trial"
    return (
        f"{counted(rules.pages, 'pages')}; agreement with the model {rules.agreement:.3f} on"
        f" {comparison}"
    )


@command(
    "check",
    RULES,
    argument("SOURCE", "a folder of the site's HTML files, or a file", Path),
    argument("--min-agreement F1", "fail below this F1 of words (default: 0.95)", SHARE, 0.95),
    MODELS,
    STATE_DIR,
)
def check(options: argparse.Namespace) -> int:
    """Show the effect of rules on pages, and how well their text agrees with the model's. For each
    rule it counts the pages where the rule matches, where an element never ends, and where it is
    empty. The exit code is 1 if the agreement is below --min-agreement.
    """
    from contentspider.page.input.files import read_html
    from contentspider.page.input.page import Page
    from contentspider.site.scores import text_score
    from contentspider.state.stores.models import open_models

    rules, files = _load(options.rules), _html_files([options.source])
    pages = (Page.from_html(read_html(path), path.as_posix()) for path in files)
    names = [name for name in (rules.site, options.source.resolve().name) if name]
    model = _model_for(open_models(options.models, options.state_dir), names, pages)
    count = len(rules.rules)
    hits, unended, empty = [0] * count, [0] * count, [0] * count
    scores = []
    for path in files:
        html = read_html(path)
        page = Page.from_html(html, path.as_posix())
        if not page.content.blocks:
            continue
        reading = rules.read(html)
        scores.append(text_score(reading.text, model.extract(page).text).f1)
        for number in range(count):
            hits[number] += reading.matched[number] > 0
            unended[number] += reading.unbalanced[number] > 0
            empty[number] += reading.matched[number] > 0 and not reading.chars[number]
    if not scores:
        raise ContentSpiderError(f"{options.source} has no pages with text")
    for rule, *counts in zip(rules.rules, hits, unended, empty, strict=True):
        text = "matches on {} of {} pages, never ends on {}, is empty on {}"
        print(f"{rule}: {text.format(counts[0], len(scores), *counts[1:])}")
    agreement = sum(scores) / len(scores)
    print(
        printable(
            f"agreement with the model {model.version} of {model.site}: {agreement:.3f} on"
            f" {counted(len(scores), 'pages')} (at least {options.min_agreement:g} is required)"
        )
    )
    return int(agreement < options.min_agreement)


@command(
    "apply",
    RULES,
    argument("PATH...", "HTML files, or folders of them", Path),
)
def apply(options: argparse.Namespace) -> None:
    """Apply rules to HTML files, and print the text that they keep. For several files it prints
    JSON lines with path and text.
    """
    from contentspider.page.input.files import read_html

    rules, files = _load(options.rules), _html_files(options.path)
    for path in files:
        reading = rules.read(read_html(path))
        for rule, count in zip(rules.rules, reading.unbalanced, strict=True):
            if count:
                say(f"{path}: an element of '{rule}' never ends")
        if len(files) == 1:
            print(printable(reading.text))
        else:
            line = {"path": path.as_posix(), "text": reading.text}
            print(json_text(line))


def _load(path: Path) -> Rules:
    from contentspider.rules.standalone import RuleError, Rules

    try:
        return Rules.load(path)
    except RuleError as error:
        raise ContentSpiderError(str(error)) from error


def _html_files(paths: Iterable[Path]) -> list[Path]:
    """Return the HTML files among the paths and in the folders; raises `ContentSpiderError` if
    there are none.
    """
    from contentspider.page.input.files import html_files

    if missing := [str(path) for path in paths if not path.exists()]:
        raise ContentSpiderError(f"{', '.join(missing)}: no such file or folder")
    files = [file for path in paths for file in (html_files(path) if path.is_dir() else [path])]
    if not files:
        raise ContentSpiderError(f"no HTML files under {', '.join(map(str, paths))}")
    return files


rules = group(
    "rules",
    "Write a site's model as a few keep and drop rules, and apply them.",
    (export, check, apply),
)
