"""Rendering of pages in Chromium, for pages whose text is made by scripts."""
