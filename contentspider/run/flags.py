"""Options of a crawl that are not our settings: of the command, `sites.toml` and the spider."""

from __future__ import annotations

import re

from contentspider.crawl.base.option import Option, assignment
from contentspider.crawl.base.options import FILES, MOST_USED, PAGES, REQUESTS, RUNS, SETTINGS
from contentspider.ground.patterns import compile_address_pattern
from contentspider.ground.scope import SCOPES
from contentspider.state.files.formats import PAGE_KINDS


def _pattern(text: str) -> str:
    compile_address_pattern(text)
    return text


# fmt: off
FLAGS = (
    Option(
        "output", [],
        "Write items to FILE, in the format of its ending (jsonl, json, csv, xml, md, txt,"
        " parquet), to llms.txt or llms-full.txt, or one file a page to FOLDER/; -: JSON lines to"
        " standard output. Default: pages.jsonl.",
        flags="-o --output", metavar="FILE", group=MOST_USED,
    ),
    Option(
        "format", "md", "The format of a page's file in an output folder (default: md).",
        choices=PAGE_KINDS, flags="--format", group=MOST_USED, in_sites=True,
    ),
    Option(
        "max_pages", 0,
        "Request at most N pages, including duplicates and failures (0: no limit); redirects,"
        " robots.txt, sitemaps and feeds do not count.",
        minimum=0, flags="--max-pages", metavar="N", group=MOST_USED, in_sites=True, in_spider=True,
    ),
    Option(
        "scope", "domain",
        "How far to go from the start: domain (default; its registered domain), subdomains (its"
        " host and the hosts below it), host, or path (addresses below its path).",
        choices=SCOPES, flags="--scope", metavar="SCOPE", group=MOST_USED, in_sites=True,
        in_spider=True,
    ),
    Option(
        "include", [],
        "Fetch only addresses like /news/* (* is anything; re:... a regular expression).",
        convert=_pattern, flags="--include", metavar="PATTERN", group=MOST_USED, in_sites=True,
        in_spider=True,
    ),
    Option(
        "exclude", [], "Do not fetch addresses like *print=1*.",
        convert=_pattern, flags="--exclude", metavar="PATTERN", group=MOST_USED, in_sites=True,
        in_spider=True,
    ),
    Option(
        "own_site", False,
        "The site is yours: no delay, 16 requests at a time (robots.txt is still obeyed).",
        flags="--own-site", group=MOST_USED, in_sites=True,
    ),
    Option(
        "input", [],
        "Read start addresses from FILE, one a line (-: standard input); # begins a comment.",
        flags="-i --input", metavar="FILE", group=PAGES,
    ),
    Option(
        "max_depth", 0, "Follow links N steps from the start (0: no limit).",
        minimum=0, flags="--max-depth", metavar="N", group=PAGES, in_sites=True, in_spider=True,
    ),
    Option(
        "sitemaps", True, "Do not read robots.txt's sitemaps, /sitemap.xml and feeds.",
        flags="--no-sitemaps", group=PAGES, in_sites=True, in_spider=True,
    ),
    Option(
        "stats", "", "Write the outcome and Scrapy's stats to FILE, as JSON.",
        flags="--stats", metavar="FILE", group=FILES,
    ),
    Option(
        "delay", 0.25,
        "The shortest time between two requests to a host, in seconds (default: 0.25).",
        minimum=0, maximum=86_400, setting="DOWNLOAD_DELAY", flags="--delay", metavar="SECS",
        group=REQUESTS, in_sites=True,
    ),
    Option(
        "concurrency", 4, "The most requests to a host at a time (default: 4).",
        minimum=1, setting="CONCURRENT_REQUESTS_PER_DOMAIN", flags="--concurrency", metavar="N",
        group=REQUESTS, in_sites=True,
    ),
    Option(
        "user_agent", "", "The user agent that identifies the crawler.",
        setting="USER_AGENT", flags="--user-agent", metavar="TEXT", group=REQUESTS, in_sites=True,
    ),
    Option(
        "set", {}, "Set a Scrapy or contentspider setting.",
        convert=assignment, flags="-s --set", metavar="NAME=VALUE", group=RUNS,
    ),
    Option(
        "log_level", "WARNING",
        "The lowest level of messages in the log on standard error (default: WARNING).",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"), flags="--log-level", group=RUNS,
    ),
)
# fmt: on
# All options of `contentspider crawl`, and all that have a key in sites.toml.
CRAWL_FLAGS = tuple(option for option in (*FLAGS, *SETTINGS) if option.group)
BY_KEY = {option.key: option for option in (*FLAGS, *SETTINGS) if option.flags}
BY_FLAG = {flag: option for option in BY_KEY.values() for flag in option.flags.split()}
HEADER = re.compile(r"-H '([\w-]+): ([^']*)'")
# Options of other commands are left as they are, such as in "contentspider changes --only gone".
OPTION = re.compile(
    r"contentspider [a-z]+ [^();:,']*|(?<![\w-])--(?P<name>[a-z]+(?:-[a-z]+)*)"
    r"(?: (?P<value>auto|always|never|INFO))?(?: \(CONTENTSPIDER_[A-Z_]+\))?(?![\w-])"
)
RESUME = re.compile("run the same command with --resume to continue", re.IGNORECASE)
# Options that `contentspider run` has in another form.
OF_RUN = {
    "resume": "the next contentspider run",
    "name": "[site.NAME]",
    "log-level": 'settings.LOG_LEVEL = "INFO"',
    "force": "--force",
}


def with_keys(text: str) -> str:
    """Return a text about a crawl for people who run a file of sites: with the keys of the file in
    place of options.

    >>> with_keys("log in (--login), or --render auto reads it")
    'log in (login = "..."), or render = "auto" reads it'
    >>> with_keys("continue with --resume (CONTENTSPIDER_RESUME), or --relearn once")
    'continue with the next contentspider run, or settings.CONTENTSPIDER_RELEARN = true once'
    >>> with_keys("lost (contentspider changes tea --only gone)")
    'lost (contentspider changes tea --only gone)'
    """
    text = RESUME.sub("contentspider run continues it", text)
    text = HEADER.sub(r"settings.CONTENTSPIDER_HEADERS = { \1 = '\2' }", text)
    return OPTION.sub(_key, text)


def _key(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if name in OF_RUN:
        return OF_RUN[name]
    option = BY_FLAG.get(f"--{name}")
    if option is None or not (option.in_sites or option.setting):
        return match[0]
    is_switch = isinstance(option.default, bool)
    given = str(not option.default).lower() if is_switch else f'"{value or "..."}"'
    return f"{option.key if option.in_sites else f'settings.{option.setting}'} = {given}"
