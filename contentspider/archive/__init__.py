"""Extracts archives of stored pages of any size, on this machine or on a Dask cluster."""
