"""Screenshots of a site's pages that show the kept and dropped blocks and the visual units."""

from __future__ import annotations

import asyncio
import logging
from html import escape
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing
from contentspider.render.elements import read_elements
from contentspider.render.files import RenderedFile, render_files
from contentspider.render.segmentation import visual_units
from contentspider.render.snapshot import visuals_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from contentspider.site.models.record import Extraction

logger = logging.getLogger(__name__)

STYLE = """
body { font: 14px/20px sans-serif; margin: 16px; } figure { margin: 0 0 32px; }
svg { width: 100%; max-width: 1600px; border: 1px solid #999; }
.kept { fill: #0a04; stroke: #070; } .dropped { fill: #8886; stroke: #666; }
.unit { fill: none; stroke: #00c; stroke-width: 3; stroke-dasharray: 10 6; }
"""


def write_screenshots(
    source: Path, extractions: Sequence[Extraction], output: Path, number: int
) -> int:
    """Write screenshots of the *number* pages with the lowest confidence, and an ``index.html``
    with all of them, into a folder beside *output*. Return the number of screenshots.

    *source* is a folder of HTML files; the URLs of the *extractions* are paths in it.
    """
    ordered = sorted(extractions, key=lambda result: (result.confidence, result.page.url))
    folder = output.with_name(f"{output.stem}-screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {source / result.page.url: result for result in ordered[:number]}
    return asyncio.run(_write(source, folder, chosen))


async def _write(source: Path, folder: Path, chosen: dict[Path, Extraction]) -> int:
    figures: list[str] = []
    async for rendered in render_files(source, chosen):
        if not isinstance(rendered, RenderedFile):
            logger.warning("%s cannot be rendered: %s", *rendered)
            continue
        name = f"{len(figures) + 1}.jpg"
        with replacing(folder / name) as file:
            file.write(rendered.picture)
        figures.append(_figure(name, rendered, chosen[rendered.file]))
        logger.info("%d of %d pages rendered", len(figures), len(chosen))
    body = "".join(figures)
    title = "Kept (green) and dropped (grey) text; visual units (blue)"
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    with replacing(folder / "index.html") as file:
        file.write(f"{page}<style>{STYLE}</style><h1>{title}</h1>{body}</html>".encode())
    return len(figures)


def _figure(name: str, rendered: RenderedFile, extraction: Extraction) -> str:
    width, height = rendered.snapshot.width, rendered.snapshot.bottom
    shapes = "".join([*_blocks(rendered, extraction), *_units(rendered)])
    url = escape(extraction.page.url.encode("utf-8", "replace").decode())
    caption = f"{url}: {extraction.page_type}, confidence {extraction.confidence:.2f}"
    return (
        f'<figure><figcaption>{caption}</figcaption><svg viewBox="0 0 {width} {height}">'
        f'<image href="{name}"/>{shapes}</svg></figure>\n'
    )


def _blocks(rendered: RenderedFile, extraction: Extraction) -> Iterator[str]:
    content = extraction.page.content
    for block, visual, is_kept in zip(
        content.blocks, visuals_of(content, rendered.snapshot), extraction.kept, strict=True
    ):
        if visual:
            box = [float(visual[f"box {side}"]) for side in ("left", "top", "width", "height")]
            word = "kept" if is_kept else "dropped"
            yield _rectangle(word, box, f"{word}: {block.text[:200]}")


def _units(rendered: RenderedFile) -> Iterator[str]:
    body = read_elements(rendered.snapshot)
    for unit in visual_units(body).leaves() if body is not None else ():
        box = unit.box
        size = [box.left, box.top, box.right - box.left, box.bottom - box.top]
        yield _rectangle("unit", size, "")


def _rectangle(css_class: str, box: list[float], text: str) -> str:
    names = ("x", "y", "width", "height")
    position = " ".join(f'{name}="{value:g}"' for name, value in zip(names, box, strict=True))
    title = f"<title>{escape(text)}</title>" if text else ""
    return f'<rect class="{css_class}" {position}>{title}</rect>'
