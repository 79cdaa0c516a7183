"""The report of a site: an HTML page that shows what is kept and dropped, with confidence."""
