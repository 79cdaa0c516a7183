"""Changes between two crawls of a site: differences, drift, visit intervals. Imports no Scrapy."""
