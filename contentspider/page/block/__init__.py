"""A block: its text, its place in the tree."""
