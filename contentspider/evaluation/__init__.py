"""Corpora with gold text: predictions, experiments, training of the prior, serving a folder as a
site.
"""

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
)
