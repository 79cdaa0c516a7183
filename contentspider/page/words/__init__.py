"""Words of designers and readers: names and phrases that mark boilerplate, and languages."""
