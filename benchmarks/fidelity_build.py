"""Builds websites out of documentation that public packages contain, for `fidelity.py`.

A site of `fidelity_sites.toml` with *package* is the folder *docs* of that version on PyPI, made a
website by the generator and the theme that *build* names. The authors' own settings are not read
(they want much that is not installed), so what an extension of theirs inserts is missing.

A site with *build* and *repository* is made of a commit by a generator from npm (Node 20). Of its
own components, only what stands in them is shown.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

GENERATORS = (
    "sphinx==9.0.4 myst-parser==5.2.0 sphinx-design==0.8.0 sphinx-inline-tabs==2025.12.21.14"
    " furo==2025.12.19 pydata-sphinx-theme==0.20.0 sphinx-book-theme==1.4.0 sphinx-rtd-theme==3.1.0"
    " mkdocs==1.6.1 mkdocs-material==9.8.2 pymdown-extensions==13.1.2"
).split()
SPHINX = """
extensions = ["myst_parser", "sphinx_design", "sphinx_inline_tabs", "sphinx.ext.doctest"]
myst_enable_extensions = [
    "deflist", "colon_fence", "fieldlist", "attrs_inline", "attrs_block", "dollarmath",
]
myst_heading_anchors = 3
exclude_patterns = ["includes", "**/includes", "_build"]
"""
MKDOCS = (
    "abbr admonition attr_list def_list footnotes md_in_html tables pymdownx.details"
    " pymdownx.superfences pymdownx.tasklist pymdownx.tilde pymdownx.mark pymdownx.keys"
    " pymdownx.blocks.details pymdownx.blocks.tab"
    " pymdownx.blocks.definition pymdownx.blocks.html pymdownx.blocks.caption pymdownx.inlinehilite"
).split()

STARLIGHT = {  # the files of a website
    "package.json": '{"type": "module", "dependencies": {"astro": "5.18.2",'
    ' "@astrojs/starlight": "0.37.7", "sharp": "0.35.5"}}',
    "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"~/*": ["src/*"]}}}',
    "astro.config.mjs": """
import { defineConfig } from "astro/config";
import starlight from "@astrojs/starlight";
export default defineConfig({ integrations: [starlight({ title: "Documentation" })] });
""",
    "src/content.config.ts": """
import { defineCollection } from "astro:content";
import { docsLoader } from "@astrojs/starlight/loaders";
import { docsSchema } from "@astrojs/starlight/schema";
export const collections = {
  docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }),
};
""",
}

NOTES = (
    "note attention caution danger error tip hint important warning new settings question success"
    " quote failure example bug"
).split()


def python(folder: Path) -> Path:
    """Return the Python that has the generators, which are installed into *folder* first."""
    found = folder / "python" / "bin" / "python"
    if not found.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "python")], check=True)
        subprocess.run([str(found), "-m", "pip", "install", "-q", *GENERATORS], check=True)
    return found


def documentation(package: str, folder: Path) -> Path:
    """Return the folder of a *package* (``NAME==VERSION``), which is taken from PyPI first."""
    unpacked = folder / "sources" / package
    if not unpacked.exists():
        download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:"]
        into = folder / "downloads" / package
        subprocess.run([*download, "-d", str(into), package], check=True)
        with tarfile.open(next(into.glob("*.tar.gz"))) as archive:
            archive.extractall(unpacked, filter="data")
    return next(unpacked.iterdir())


def build(site: dict[str, Any], folder: Path) -> tuple[Path, Path]:
    """Return the folders of a *site*'s sources and of its pages, which are built if need be."""
    sources = documentation(site["package"], folder) / site["docs"]
    pages = folder / "pages" / site["name"]
    if pages.exists():
        return sources, pages
    generator, theme = site["build"].split()
    run = [str(python(folder)), "-m"]
    if generator == "sphinx":
        settings = folder / "settings" / site["name"]
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "conf.py").write_text(f"{SPHINX}html_theme = {theme!r}\n", "utf-8")
        run += ["sphinx", "-q", "-c", str(settings), str(sources), str(pages)]
    else:
        settings_file = folder / f"{site['name']}.json"  # which is YAML, too
        settings_file.write_text(json.dumps(mkdocs(site["name"], theme, sources)), "utf-8")
        run += ["mkdocs", "build", "-q", "-f", str(settings_file), "-d", str(pages.resolve())]
    log = folder / f"{site['name']}.log"
    with log.open("w", encoding="utf-8") as errors:
        status = subprocess.run(run, check=False, stdout=errors, stderr=errors).returncode
    if status:
        shutil.rmtree(pages, ignore_errors=True)
        raise RuntimeError(f"{site['name']} was not built (exit code {status}): see {log}")
    return sources, pages


def starlight(site: dict[str, Any], repository: Path, folder: Path) -> Path:
    """Return the folder of the pages that Starlight makes of a *site*'s sources, which are built if
    need be.
    """
    work = folder / "starlight" / site["name"]
    pages = work / "dist"
    if pages.exists():
        return pages
    (work / "src" / "content").mkdir(parents=True, exist_ok=True)
    for name, text in STARLIGHT.items():
        (work / name).write_text(text, "utf-8")
    commit, _, root = site["source"].partition(":")
    archive = subprocess.run(
        ["git", "-C", str(repository), "archive", f"{commit}:{site['assets']}"],
        check=True,
        capture_output=True,
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(work / "src", filter="data")
    documents = work / "src" / root.removeprefix(f"{site['assets']}/")
    for path in [path for path in documents.rglob("*") if path.is_file()]:
        if re.search(site["without"], path.relative_to(documents).as_posix()):
            path.unlink()
    for path in work.glob("src/components/*.astro"):
        path.write_text("<slot />", "utf-8")
    log = work / "build.log"
    with log.open("w", encoding="utf-8") as errors:
        for run in (["npm", "install", "--no-audit"], ["npx", "astro", "build"]):
            done = subprocess.run(run, check=False, cwd=work, stdout=errors, stderr=errors)
            if done.returncode:
                shutil.rmtree(pages, ignore_errors=True)
                raise RuntimeError(f"{site['name']} was not built ({' '.join(run)}): see {log}")
    return pages


def mkdocs(name: str, theme: str, sources: Path) -> dict[str, Any]:
    """Return the settings of MkDocs."""
    return {
        "site_name": name,
        "docs_dir": str(sources.resolve()),
        "theme": {"name": theme},
        "plugins": ["search"],
        "markdown_extensions": [
            *MKDOCS,
            {"toc": {"permalink": True}},
            {"pymdownx.quotes": {"callouts": True}},
            {"pymdownx.tabbed": {"alternate_style": theme == "material"}},
            {"pymdownx.blocks.admonition": {"types": NOTES}},
            {"pymdownx.highlight": {"pygments_lang_class": True}},
        ],
    }
