"""The vote of a site: it labels each block by the evidence of all pages (Algorithm 1)."""
