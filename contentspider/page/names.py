"""What the tags, ids and classes above a block call it: features of a selector path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Words that designers use for the parts of a page, whatever the language of its text. After the
# lists of boilerplate names in Zhou and Mashuq and in the readability family, grouped by what they
# mean.
NAME_WORDS: dict[str, str] = {
    "comment": (
        "comment comments commentlist commenter disqus respond responses replies reply fb-comments"
    ),
    "nav": (
        "nav navigation navbar menu menus submenu breadcrumb breadcrumbs crumbs pager pagination"
        " sitemap tabs dropdown megamenu"
    ),
    "move": "next prev previous older newer nextprev pagenav",
    "footer": "footer foot bottom copyright legal colophon contentinfo",
    "header": "header head top masthead logo topbar branding",
    "side": (
        "side sidebar aside rail right left secondary tertiary complementary col2 colright leftcol"
        " rightcol"
    ),
    "widget": "widget widgets module box panel block gadget",
    "related": (
        "related recommended recommend recommendations similar more also popular trending latest"
        " recent most morefrom upnext suggested"
    ),
    "share": (
        "share shares sharing sharebar social facebook twitter tweet follow like addthis sharethis"
        " sharedaddy whatsapp pinterest linkedin"
    ),
    "meta": (
        "meta byline date time published posted info timestamp dateline datetime entry-meta"
        " postmeta details datepublished"
    ),
    "author": "author authors bio about profile avatar writer contributor vcard",
    "content": (
        "content article articlebody body entry text story copy prose markdown richtext bodytext"
        " storytext articletext mw"
    ),
    "main": "main page single primary center maincontent pagecontent blog",
    "post": "post hentry blogpost postbody posting",
    "title": "title headline heading hed name h1 pagetitle",
    "lead": (
        "lead intro subtitle summary deck dek standfirst teaser excerpt abstract description sub"
        " subhead"
    ),
    "ad": (
        "ad ads advert advertisement advertising sponsor sponsored sponsors promo promotion banner"
        " dfp gpt adsense outbrain taboola adslot advertise"
    ),
    "cookie": "cookie cookies gdpr consent privacy notice",
    "overlay": (
        "modal popup overlay dialog alertdialog lightbox tooltip offcanvas drawer alert toast"
    ),
    "toc": "toc contents outline tableofcontents index summary",
    "caption": (
        "caption captions figure figcaption gallery image images img photo photos video media"
        " credit slideshow slide slider thumb thumbnail wp-caption"
    ),
    "tag": "tag tags tagcloud category categories cat topics keywords keyword taxonomy filed terms",
    "form": (
        "form login search subscribe newsletter signup register input email contact searchform"
        " field"
    ),
    "code": (
        "code highlight prettyprint source snippet hljs syntax gist line language codehilite prism"
    ),
    "list": "list listing archive archives items item grid card cards feed loop results result row",
    "product": "product price shop cart spec specs buy sku variant products",
    "quote": "quote blockquote pullquote quotes",
    "hidden": (
        "hidden hide sr screen reader visually skip print noprint invisible collapse offscreen"
    ),
    "forum": (
        "topic thread message messages answer answers question forum forums bbp replies discussion"
    ),
    "tool": (
        "toolbar tool tools button buttons btn action actions edit editsection actionbar controls"
        " options settings permalink anchor"
    ),
    "recipe": "recipe ingredients ingredient instructions directions step steps nutrition",
    "note": "note notes footnote footnotes references reference reflist citation bibliography",
}
NAME_GROUPS: list[str] = list(NAME_WORDS)
GROUPS_OF: dict[str, list[int]] = {}
for _index, _words in enumerate(NAME_WORDS.values()):
    for _word in _words.split():
        GROUPS_OF.setdefault(_word, []).append(_index)

LEAF_TAGS = (
    "p li td th h1 h2 h3 h4 h5 h6 div pre blockquote dt dd figcaption caption button section"
    " article main center address form other".split()
)
ANCESTOR_TAGS = (
    "li ul ol table td nav footer header aside article main section form figure blockquote dl pre"
    " details button center dialog label"
).split()

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
STEP_TAG = re.compile(r"[^#.\[]+")
STEP_PARTS = re.compile(r"[#.\[]([^#.\[\]]+)")


def step_tag(step: str) -> str:
    """Return the tag of one step of a selector path."""
    found = STEP_TAG.match(step)
    return found[0] if found else ""


def name_groups(step: str) -> set[int]:
    """Return the indexes in `NAME_GROUPS` of what the ids, classes and roles of *step* say."""
    groups: set[int] = set()
    for name in STEP_PARTS.findall(step):
        lower = name.lower()
        groups.update(GROUPS_OF.get(lower, ()))
        for word in WORD.findall(name):
            groups.update(GROUPS_OF.get(word.lower(), ()))
    return groups


class PathNames:
    """Feature rows of selector paths, computed once a path."""

    def __init__(self) -> None:
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._steps: dict[str, set[int]] = {}

    def _groups(self, step: str) -> set[int]:
        groups = self._steps.get(step)
        if groups is None:
            groups = self._steps[step] = name_groups(step)
        return groups

    def row(self, path: str) -> NDArray[np.float32]:
        """Return the tag and name features of the path: leaf tag, tags above, names own, near and
        far.
        """
        row = self._rows.get(path)
        if row is None:
            row = self._rows[path] = self._compute(path)
        return row

    def _compute(self, path: str) -> NDArray[np.float32]:
        steps = path.split("/")
        tags = [step_tag(step) for step in steps]
        leaf = np.zeros(len(LEAF_TAGS), dtype=np.float32)
        leaf[LEAF_TAGS.index(tags[-1]) if tags[-1] in LEAF_TAGS else -1] = 1
        above = np.array([tags[:-1].count(tag) for tag in ANCESTOR_TAGS], dtype=np.float32)
        places = np.zeros((3, len(NAME_GROUPS)), dtype=np.float32)
        for distance, step in enumerate(reversed(steps)):
            place = 0 if distance == 0 else 1 if distance <= 2 else 2
            for group in self._groups(step):
                # Far names carry how far: the innermost says most.
                if not places[place, group]:
                    places[place, group] = 1 if place < 2 else 1 / (distance - 2)
        return np.concatenate([leaf, above, places.ravel()])
