"""Search indexes: documents of a site's history into engines, and what is found there."""
