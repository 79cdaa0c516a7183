"""Pages in the browser: search, try a page, annotate a site, and reports. Tools for agents."""
