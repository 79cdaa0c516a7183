"""The ways to label blocks, by name; apart from the learner, which takes a second to import."""

LABEL_METHODS = ("votes", "paper")
