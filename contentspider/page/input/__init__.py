"""Where pages come from: bodies, files, rendered pages, PDF."""
