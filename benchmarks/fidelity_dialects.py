"""Reads the Markdown dialects of generators: boxes, folded sections, tabs and API signatures.

`plain` writes each of them as HTML that all parsers of Markdown let through: ``aside`` with the
kind as class, ``details``, ``section`` (the panel of a tab), ``samp`` (a signature), ``cite`` (an
entry of a bibliography). The title of a box and the label of a panel are a ``div`` at its
beginning.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

CODE_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)")
FENCE = re.compile(r"^(\s*)(`{3,}|~{3,}|:{3,}|/{3,}(?=\s*\w|\s*\Z))\s*(.*?)\s*$")
INDENTED = re.compile(
    r"^\s*(!!!|\?\?\?\+?|===)[+!]?\s+(?=\S)(?:([\w-]+)[\w \t-]*?)?\s*(?:\"(.*)\")?\s*$"
)
DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)\Z")
CONTAINER = re.compile(r"\{?\s*\.?(?:callout-)?([\w-]+)\s*(?:\[(.*)\]|\|\s*(.*)|(.*?))\}?\s*\Z")
TITLE_OPTION = re.compile(r".*\btitle=[\"']([^\"']*)[\"']")
CELLS = frozenset("python r julia bash mermaid".split())  # Quarto's, by their language
CODE_DIRECTIVES = CELLS | frozenset(
    "code-block code-cell code sourcecode literalinclude doctest ipython parsed-literal".split()
)
SILENT_DIRECTIVES = frozenset(
    "toctree index contents raw bibliography image figure tableofcontents module currentmodule"
    " py:module py:currentmodule".split()
)
OPTION = re.compile(
    r"\s*:([\w-]+):\s*(.*)|\s*---\s*\Z|\s{4,}[\w-]+: .*\Z|(?:# ?|%%)\|\s*([\w-]+): *(.*)"
)
GROUPS = {  # kinds of boxes by GitHub's five
    "tip": "hint success check done",
    "important": "",
    "warning": "attention",
    "caution": "danger error failure fail bug",
    "note": "info seealso see example question faq help abstract summary tldr quote cite todo new"
    " settings admonition secondary",
}
GROUP = {name: group for group, names in GROUPS.items() for name in [group, *names.split()]}
FOLDED = frozenset(["details", "dropdown", "collapse"])
PANELS = frozenset(["tab", "tab-item"])
OBJECTS = (
    "function class method attribute data exception property classmethod staticmethod decorator"
    " confval envvar option describe"
)
SIGNATURES = frozenset(name for each in OBJECTS.split() for name in (each, f"py:{each}"))
RST_SIGNATURE = re.compile(rf"^\s*\.\. (?:py:)?(?:{'|'.join(OBJECTS.split())})::\s*(.+)$")
RST_CITATION = re.compile(r"^\s*\.\. \[([A-Za-z][^\]#*]*)\]\s*(.*)$")
ROLES = "class|attr|mod|exc|obj|data|file|command|option|envvar|program|kbd|samp|confval"
KEYS = re.compile(r"\+\+([a-z0-9-]+(?:\+[a-z0-9-]+)*)\+\+")  # of pymdown: ++ctrl+c++


def _keys(keys: re.Match[str]) -> str:
    return "+".join(f"<kbd>{key.capitalize()}</kbd>" for key in keys[1].split("+"))


PLAIN = (  # a pattern of lines outside of code, and what is left of it
    (re.compile(r"\{%-?\s*(?:raw|endraw)\s*-?%\}"), ""),
    (re.compile(r"\{\{\s*['\"]([^'\"]+)['\"]\s*\|[^}]*\}\}"), r"\1"),
    (re.compile(r"\{%\s*link\s+(\S+?)\s*%\}"), r"/\1"),
    (re.compile(r"\s*\{\s*(?:[:#.][^}\n]*|width=[^}\n]*|target=[^}\n]*)\}"), ""),
    (re.compile(r"\{[\w:-]+\}`([^`<]+?)\s*<[^`]*>`"), r"\1"),
    (re.compile(r"\{(?:code|math)\}`"), "`"),
    (re.compile(r"\{(?:py:)?(func|meth)\}`!?(~[\w.]*\.|\.)?([\w.]+)(?:\(\))?`"), r"`\3()`"),
    (re.compile(rf"\{{(?:py:)?(?:{ROLES})\}}`!?(?:~[\w.]*\.|\.)?([^`]*)`"), r"`\1`"),
    (re.compile(r"\{term\}`([^`]*)`"), r"\1"),
    (re.compile(r"(?<!`)\{[a-z][\w:-]*\}`([^`]*)`"), r"{{\1}}"),  # what another role says
    (re.compile(r"`#!\w[\w+-]* (?=[^`])"), "`"),  # pymdown's language of code in a line
    (KEYS, _keys),
    (re.compile(r"\\\\\((.+?)\\\\\)"), r"$\1$"),
    (re.compile(r"^\s*(?:import|export) .*$"), ""),
    (re.compile(r"^\s*\((?:[\w:.-]+)\)=\s*$"), ""),
)
TAG_OF_CODE = re.compile(
    r"^\{%-?\s*(codeblock|highlight)\b(.*?)-?%\}\n(.*?)^\{%-?\s*end\1\s*-?%\}",
    re.DOTALL | re.MULTILINE,
)
# MDX: a panel, whose text may be indented, and components that write what is not in the source.
PANEL = re.compile(r" *</?TabItem\b")
COMPONENT = re.compile(r" *</?[A-Z]\w*\b")
HIGHLIGHT = re.compile(r"\s*(?://|#|/\*|<!--|\{/\*) *highlight-(?:next-line|start|end)\b")
ALERT = re.compile(r"^> ?\[![A-Za-z]+\]", re.MULTILINE)
MARKS = re.compile(r"[*`]+|\]\([^)]*\)|\[|:[a-z][a-z-]*-[a-z-]*:")


class Frame(NamedTuple):
    """What is open: the line that ends it, what is written then, and what is in it."""

    mark: str
    closing: str
    content: str = "text"  # or "code", "nothing" (that is compared) or "rst"


class Box(NamedTuple):
    """The tags around what a dialect frames; "" where the page has no frame."""

    opening: str
    closing: str


def plain(markdown: str) -> tuple[str, int, int]:
    """Return a source in Markdown that all parsers read, how many notes, tabs and directives it
    has, and how many of them may be anything. Code of MyST's directives becomes fenced code.
    """
    reader = _Reader()
    markdown = _without_components(TAG_OF_CODE.sub(_fenced, markdown))
    for line in markdown.split("\n"):
        reader.read(line)
    reader.dedent(-1)
    frames = reader.frames + len(ALERT.findall(markdown))
    return "\n".join(reader.lines), frames, reader.unknown


def signatures(restructured: str) -> str:
    """Return the signatures and citations of a text in reStructuredText as HTML."""
    lines: list[str] = []
    label, text = "", ""
    for line in [*restructured.split("\n"), "."]:
        if label and line.strip() and line[0].isspace():
            text += f" {line.strip()}"
            continue
        if label:
            lines.append(_citation(label, text))
            label = ""
        if found := RST_SIGNATURE.match(line):
            lines.append(_signature(found[1]))
        elif cited := RST_CITATION.match(line):
            label, text = cited.groups()
    return "\n".join(lines)


def _signature(text: str) -> str:
    return f"<samp>{escape(text.strip())}</samp>"


def _citation(label: str, text: str) -> str:
    text = re.sub(r":\w+:`|`__?|[*`]+|\s<[^>]*>(?=`)", "", re.sub(r"\s+<[^>]+>`", "`", text))
    return f'<cite title="{escape(label)}">{escape(text)}</cite>'


def _fenced(tag: re.Match[str]) -> str:
    """Return the code of a *tag* of Hexo's or Jekyll's as fenced code."""
    language = re.search(r"lang:(\S+)" if tag[1] == "codeblock" else r"(\S+)", tag[2])
    return f"```````{language[1] if language else ''}\n{tag[3]}```````"


def _without_components(markdown: str) -> str:
    """Return MDX without its components, and the panels of tabs without their indent."""
    lines: list[str] = []
    fence, is_open, ticks = "", False, 0  # a component may go on over lines
    indent: int | None = 0  # of the panel; None: its first line is to come
    for line in markdown.split("\n"):
        mark = CODE_FENCE.match(line)
        if mark and not is_open:
            closes = mark[1].startswith(fence) and not mark[2]
            fence = ("" if closes else fence) if fence else mark[1]
        if not fence and not mark and (is_open or COMPONENT.match(line)):
            if is_open or not PANEL.match(line):
                ticks = (ticks if is_open else 0) + line.count("`")
                is_open = ticks % 2 == 1 or not line.rstrip().endswith(">")
                continue
            before, _, after = line.partition(">")
            indent = None if "<TabItem" in before and "</TabItem" not in after else 0
            after = after.replace("</TabItem>", "\n\n</TabItem>\n")
            lines += ["", f"{before.strip()}>", "", *after.split("\n")]
            continue
        if indent is None and line.strip():
            indent = len(line) - len(line.lstrip())
        lines.append(line[indent or 0 :] if not line[: indent or 0].strip() else line)
    return "\n".join(lines)


def _box(name: str, title: str) -> Box:
    """Return the frame of what a dialect calls *name*."""
    title = escape(MARKS.sub("", title).strip("# "))
    if name in FOLDED:
        title = re.sub(r"\s*\{[^}]*\}?\Z", "", title) or "Details"  # VitePress: {open}
        return Box(f"<details><summary>{title}</summary>", "</details>")
    label = f"\n<div>{title}</div>" if title else ""
    if name in PANELS:
        return Box(f"<section>{label}", "</section>")
    if name.lower() in GROUP:
        return Box(f'<aside class="{name.lower()}">{label}', "</aside>")
    return Box("", "")


class _Reader:
    """Writes a source line by line; the open frames are its state."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.frames = self.unknown = 0  # the latter may be boxes on the page
        self._open: list[Frame] = []
        self._indents: list[tuple[int, str]] = []
        self._rst: list[str] = []
        self._options = False  # whether options of the last directive may follow

    def read(self, line: str) -> None:
        if self._indents:
            line = line.expandtabs(4)
        if line.strip():
            self.dedent(len(line) - len(line.lstrip()))
        depth = 4 * len(self._indents)
        text = line[depth:] if not line[:depth].strip() else line
        if self._open and (self._open[-1].content != "text" or text.strip() == self._open[-1].mark):
            self._within(text)
        elif self._options and (option := OPTION.match(text)):
            self._option(option)
        elif fence := FENCE.match(text):
            self._fence(fence)
        elif indented := INDENTED.match(text):
            self._indent(indented, len(line) - len(line.lstrip()))
        else:
            self._options = False
            for pattern, replacement in PLAIN:
                text = pattern.sub(replacement, text)
            self.lines.append(text)

    def dedent(self, indent: int) -> None:
        """End the indented frames that a line with an *indent* no longer is in."""
        while self._indents and indent <= self._indents[-1][0]:
            self._write("", self._indents.pop()[1])

    def _write(self, indent: str, html: str) -> None:
        self.lines += ["", *[indent + line for line in html.split("\n")], ""] if html else [""]

    def _indent(self, found: re.Match[str], indent: int) -> None:
        mark, name, title = found[1], found[2] or "", found[3] or ""
        name = "tab" if mark == "===" else "details" if mark[0] == "?" else name
        title = title or ("" if name != "details" else (found[2] or "").capitalize())
        box = _box(name, title)
        self._write(" " * (indent - 4 * len(self._indents)), box.opening)
        self._indents.append((indent, box.closing))
        self.frames += 1

    def _option(self, option: re.Match[str]) -> None:
        names = (option[2] or "").split() if option[1] == "class" else []
        place = next((i for i in (-2, -3) if self.lines[i:] and "<aside" in self.lines[i]), None)
        if place is not None and names and names[0] in GROUP:
            self.lines[place] = re.sub('class="[^"]*"', f'class="{names[0]}"', self.lines[place])

    def _within(self, line: str) -> None:
        """Write what is left of a *line* of code, or of one that closes the innermost frame."""
        frame = self._open[-1]
        if line.strip() == frame.mark:
            self._open.pop()
            if frame.content == "rst":
                self._write("", signatures("\n".join(self._rst)))
                self._rst.clear()
            elif frame.content == "text":
                self._write("", frame.closing)
            elif frame.closing:
                self.lines.append(frame.closing)
        elif frame.content == "rst":
            self._rst.append(line)
        elif frame.content == "code":
            option = OPTION.match(line) if self._options else None
            if option is None:
                self._options = False
                if not HIGHLIGHT.match(line):
                    self.lines.append(line)
            elif option[3] in ("echo", "include") and option[4] == "false":
                self.lines.pop()
                self._open[-1] = Frame(frame.mark, "", "nothing")

    def _fence(self, fence: re.Match[str]) -> None:
        """Write what stands in place of an opening *fence*."""
        indent, mark, info = fence.groups()
        directive = DIRECTIVE.match(info)
        self._options = bool(directive) or mark[0] == "/"
        if directive and directive[1] in {*CODE_DIRECTIVES, *SILENT_DIRECTIVES, "math", "eval-rst"}:
            self._code_directive(indent, mark, directive[1], directive[2])
        elif not directive and mark[0] in "`~":
            if title := TITLE_OPTION.match(info):
                self._write(indent, f"<div>{escape(title[1])}</div>")
            label = re.search(r"\[([^\]]+)\]\s*\Z", info)
            box = _box("tab", label[1]) if label else Box("", "")
            if label:
                self._write(indent, box.opening)
            self.lines.append(fence[0].replace(label[0], "") if label else fence[0])
            self._open.append(Frame(mark, f"{indent}{mark}\n\n{box.closing}".rstrip("\n"), "code"))
        elif info:
            self._box_of(indent, mark, info, directive)

    def _box_of(self, indent: str, mark: str, info: str, directive: re.Match[str] | None) -> None:
        self.frames += 1
        if directive:
            name, title = directive.groups()
        elif container := CONTAINER.match(info):
            stated = TITLE_OPTION.match(info)
            name = container[1]
            title = stated[1] if stated else container[2] or container[3] or container[4] or ""
        else:
            name, title = "", ""
        is_titled = directive is None or name in {"admonition", *FOLDED, *PANELS}
        box = Box(_signature(title), "") if name in SIGNATURES else _box(name, title * is_titled)
        self.unknown += not box.opening
        self._write(indent, box.opening)
        if directive and not is_titled and name in GROUP and title:  # MyST: the first line of text
            self.lines.append(indent + title)
        self._open.append(Frame(mark, "\n".join(indent + each for each in [box.closing] if each)))

    def _code_directive(self, indent: str, mark: str, name: str, argument: str) -> None:
        if name in CODE_DIRECTIVES:
            language = name if name in CELLS else "pycon" if name == "doctest" else argument
            self.lines.append(f"{indent}```````{language}")
            self._open.append(Frame(mark, f"{indent}```````", "code"))
        elif name == "math":
            self.lines.append("$$")
            self._open.append(Frame(mark, "$$", "code"))
        else:
            self._open.append(Frame(mark, "", "rst" if name == "eval-rst" else "nothing"))
