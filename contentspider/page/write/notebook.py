"""What notebooks show of pages and models: HTML that says the same where its colours are removed,
as code hosts do.
"""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.page.tree.blocks import Block

KEPT, LEFT_OUT = "#2a2", "#888"
KEPT_MARK = "✓ "
MAX_SHOWN = 300  # blocks of a page, slots of a model
BAR_CHARS, MAX_EXAMPLE = 10, 40


def blocks_html(title: str, blocks: Sequence[Block], kept: Iterable[bool] | None = None) -> str:
    """Return the text of *blocks* below a *title*: the *kept* ones green and with a check mark, the
    others grey. None: nothing has judged the blocks.
    """
    if kept is None:
        lines = [_line(block.text) for block in blocks[:MAX_SHOWN]]
    else:
        pairs = islice(zip(blocks, kept, strict=True), MAX_SHOWN)
        lines = [
            _line(KEPT_MARK + block.text, KEPT)
            if is_kept
            else _line(block.text, LEFT_OUT, f"color:{LEFT_OUT}")
            for block, is_kept in pairs
        ]
    return _titled(title, "".join(lines), len(blocks), "blocks")


def bars_html(title: str, bars: Sequence[tuple[str, float, str]], kind: str) -> str:
    """Return a plot of *bars* below a *title*: the name, the length from 0 to 1, and an example of
    each. Those longer than 0.5 are green, the others grey; *kind* names them all.
    """
    rows = "".join(
        f'<tr style="color:{KEPT if length > 0.5 else LEFT_OUT}"><td align="left">{escape(name)}'
        f'</td><td align="left" style="white-space:nowrap">{_bar(length)} {length:.2f}</td>'
        f'<td align="left">{escape(_clipped(example))}</td></tr>'
        for name, length, example in bars[:MAX_SHOWN]
    )
    return _titled(title, f"<table>{rows}</table>", len(bars), kind)


def _bar(length: float) -> str:
    full = round(length * BAR_CHARS)
    return "█" * full + "░" * (BAR_CHARS - full)


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_EXAMPLE else text[: MAX_EXAMPLE - 1] + "…"


def _line(text: str, border: str = "transparent", style: str = "") -> str:
    look = f"margin:2px;padding-left:6px;border-left:4px solid {border};{style}"
    return f'<p style="{look}">{escape(text)}</p>'


def _titled(title: str, body: str, total: int, kind: str) -> str:
    left = total - MAX_SHOWN
    more = f"<p>... and {counted(left, f'more {kind}')}</p>" if left > 0 else ""
    return f'<div style="overflow-wrap:anywhere"><b>{escape(title)}</b>{body}{more}</div>'
