"""Reads one page and writes its content: tree, blocks, hints, features, Markdown."""
