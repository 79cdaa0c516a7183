"""The annotation tool: people mark in the browser which blocks of a site are main content."""
