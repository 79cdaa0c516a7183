"""Rendering for contentspider: pages that scripts make, as Chromium shows them."""
