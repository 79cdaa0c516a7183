"""The process that reads one document (see `contentspider.page.input.documents`)."""

from __future__ import annotations

import io
import json
import math
import sys
from contextlib import suppress
from dataclasses import asdict
from html import escape

from contentspider.page.input.office import read_office
from contentspider.page.input.pdf import extract_text
from contentspider.page.input.properties import Properties, read_properties
from contentspider.page.input.textfiles import markdown_html, text_html

MEMORY_BYTES = 1_000_000_000
# After this share of its processor time the process stops reading a PDF file, and returns the pages
# that it has.
READ_SHARE = 0.8


def read(kind: str, body: bytes, content_type: str, seconds: float) -> dict[str, str]:
    """Return a document of a *kind* (see `contentspider.page.input.documents`) as a dict.

    It has the ``body`` as HTML, and the fields of `Properties`. ``left_out`` names the parts that
    are too long or take too long ("": the body is complete). ``problem`` says why the document
    cannot be read ("": it can).
    """
    properties, problem = Properties(), ""
    if kind == "pdf":
        pdf = extract_text(io.BytesIO(body), READ_SHARE * seconds)
        properties = Properties(pdf["title"], pdf["author"], pdf["keywords"])
        html = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in pdf["paragraphs"])
        left_out = f"{pdf['pages_left_out']} pages" if pdf["pages_left_out"] else ""
    elif kind == "office":
        properties = read_properties(body)
        text = read_office(body)
        html, left_out, problem = text.html, text.left_out, text.problem
        properties.title = properties.title or text.heading
    elif kind == "markdown":
        html, properties, left_out = markdown_html(body, content_type)
    else:
        html, left_out = text_html(body, content_type)
    return {**asdict(properties), "body": html, "left_out": left_out, "problem": problem}


def _limit(seconds: float) -> None:
    """Limit the processor time and the memory of this process."""
    try:
        import resource
    except ImportError:  # Windows lacks the module; only the parent's time limit applies there
        return
    # The first limit of a kind ends the process by SIGXCPU, which tells the parent why.
    cpu_seconds = math.ceil(seconds)
    limits = {
        resource.RLIMIT_CPU: (cpu_seconds, cpu_seconds + 1),
        resource.RLIMIT_AS: (MEMORY_BYTES, MEMORY_BYTES),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, limit in limits.items():
        # A limit of the user's may be lower, and cannot be raised.
        with suppress(ValueError):
            resource.setrlimit(kind, limit)


def main() -> None:
    """Read a file from standard input, and write it as JSON to standard output (see `read`). The
    arguments are its kind, the seconds of processor time that this may take, and its content type.
    """
    # Libraries may print; their output must not mix with the JSON.
    output, sys.stdout = sys.stdout, sys.stderr
    kind, seconds, content_type = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    _limit(seconds)
    json.dump(read(kind, sys.stdin.buffer.read(), content_type, seconds), output)


if __name__ == "__main__":
    main()
