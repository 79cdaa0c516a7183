"""One site: the vote that labels its blocks, and the site model that is learned from the labels."""
