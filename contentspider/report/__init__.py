"""The report of a site: one self-contained HTML page of what is kept, what is dropped, and how
surely.
"""
