"""The data set: a row for each element or block of pages."""
