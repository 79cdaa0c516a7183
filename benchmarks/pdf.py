"""Measures the words of PDF files that contentspider and other readers keep, against poppler.

    python benchmarks/pdf.py FOLDER [--pages N]

FOLDER has PDF files, at any depth; files with fewer than 200 words are left out. The reference is
``pdftotext`` (poppler-utils), which must be installed. The first N pages (12) of a file are read.
Recall and precision of words, the similarity of their order (Indel), and CPU time. Words that are
hyphenated at the end of a line are joined. Readers that are not installed are left out. liteparse,
edgeparse and pdf-inspector give Markdown.
"""

from __future__ import annotations

import argparse
import html
import re
import subprocess
import time
import unicodedata
from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

from rapidfuzz.distance import Indel

from contentspider.page.input import pdf_blocks

MIN_WORDS, MAX_ORDER_WORDS = 200, 4_000
HYPHEN = re.compile(r"(?<=\w)[-\ufffe]\s*\n\s*(?=[^\W\d_A-Z])")


def by_contentspider(path: Path, pages: int) -> str:
    pdf_blocks.MAX_PAGES = pages
    return html.unescape(re.sub("<[^>]+>", "\n", pdf_blocks.read_pdf(path.read_bytes(), 60).html))


def by_pypdfium2(path: Path, pages: int) -> str:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        found = [document[number].get_textpage() for number in range(min(pages, len(document)))]
        return "\n".join(page.get_text_range() for page in found)


def by_pypdf(path: Path, pages: int) -> str:
    import pypdf

    return "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages[:pages])


def by_pdfminer(path: Path, pages: int) -> str:
    from pdfminer.high_level import extract_text

    return extract_text(path, maxpages=pages)


def by_pdf_oxide(path: Path, pages: int) -> str:
    import pdf_oxide

    document = pdf_oxide.PdfDocument(str(path))
    count = min(pages, document.page_count())
    return "\n".join(document.extract_text(number) for number in range(count))


def by_liteparse(path: Path, pages: int) -> str:
    import liteparse

    parser = liteparse.LiteParse(
        ocr_enabled=False, max_pages=pages, quiet=True, output_format="markdown"
    )
    return parser.parse(str(path)).text


def by_edgeparse(path: Path, pages: int) -> str:
    import edgeparse

    return edgeparse.convert(
        str(path), format="markdown", pages=f"1-{pages}", raster_table_ocr=False
    )


def by_pdf_inspector(path: Path, pages: int) -> str:
    import pdf_inspector

    numbers = range(min(pages, pdf_inspector.detect_pdf(str(path)).page_count))
    read = pdf_inspector.extract_pages_markdown(str(path), list(numbers))
    return "\n".join(page.markdown for page in read.pages)


READERS = {
    "contentspider": ("pypdfium2", by_contentspider),
    "pypdfium2": ("pypdfium2", by_pypdfium2),
    "pypdf": ("pypdf", by_pypdf),
    "pdfminer.six": ("pdfminer", by_pdfminer),
    "pdf_oxide": ("pdf_oxide", by_pdf_oxide),
    "liteparse": ("liteparse", by_liteparse),
    "edgeparse": ("edgeparse", by_edgeparse),
    "pdf-inspector": ("pdf_inspector", by_pdf_inspector),
}


def words(text: str) -> list[str]:
    text = HYPHEN.sub("", unicodedata.normalize("NFKC", text).replace("\xad", ""))
    return re.findall(r"[^\W_]+", text.casefold())


def reference(path: Path, pages: int) -> list[str]:
    command = ["pdftotext", "-l", str(pages), str(path), "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    return words(done.stdout.decode("utf-8", "replace"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=12)
    options = parser.parse_args()
    readers = {name: read for name, (module, read) in READERS.items() if find_spec(module)}
    scores = defaultdict(list)
    files = 0
    for path in sorted(options.folder.rglob("*.pdf")):
        gold = reference(path, options.pages)
        if len(gold) < MIN_WORDS:
            continue
        files += 1
        for name, read in readers.items():
            begun = time.process_time()
            try:
                found = words(read(path, options.pages))
            except Exception as error:  # noqa: BLE001 (each library has its own)
                print(f"{name}: {path}: {error!r}")
                found = []
            seconds = time.process_time() - begun
            same = (Counter(gold) & Counter(found)).total()
            order = Indel.normalized_similarity(gold[:MAX_ORDER_WORDS], found[:MAX_ORDER_WORDS])
            scores[name].append((same / len(gold), same / max(1, len(found)), order, seconds))
    print(f"{files} files\n| reader | recall | precision | order | s |\n|---|---|---|---|---|")
    for name, rows in scores.items():
        recall, precision, order, seconds = map(fmean, zip(*rows, strict=True))
        print(f"| {name} | {recall:.3f} | {precision:.3f} | {order:.3f} | {seconds:.3f} |")


if __name__ == "__main__":
    main()
