"""The walk over a page's tree, and what it collects: blocks, hints and images."""
