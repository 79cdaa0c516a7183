"""Options of crawls beside our settings: of the command, of `sites.toml`, of the site spider."""

from __future__ import annotations

from contentspider.crawl.base.option import Option, assignment
from contentspider.crawl.base.options import FILES, MOST_USED, PAGES, REQUESTS, RUNS, SETTINGS
from contentspider.ground.patterns import compile_pattern
from contentspider.ground.scope import SCOPES
from contentspider.state.files.formats import PAGE_KINDS


def _pattern(text: str) -> str:
    compile_pattern(text)
    return text


# fmt: off
FLAGS = (
    Option(
        "output", [],
        "Write items to FILE, in the format of its ending (jsonl, json, csv, xml, md, txt,"
        " parquet), or one file a page to FOLDER/; -: JSON lines to standard output. Default:"
        " pages.jsonl.",
        flags="-o --output", metavar="FILE", group=MOST_USED,
    ),
    Option(
        "format", "md", "What a page's file in an output folder is (default: md).",
        choices=PAGE_KINDS, flags="--format", group=MOST_USED, in_sites=True,
    ),
    Option(
        "max_pages", 0, "Ask for at most N pages, copies and failures among them (0: no limit);"
        " redirects, robots.txt, sitemaps and feeds do not count.",
        minimum=0, flags="--max-pages", metavar="N", group=MOST_USED, in_sites=True, in_spider=True,
    ),
    Option(
        "scope", "domain",
        "How far to go from the start: domain (default; its registered domain), subdomains (its"
        " host and what is below that), host, or path (below its path).",
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
        "delay", 0.25, "Seconds between two requests to a host, at least (default: 0.25).",
        minimum=0, maximum=86_400, setting="DOWNLOAD_DELAY", flags="--delay", metavar="SECS",
        group=REQUESTS, in_sites=True,
    ),
    Option(
        "concurrency", 4, "Requests to a host at a time, at most (default: 4).",
        minimum=1, setting="CONCURRENT_REQUESTS_PER_DOMAIN", flags="--concurrency", metavar="N",
        group=REQUESTS, in_sites=True,
    ),
    Option(
        "user_agent", "", "What the crawler calls itself.",
        setting="USER_AGENT", flags="--user-agent", metavar="TEXT", group=REQUESTS, in_sites=True,
    ),
    Option(
        "set", {}, "Set a Scrapy or contentspider setting.",
        convert=assignment, flags="-s --set", metavar="NAME=VALUE", group=RUNS,
    ),
    Option(
        "log_level", "WARNING", "What to log, to standard error (default: WARNING).",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"), flags="--log-level", group=RUNS,
    ),
)
# fmt: on
# All that `contentspider crawl` has, and the keys of sites.toml.
CRAWL_FLAGS = tuple(one for one in (*FLAGS, *SETTINGS) if one.group)
BY_KEY = {one.key: one for one in (*FLAGS, *SETTINGS) if one.flags}
