"""Re-crawls: how pages have changed since earlier crawls, and which pages to visit again."""
