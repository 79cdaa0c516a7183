"""The queue of a crawl: scheduler, outages, memory limit, and the book that stores them."""
