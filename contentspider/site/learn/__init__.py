"""Learns a site from its own pages, and extracts single pages without learning."""
