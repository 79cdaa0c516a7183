"""Files that a crawl writes: items in several formats, WARC."""
