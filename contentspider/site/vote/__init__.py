"""The vote of a site: labels each block by the evidence of all pages. `paper` has Algorithm 1."""
