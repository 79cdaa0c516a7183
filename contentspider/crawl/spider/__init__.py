"""The site spider: where it finds pages, and which pages become items."""
