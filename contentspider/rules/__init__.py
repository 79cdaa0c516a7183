"""Keep and drop rules learned from a site's model, for tools that cannot run the model.

`Rules` and `learn_rules` are imported on first use, since the list of commands needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.rules.extraction import learn_rules as learn_rules
    from contentspider.rules.standalone import Rules as Rules

__all__ = ["Rules", "learn_rules"]


def __getattr__(name: str) -> object:
    if name == "Rules":
        from contentspider.rules.standalone import Rules

        return Rules
    if name == "learn_rules":
        from contentspider.rules.extraction import learn_rules

        return learn_rules
    raise AttributeError(f"module 'contentspider.rules' has no attribute {name!r}")
