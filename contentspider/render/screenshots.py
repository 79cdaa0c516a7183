"""Pictures of a site's pages, with what is kept, what is dropped, and their visual units."""

from __future__ import annotations

import asyncio
import logging
from html import escape
from typing import TYPE_CHECKING

from contentspider.ground.atomic import replacing
from contentspider.render.elements import read_elements
from contentspider.render.probe import visuals_of
from contentspider.render.stored import Look, looks
from contentspider.render.units import visual_units

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
    """Write pictures of pages of a folder of HTML files, and a page that shows them, into a folder
    beside *output*; return how many there are: *number* of those of which the model is least sure.
    The addresses of the *extractions* are the files' paths in *source*.
    """
    found = sorted(extractions, key=lambda one: (one.confidence, one.page.url))
    folder = output.with_name(f"{output.stem}-screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {source / one.page.url: one for one in found[:number]}
    return asyncio.run(_write(source, folder, chosen))


async def _write(source: Path, folder: Path, chosen: dict[Path, Extraction]) -> int:
    figures: list[str] = []
    async for look in looks(source, chosen):
        if not isinstance(look, Look):
            logger.warning("%s cannot be shown: %s", *look)
            continue
        name = f"{len(figures) + 1}.jpg"
        with replacing(folder / name) as file:
            file.write(look.picture)
        figures.append(_figure(name, look, chosen[look.file]))
        logger.info("%d of %d pages shown", len(figures), len(chosen))
    shown = "".join(figures)
    title = "Kept (green) and dropped (grey) text; visual units (blue)"
    page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    with replacing(folder / "index.html") as file:
        file.write(f"{page}<style>{STYLE}</style><h1>{title}</h1>{shown}</html>".encode())
    return len(figures)


def _figure(name: str, look: Look, extraction: Extraction) -> str:
    width, height = look.snapshot.width, look.snapshot.bottom
    shapes = "".join([*_blocks(look, extraction), *_units(look)])
    url = escape(extraction.page.url.encode("utf-8", "replace").decode())
    said = f"{url}: {extraction.page_type}, confidence {extraction.confidence:.2f}"
    return (
        f'<figure><figcaption>{said}</figcaption><svg viewBox="0 0 {width} {height}">'
        f'<image href="{name}"/>{shapes}</svg></figure>\n'
    )


def _blocks(look: Look, extraction: Extraction) -> Iterator[str]:
    content = extraction.page.content
    for block, seen, kept in zip(
        content.blocks, visuals_of(content, look.snapshot), extraction.kept, strict=True
    ):
        if seen:
            box = [float(seen[f"box {side}"]) for side in ("left", "top", "width", "height")]
            word = "kept" if kept else "dropped"
            yield _rectangle(word, box, f"{word}: {block.text[:200]}")


def _units(look: Look) -> Iterator[str]:
    body = read_elements(look.snapshot)
    for unit in visual_units(body).leaves() if body is not None else ():
        box = unit.box
        size = [box.left, box.top, box.right - box.left, box.bottom - box.top]
        yield _rectangle("unit", size, "")


def _rectangle(word: str, box: list[float], said: str) -> str:
    names = ("x", "y", "width", "height")
    place = " ".join(f'{name}="{value:g}"' for name, value in zip(names, box, strict=True))
    title = f"<title>{escape(said)}</title>" if said else ""
    return f'<rect class="{word}" {place}>{title}</rect>'
