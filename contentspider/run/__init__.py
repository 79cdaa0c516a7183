"""Crawls from the command line, and of many sites on a schedule."""
