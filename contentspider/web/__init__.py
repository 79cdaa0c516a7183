"""The search page: what an index holds, in the browser and as JSON."""
