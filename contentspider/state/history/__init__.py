"""The history of a crawl: what is known of each page across crawls."""
