"""The Scrapy components: add-on, spider, middlewares, scheduler and pipeline."""
