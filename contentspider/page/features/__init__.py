"""Site-independent features of a page's blocks: what the prior judges them by.

All are numbers that mean the same on every site: a text's length, its links and where they lead,
where it stands, what the ids and classes around it call it, what stands beside it, what it shares
with the page's hints.
Each module has one or several groups of them: a group's names stand above the numbers that the
module writes them by, in one order; the tests ask for values by name.
"""
