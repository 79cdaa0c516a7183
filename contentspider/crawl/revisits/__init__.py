"""Compares the pages of a crawl with the pages that earlier crawls recorded in the history."""
