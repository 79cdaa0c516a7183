"""Compares the pages of a crawl with those that earlier crawls recorded in the history."""
