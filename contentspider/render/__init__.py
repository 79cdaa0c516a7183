"""Pages as a browser shows them: the browser, the network that it may use, and what it tells."""
