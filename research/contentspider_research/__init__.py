"""Experiments on web content extraction: the published systems, compared with contentspider."""

# Here, so that the command line knows them before it loads anything.
EXPERIMENTS = (
    "table1",
    "approach2",
    "approach3",
    "features",
    "labels",
    "confusion",
    "learning-curve",
    "baselines",
    "classifiers",
    "cart",
)
# How much a block counts in a site's classifier: by its length as ours does, or each once, which
# is the published classifier.
BY_LENGTH, EQUAL = "length", "equal"
# Where git finds the references that the prior is trained on.
REFERENCES_AT = "https://github.com/{owner}/{name}.git"
