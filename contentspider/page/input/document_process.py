"""Reads a document in a child process (see `contentspider.page.input.documents`)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from contentspider.ground.counts import counted
from contentspider.page.input.epub import is_epub, read_epub
from contentspider.page.input.office import read_office
from contentspider.page.input.pdf_blocks import read_pdf
from contentspider.page.input.properties import Properties, read_properties
from contentspider.page.input.textfiles import markdown_html, text_html

if TYPE_CHECKING:
    from contentspider.ground.child_process import Report

# The libraries that read documents; see `contentspider.ground.child_process`.
PRELOADED = ("pypdfium2", "anydoc", "markdown_it")
# After this share of its processor time the process stops reading a PDF file, and returns the pages
# that it has.
READ_SHARE = 0.8


def read_in_child(
    arguments: dict[str, Any], body: bytes, _: Report
) -> tuple[dict[str, str], bytes]:
    """Return the document that is the *body*, see `read`."""
    return read(body=body, **arguments), b""


def read(kind: str, body: bytes, content_type: str, seconds: float) -> dict[str, str]:
    """Return a document of a *kind* (see `contentspider.page.input.documents`) as a dict.

    It has the ``body`` as HTML, and the fields of `Properties`. ``left_out`` names the parts that
    are too long or take too long ("": the body is complete). ``problem`` says why the document
    cannot be read ("": it can).
    """
    properties, problem = Properties(), ""
    if kind == "pdf":
        pdf = read_pdf(body, READ_SHARE * seconds)
        html, properties = pdf.html, pdf.properties
        left_out = counted(pdf.pages_left_out, "pages") if pdf.pages_left_out else ""
    elif kind == "office":
        properties = read_properties(body)
        text = read_epub(body) if is_epub(body) else read_office(body)
        html, left_out, problem = text.html, text.left_out, text.problem
        properties.title = properties.title or text.heading
    elif kind == "markdown":
        html, properties, left_out = markdown_html(body, content_type)
    else:
        html, left_out = text_html(body, content_type)
    return {**asdict(properties), "body": html, "left_out": left_out, "problem": problem}
