"""The settings of contentspider: one table, from which the defaults, checks and docs come."""

from __future__ import annotations

from typing import Any

from contentspider.crawl.settings.kinds import Setting
from contentspider.site.models.generations import KEPT_GENERATIONS

PREFIX = "CONTENTSPIDER_"

SETTINGS = (
    Setting(
        "CONTENTSPIDER_ENABLED",
        True,
        "False switches contentspider off without taking the add-on out.",
    ),
    Setting(
        "CONTENTSPIDER_MODELS_DIR",
        "models",
        "Folder of the sites' models, one folder a site; or a store that machines share"
        " (s3://bucket/models, docs/sharing.md).",
    ),
    Setting(
        "CONTENTSPIDER_LEARN_PAGES",
        2_000,
        "Pages of a site that are held on disk until its model is learned, at most: from 500 on it"
        " is tried whether the site is known well enough. A smaller site is learned at the end,"
        " from all of its pages.",
        minimum=1,
    ),
    Setting(
        "CONTENTSPIDER_MIN_QUALITY",
        0.85,
        "A site that measures a lower F1 on the texts that it publishes of its own pages is said in"
        " the log, with its worst pages, and the monitor Quality fails.",
        minimum=0,
        maximum=1,
    ),
    Setting(
        "CONTENTSPIDER_LEARN_SECS",
        300.0,
        "Seconds that learning a site may take (2 to 3 is usual); then its items pass unfiltered.",
        minimum=1,
    ),
    Setting(
        "CONTENTSPIDER_RELEARN",
        False,
        "True learns every site anew, whatever is in the models' folder.",
    ),
    Setting(
        "CONTENTSPIDER_KEEP_MODELS",
        KEPT_GENERATIONS,
        "Generations of a site's model that are kept, the present one among them.",
        minimum=1,
    ),
    Setting(
        "CONTENTSPIDER_LABELS",
        "votes",
        "How blocks are labelled: 'votes', 'own' (without the prior, by what the site publishes of"
        " its pages), 'paper' (Algorithm 1 to the letter), 'paper-local',"
        " 'paper-top2', 'paper-again', 'tfidf', 'tfidf-top2', 'tfidf-slots', 'tfidf-slots-top2' or"
        " 'contrast' (variations of it), or a method that another package adds.",
    ),
    Setting(
        "CONTENTSPIDER_FEATURES",
        ["slots"],
        "Feature sets that the site's classifier decides by: slots, or what other packages add.",
    ),
    Setting(
        "CONTENTSPIDER_CLASSIFIER",
        "svm",
        "The site's classifier: 'svm', or one that another package adds (docs/extending.md).",
    ),
    Setting(
        "CONTENTSPIDER_KEEP_TEASERS",
        False,
        "True keeps the entries of listing pages (titles, teasers) in their content.",
    ),
    Setting(
        "CONTENTSPIDER_PRIOR_FILE",
        "",
        "A prior from 'contentspider-research train-prior' in place of the shipped one.",
    ),
    Setting(
        "CONTENTSPIDER_SITE_BY",
        "domain",
        "What a site is: 'domain' (the registered domain) or 'host' (each subdomain apart).",
        choices=("domain", "host"),
    ),
    Setting(
        "CONTENTSPIDER_OWN_TEXTS",
        3,
        "Requests that the site spider spends on each site for what it publishes of its pages"
        " without their template (an API, a search index), beside the feeds that it reads anyway;"
        " 0 learns from pages only.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_OBEY_META_ROBOTS",
        True,
        "The site spider makes no item of what a page (meta robots, X-Robots-Tag) marks noindex,"
        " and follows no links marked nofollow.",
    ),
    Setting(
        "CONTENTSPIDER_ITEM_FIELDS",
        {},
        "Item classes of yours and which of their fields take ours: {'my.Item': {'content':"
        " 'body'}}.",
    ),
    Setting(
        "CONTENTSPIDER_PASSAGES",
        0,
        "Characters that a passage of an item has at most (docs/items.md), such as 1000; 0 makes"
        " none.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_MAX_BLOCKS",
        20_000,
        "Blocks of a page that are read; what follows is left out and logged.",
        minimum=1,
    ),
    Setting(
        "CONTENTSPIDER_DURABLE",
        False,
        "True keeps every address and item in a ledger, so that a killed crawl can go on"
        " (docs/durability.md).",
    ),
    Setting(
        "CONTENTSPIDER_CRAWL",
        "",
        "Name of the crawl and of its ledger; empty is the spider's name, the site spider's is what"
        " it crawls.",
    ),
    Setting(
        "CONTENTSPIDER_RESUME",
        False,
        "True goes on with the crawl of that name if it was not finished.",
    ),
    Setting(
        "CONTENTSPIDER_CONTACT",
        "",
        "Where the sites' owners can reach you: an address of a page or a mail, which the site"
        " spider's user agent names. The environment variable of that name is its default.",
    ),
    Setting(
        "CONTENTSPIDER_HEADERS",
        {},
        "Headers (cookies, authorisation) that are sent to the sites of the start addresses, and to"
        " no others.",
    ),
    Setting(
        "CONTENTSPIDER_KEEP_CRAWLS",
        3,
        "Ledgers of earlier crawls that are kept beside the current one.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_STATE_DIR",
        "",
        "Folder of the crawls' ledgers; empty is the project's .scrapy/contentspider, or that below"
        " the current folder.",
    ),
    Setting(
        "CONTENTSPIDER_HISTORY",
        True,
        "False keeps no history of durable crawls: no page is known to be new, changed, moved or"
        " gone (docs/recrawls.md).",
    ),
    Setting(
        "CONTENTSPIDER_HISTORY_URL",
        "",
        "A store of histories that machines share (s3://bucket/histories, docs/sharing.md); empty"
        " keeps them in the state folder only.",
    ),
    Setting(
        "CONTENTSPIDER_HISTORY_MB",
        1_000,
        "Megabytes of a history from which on only hashes and the main content of further pages"
        " are kept, not all of their text.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_CONDITIONAL",
        True,
        "The site spider asks for known pages only if they have changed (ETag, Last-Modified), and"
        " takes those that have not from the history.",
    ),
    Setting(
        "CONTENTSPIDER_ONLY",
        "",
        "'changed' drops the items of pages that are as the last crawl knew them.",
        choices=("", "changed"),
    ),
    Setting(
        "CONTENTSPIDER_DUE",
        False,
        "True asks the start pages, new pages, and of known pages those whose next visit is due,"
        " the most overdue first (docs/recrawls.md).",
    ),
    Setting(
        "CONTENTSPIDER_MEAN_INTERVAL",
        7.0,
        "Days between two visits of a page, on the mean over a site's pages: how much is asked with"
        " CONTENTSPIDER_DUE. Which pages are asked more often, and which less, is estimated.",
        minimum=0.001,
    ),
    Setting(
        "CONTENTSPIDER_MAX_INTERVAL",
        30.0,
        "Days after which any known page is due.",
        minimum=0.001,
    ),
    Setting(
        "CONTENTSPIDER_MIN_INTERVAL",
        0.04,
        "Days for which no known page is due; an hour: caches of servers often last as long.",
        minimum=0.001,
    ),
    Setting(
        "CONTENTSPIDER_MISSING_CRAWLS",
        3,
        "Complete crawls in a row without a link to a known page after which it is gone; 0 is"
        " never.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_MAX_ERROR_SHARE",
        0.05,
        "A crawl is complete, and tells what is missing, if no larger share of its pages could not"
        " be read.",
        minimum=0,
        maximum=1,
    ),
    Setting(
        "CONTENTSPIDER_MAX_GONE_SHARE",
        0.3,
        "If more of the known pages than this share (and more than five) would be gone, none is"
        " taken to be.",
        minimum=0,
        maximum=1,
    ),
    Setting(
        "CONTENTSPIDER_FORCE",
        False,
        "True takes pages to be gone, however many.",
    ),
    Setting(
        "CONTENTSPIDER_INDEX",
        [],
        "Search indexes that are brought up to date when a durable crawl has ended, such as"
        " ['sqlite:pages.db']; 'default' is one in CONTENTSPIDER_STATE_DIR (docs/indexing.md).",
    ),
    Setting(
        "CONTENTSPIDER_INDEX_SECS",
        60.0,
        "Seconds for which a search engine that is down at the end of a crawl is asked again; the"
        " next crawl, or 'contentspider index sync', brings in what is missing.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_OUTPUT_FILE",
        "",
        "File that items are written to as JSON lines; whole lines, each item once, whatever ends"
        " the crawl.",
    ),
    Setting(
        "CONTENTSPIDER_WARC_FILE",
        "",
        "WARC file (.warc.gz) to which what is asked and answered is appended, as it was received.",
    ),
    Setting(
        "CONTENTSPIDER_OUTAGE_SECS",
        300.0,
        "Seconds that a crawl waits for a host that is down, when nothing else is left to fetch;"
        " then it ends, and can go on later.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_PROGRESS_SECS",
        10.0,
        "Seconds between progress lines in a log; a terminal's line is renewed each second. 0 is"
        " none.",
        minimum=0,
    ),
    Setting(
        "CONTENTSPIDER_MONITOR_MIN_KEPT",
        0.1,
        "Monitors: alarm if a smaller share of the text was kept.",
        minimum=0,
        maximum=1,
    ),
    Setting(
        "CONTENTSPIDER_MONITOR_MAX_LOW_CONFIDENCE",
        0.25,
        "Monitors: alarm if a larger share of the pages has low confidence, or was not filtered.",
        minimum=0,
        maximum=1,
    ),
    Setting(
        "CONTENTSPIDER_MONITOR_MAX_FAILED",
        0.1,
        "Monitors: alarm if a larger share of the pages could not be read or filtered.",
        minimum=0,
        maximum=1,
    ),
)


DEFAULTS: dict[str, Any] = {setting.name: setting.default for setting in SETTINGS}
