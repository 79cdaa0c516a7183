"""Measures how much of documents contentspider, kreuzberg and markitdown read.

The reference is the text, headings, table cells and links by pandoc (3.8 or later) and LibreOffice.

FILES has a folder of files for each kind (docx, xlsx, pptx, odt, ods, odp, epub, rtf, md). Up to 30
files of a kind are drawn, with at least 20 words. LibreOffice is the reference for spreadsheets
(pandoc writes dates as numbers) and for RTF and ODP files. Each tool reads a file in a process with
1 GB of memory and 60 s. Tools that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from lxml import html

SAMPLE, MIN_WORDS = 30, 20
MEMORY_BYTES, SECS = 1_000_000_000, 60
SHEETS, BY_OFFICE = ("ods", "xlsx"), {"odp": "pptx", "rtf": "odt"}
PANDOC_NAMES = {"md": "gfm"}  # pandoc's names of formats that differ from the ending of their files
ENDS = re.compile(r"(</(?:td|th|p|li|h[1-6]|div|tr|dd|dt)>|<br ?/?>)")
FORMULA = re.compile(r'<math[^>]*alttext="([^"]*)"></math>')
NUMBER = re.compile(r"^\d+(?=\D)")
TOOLS = {"contentspider": "anydoc", "kreuzberg": "kreuzberg", "markitdown": "markitdown"}


class Facts(NamedTuple):
    """The parts of a document that are compared, each with its count."""

    words: Counter[str]
    headings: Counter[str]
    cells: Counter[str]
    links: Counter[str]


def facts_of(text: str) -> Facts:
    """Return the facts of HTML. Spaces, and numbers before headings, do not count."""
    root = html.fromstring("<div>" + ENDS.sub(r" \1 ", FORMULA.sub(r"\1", text)) + "</div>")
    for element in root.xpath("//script|//style|//head|//annotation"):
        element.drop_tree()

    def texts(path: str) -> Counter[str]:
        keys = ("".join(words(element.text_content())) for element in root.xpath(path))
        return Counter(filter(None, (NUMBER.sub("", key) for key in keys)))

    hrefs = (element.get("href") for element in root.xpath("//a[@href]"))
    return Facts(
        Counter(words(" ".join(root.itertext()))),
        texts("//h1|//h2|//h3|//h4|//h5|//h6"),
        texts("//td|//th"),
        Counter(href for href in hrefs if href.startswith("http")),
    )


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def convert(path: Path, kind: str, folder: Path) -> Path:
    """Return a file that LibreOffice converted to another kind."""
    profile = f"-env:UserInstallation={(folder / 'profile').resolve().as_uri()}"
    command = ["soffice", "--headless", profile, "--convert-to", kind, "--outdir", str(folder)]
    nowhere = subprocess.DEVNULL  # a pipe would be held by a process that outlives the timeout
    subprocess.run([*command, str(path)], stdout=nowhere, stderr=nowhere, timeout=SECS, check=False)
    return folder / f"{path.stem}.{kind}"


def reference(path: Path, folder: Path) -> str:
    """Return the HTML of a file by pandoc or LibreOffice, "" if they cannot read it."""
    stored = folder / f"{path.name}.html"
    if not stored.exists():
        try:
            stored.write_text(_reference(path, folder), encoding="utf-8")
        except (subprocess.TimeoutExpired, OSError):
            stored.write_text("")
    return stored.read_text(encoding="utf-8")


def _reference(path: Path, folder: Path) -> str:
    kind = path.suffix[1:].lower()
    if kind in SHEETS:
        text = convert(path, "html", folder).read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"<title>.*?</title>|<h1>[^\n]*Overview[^\n]*</h1>", "", text)
        return re.sub(r"<h1>Sheet \d+: <em>(.*?)</em></h1>", r"<h2>\1</h2>", text)
    if kind in BY_OFFICE:
        path = convert(path, BY_OFFICE[kind], folder)
    kind = path.suffix[1:].lower()
    kind = PANDOC_NAMES.get(kind, kind)
    command = ["pandoc", "-f", kind, "-t", "html", "--wrap=none", str(path)]
    done = subprocess.run(command, capture_output=True, timeout=SECS, check=False)
    text = done.stdout.decode(errors="replace") if done.returncode == 0 else ""
    return re.sub(r"<h2[^>]*>Slide \d+</h2>", "", text)


def draw(files: Path, folder: Path) -> dict[str, list[Path]]:
    """Return the files of each kind that the tools read."""
    draws, sample = random.Random(54), {}
    for kind in sorted(path for path in files.iterdir() if path.is_dir()):
        paths = sorted(kind.iterdir())
        draws.shuffle(paths)
        sample[kind.name] = []
        for path in paths:
            text = reference(path, folder)
            if text.strip() and sum(facts_of(text).words.values()) >= MIN_WORDS:
                sample[kind.name].append(path)
            if len(sample[kind.name]) == SAMPLE:
                break
    return sample


def read_alone(tool: str, path: str) -> None:
    """Print the HTML of a file by a tool, and the peak memory of this process in MB, as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECS, SECS))
    output, sys.stdout = sys.stdout, sys.stderr
    text = READERS[tool](path)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024
    json.dump({"html": text, "peak": peak}, output)


