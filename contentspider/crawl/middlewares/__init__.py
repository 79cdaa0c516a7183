"""The middlewares of a crawl: pages, conditional requests, outages, robots.txt, cookies."""
