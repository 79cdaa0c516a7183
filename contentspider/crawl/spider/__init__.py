"""The site spider: what belongs to the site, and what leads to its pages."""