def by_contentspider(path: str) -> str:
    from contentspider.page.input.document_process import read

    kind = "markdown" if path.endswith(".md") else "office"
    document = read(kind, Path(path).read_bytes(), "", SECS)
    if document["problem"]:
        raise SystemExit(document["problem"])
    return document["body"]


def by_kreuzberg(path: str) -> str:
    import kreuzberg

    config = kreuzberg.ExtractionConfig(output_format="markdown", use_cache=False)
    return from_markdown(kreuzberg.extract_file_sync(path, config=config).content)


def by_markitdown(path: str) -> str:
    from markitdown import MarkItDown

    return from_markdown(MarkItDown().convert(path).text_content)


def from_markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").render(text)


READERS = {
    "contentspider": by_contentspider,
    "kreuzberg": by_kreuzberg,
    "markitdown": by_markitdown,
}


def measure(tool: str, paths: list[Path], folder: Path) -> str:
    """Return a row with the recall and precision of a tool, its failures, memory and time."""
    shares: dict[str, list[tuple[float, float]]] = {name: [] for name in Facts._fields}
    peaks, times, failures = [], [], 0
    for path in paths:
        started = time.monotonic()
        command = [sys.executable, __file__, "--alone", tool, str(path)]
        done = subprocess.run(command, capture_output=True, timeout=2 * SECS, check=False)
        times.append(time.monotonic() - started)
        document = {"html": "", "peak": 0}
        if done.returncode == 0:
            # Some libraries print to the standard output; ours is the last line.
            document = json.loads(done.stdout.splitlines()[-1])
        failures += not document["html"].strip()
        peaks.append(document["peak"])
        pairs = zip(facts_of(reference(path, folder)), facts_of(document["html"]), strict=True)
        for name, (gold, read) in zip(Facts._fields, pairs, strict=True):
            if gold:
                both = sum((gold & read).values())
                precision = both / sum(read.values()) if read else 0.0
                shares[name].append((both / sum(gold.values()), precision))
    means = [
        f"{fmean(recall for recall, _ in pairs):.3f} {fmean(exact for _, exact in pairs):.3f}"
        f" ({len(pairs)})"
        if pairs
        else "-"
        for pairs in shares.values()
    ]
    load = f"{median(peaks):.0f} {max(peaks):.0f} MB | {median(times):.2f} {max(times):.1f} s"
    return " | ".join([*means, str(failures), load])


def main() -> None:
    """Print a row for each kind of files and each tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path)
    parser.add_argument("--references", type=Path, default=Path("references"))
    options = parser.parse_args()
    options.references.mkdir(exist_ok=True)
    tools = [tool for tool, module in TOOLS.items() if find_spec(module)]
    print("kind | files | tool | words | headings | cells | links | failed | memory | time")
    for kind, paths in draw(options.files, options.references).items():
        for tool in tools:
            row = measure(tool, paths, options.references)
            print(f"{kind} | {len(paths)} | {tool} | {row}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        read_alone(*sys.argv[2:4])
    else:
        main()
