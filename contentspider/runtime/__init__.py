"""What applies a site's rules: one file that needs nothing but Python, to be copied anywhere."""
