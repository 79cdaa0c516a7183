#!/usr/bin/env bash
# Resiliparse's main content loses a text node of one kanji, kana, Hangul syllable or Thai letter.
#
# Versions: Resiliparse 2.0.1, CPython 3.11.7.
# Guess: the text of an inline element stays, whatever the length of the word and its script.
# Seen: with `main_content=True` a text node of one character is dropped if the character has three
#   bytes in UTF-8, in `<b>`, `<a>`, `<ruby>` or `<li>`, or between two elements. One Latin, Greek,
#   Cyrillic, Hebrew or Arabic letter (one or two bytes) stays, and so do a rare kanji of four bytes
#   and a word of two kanji. Without `main_content` all stay.
# Who meets it: extraction of Chinese, Japanese and Korean pages, where one character is a word, a
#   particle between two links, or the base of a ruby text: the sentence goes on without it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet resiliparse==2.0.1
"$folder/venv/bin/python" - <<'PYTHON'
from resiliparse.extract.html2text import extract_plain_text

TEXT = "<p>The kettle is filled with cold water and stands on the stove until it begins to sing.</p>"


def read(sentence, main_content=True):
    html = f"<body><main><article>{TEXT * 5}<p>{sentence}</p>{TEXT * 5}</article></main></body>"
    lines = extract_plain_text(html, main_content=main_content).split("\n")
    return [line.strip() for line in lines if line.strip() and "kettle" not in line]


KEPT = ["x", "é", "π", "я", "א", "ع", "𠮷", "緑茶"]
LOST = ["茶", "も", "차", "ช"]
words = {word: read(f"one <b>{word}</b> two") for word in KEPT + LOST}
PARTICLE = "<a href='/sencha'>煎茶</a>と<a href='/matcha'>抹茶</a>"
RUBY = "<ruby>茶<rt>ちゃ</rt></ruby>"
seen = {html: (read(html), read(html, main_content=False)) for html in (PARTICLE, RUBY)}
print(words)
print(seen)
assert all(words[word] == [f"one {word} two"] for word in KEPT), words
assert all(words[word] == ["one two"] for word in LOST), words
assert seen[PARTICLE] == (["煎茶抹茶"], ["煎茶と抹茶"]), seen
assert seen[RUBY] == (["ちゃ"], ["茶ちゃ"]), seen
PYTHON
