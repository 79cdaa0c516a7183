"""The vote of a site: what all its pages say of each block (Algorithm 1)."""
