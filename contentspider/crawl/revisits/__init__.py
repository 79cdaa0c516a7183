"""What a crawl makes of pages that an earlier crawl knew."""
