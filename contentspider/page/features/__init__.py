"""Site-independent features of a page's blocks, which are the input of the prior.

All features are numbers with the same meaning on every site: the length of a text, its links and
their targets, its position, the ids and classes around it, its neighbours, the words that it shares
with the page's hints.
Each module writes one or several groups of features. In a module the list of a group's names is
above the enumeration of its columns, in the same order; tests select values by name.
"""
