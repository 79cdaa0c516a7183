"""Settings of the Scrapy project that ``scrapy.cfg`` names, and of ``contentspider crawl``."""

from __future__ import annotations

BOT_NAME = "contentspider"
SPIDER_MODULES = ["contentspider.crawl.spider.spider"]
ADDONS = {"contentspider.Addon": 500}
# A crawl that is killed can be resumed.
CONTENTSPIDER_DURABLE = True

# Polite on the open web; for a site of one's own: contentspider crawl --own-site.
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 4
DOWNLOAD_DELAY = 0.25
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 0.25
AUTOTHROTTLE_TARGET_CONCURRENCY = 4.0
DOWNLOAD_TIMEOUT = 60
# A tree takes about 20 times the memory of its page. Sitemaps may be larger.
DOWNLOAD_MAXSIZE = 30_000_000
# The spider counts what failed, and says why.
RETRY_GIVE_UP_LOG_LEVEL = "INFO"
ROBOTSTXT_PARSER = "contentspider.crawl.middlewares.robots.BoundedRobots"
DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "contentspider.crawl.middlewares.robots.RobotsMiddleware": 100,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "contentspider.crawl.middlewares.guard.SafeRedirectMiddleware": 600,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "contentspider.crawl.middlewares.guard.RefreshMiddleware": 580,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
    "contentspider.crawl.middlewares.cookies.SiteCookies": 700,
}
# Scrapy's default of 100 starts 100 tasks for each response: 4 are enough, and save a quarter of
# the CPU.
CONCURRENT_ITEMS = 4
# Breadth first: a site's sections are seen before the depths of one of them.
DEPTH_PRIORITY = 1
COOKIES_ENABLED = False
REMOTE_CONTROL_ENABLED = False
TELNETCONSOLE_ENABLED = False
FEED_EXPORT_ENCODING = "utf-8"
LOG_LEVEL = "INFO"
