"""The files that a crawl writes: items in several formats, and WARC."""
