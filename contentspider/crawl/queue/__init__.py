"""The queue of a crawl: scheduler, outages, memory limit, and the ledger that stores them."""
