"""The Scrapy shell: add-on, spider, middlewares, pipeline."""
