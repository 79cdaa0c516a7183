"""Annotation: people say on a site's own pages which blocks are content."""
