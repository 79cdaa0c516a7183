"""One site: votes, labels, classifier, model."""
