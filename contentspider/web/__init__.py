"""contentspider in the browser."""
