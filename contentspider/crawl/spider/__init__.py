"""The site spider, its middlewares, and the sources from which it discovers pages."""
