"""What changes between two crawls of a site: differences, drift, intervals. No Scrapy."""
