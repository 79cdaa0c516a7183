"""Pages of five templates, and the trees of visual units that a person draws on them.

A tree is a list of parts; a part is a CSS selector (the box around all that it matches), or a
selector with the parts in it.
"""

from __future__ import annotations

from typing import NamedTuple

Tree = list["str | tuple[str, Tree]"]
TEXT = "Tea is made of the leaves of a bush that grows in the hills of many countries. " * 5
BASE = "body{margin:0;font:16px/24px sans-serif;background:#fff;color:#222}p{margin:0 0 16px}"


class Drawn(NamedTuple):
    """A page with what a person draws on it."""

    name: str
    html: str
    tree: Tree


def _page(style: str, body: str) -> str:
    return f"<!doctype html><style>{BASE}{style}</style><body>{body}"


def _paragraphs(number: int) -> str:
    return f"<p>{TEXT}</p>" * number


def _blog(name: str, sections: int) -> Drawn:
    style = """
    header{background:#234;color:#fff;padding:20px 40px}header b{font-size:32px;line-height:40px}
    nav{background:#eee;padding:8px 40px}nav a{margin-right:20px}
    .wrap{display:flex;gap:40px;padding:30px 40px}main{width:900px}aside{width:300px}
    h1{font-size:36px;line-height:44px;margin:0 0 20px}
    h2{font-size:24px;line-height:32px;margin:32px 0 12px}
    .widget{background:#f4f4f4;padding:16px;margin-bottom:24px}
    .widget h3{margin:0 0 8px;font-size:18px}ul{margin:0;padding-left:20px}
    footer{background:#222;color:#ccc;padding:24px 40px;margin-top:40px}"""
    parts = "".join(
        f"<h2 id=h{n}>Part {n}</h2><div id=t{n}>{_paragraphs(2)}</div>" for n in range(sections)
    )
    html = _page(
        style,
        "<header><b>Leaves</b></header><nav><a>Home</a><a>Tea</a><a>About</a></nav>"
        f"<div class=wrap><main><h1>How tea is made</h1><p id=intro>{TEXT}</p>{parts}</main>"
        "<aside><div class=widget><h3>Recent</h3><ul><li>One<li>Two<li>Three</ul></div>"
        "<div class=widget><h3>Tags</h3><ul><li>Green<li>Black</ul></div></aside></div>"
        "<footer>Leaves, since 2001. <a>Imprint</a></footer>",
    )
    text: Tree = ["h1", "#intro"]
    text += [part for n in range(sections) for part in (f"#h{n}", f"#t{n} p")]
    return Drawn(name, html, ["header", "nav", ("main > *, #t0 p", text), ".widget", "footer"])


def _listing(name: str, entries: int, has_ad: bool) -> Drawn:
    style = """
    #top{height:60px;background:#b00;color:#fff}#top b{font-size:28px;line-height:60px;margin:20px}
    #menu{background:#333;color:#fff}#menu span{margin:0 16px}
    #left{float:left;width:1000px;padding:20px}.card{border-bottom:1px solid #ccc;padding:16px 0}
    .card h2{margin:0;font-size:22px}.card p{margin:4px 0 0}
    #ads{float:right;width:300px;margin:40px 20px;background:#ffd;height:250px}
    #end{clear:both;background:#ddd;padding:30px}"""
    cards = f"<div class=card><h2>News of tea</h2><p>{TEXT}</p></div>" * entries
    ad = "<div id=ads>Buy tea here</div>" if has_ad else ""
    html = _page(
        style,
        "<div id=top><b>The Daily Leaf</b></div>"
        "<div id=menu><span>Home</span><span>Tea</span></div>"
        f"<div id=left>{cards}</div>{ad}<div id=end>Contact, imprint</div>",
    )
    tree: Tree = ["#top", "#menu", ".card", *(["#ads"] if has_ad else []), "#end"]
    return Drawn(name, html, tree)


def _manual(name: str, sections: int) -> Drawn:
    style = """
    #side{position:absolute;left:0;top:0;width:260px;height:1000px;background:#f0f0f0}
    #side ul{list-style:none;margin:0;padding:20px}
    #doc{margin-left:320px;width:800px;padding:40px 0}h1{margin:0 0 24px;font-size:32px}
    h2{margin:40px 0 16px;font-size:24px}pre{background:#272822;color:#fff;padding:16px;margin:0}
    #toc{position:absolute;left:1200px;top:40px;width:200px}#toc ul{padding-left:16px;margin:0}"""
    links = "".join(f"<li><a>Chapter {n}</a></li>" for n in range(8))
    parts = "".join(
        f"<h2 id=h{n}>Step {n}</h2><p id=p{n}>{TEXT}</p><pre id=c{n}>make tea\nmake cup</pre>"
        for n in range(sections)
    )
    html = _page(
        style,
        f"<div id=side><ul>{links}</ul></div><div id=doc><h1>Manual</h1>"
        f"<p id=intro>{TEXT}</p>{parts}</div>"
        "<div id=toc><ul><li>Step 0</li><li>Step 1</li></ul></div>",
    )
    text: Tree = ["h1", "#intro"]
    text += [part for n in range(sections) for part in (f"#h{n}", f"#p{n}", f"#c{n}")]
    return Drawn(name, html, ["#side", ("#doc > *", text), "#toc li"])


def _forum(name: str, posts: int) -> Drawn:
    style = """
    #bar{background:#468;color:#fff;padding:12px}#crumbs{padding:12px;font-size:13px}
    h1{margin:0 12px 20px;font-size:30px;line-height:40px}
    .post{display:flex;border:1px solid #aaa;margin:0 12px 40px}
    .who{width:200px;background:#e8eef4;padding:12px}.said{flex:1;padding:12px}
    #reply{background:#ffe;padding:20px;margin:0 12px}#foot{padding:40px 12px;font-size:12px}"""
    one = f"<div class=who>Ann<br>120 posts</div><div class=said>{_paragraphs(2)}</div>"
    html = _page(
        style,
        "<div id=bar>Tea forum</div><div id=crumbs><a>Forum</a> / <a>Green</a></div>"
        "<h1>Which pot is best?</h1>"
        f"<div id=posts>{f'<div class=post>{one}</div>' * posts}</div>"
        "<div id=reply>Write a reply</div><div id=foot>Run by tea friends</div>",
    )
    return Drawn(name, html, ["#bar", "#crumbs", "h1", ".post", "#reply", "#foot"])


def _shop(name: str, others: int) -> Drawn:
    style = """
    #head{border-bottom:3px solid #063;padding:24px}#head b{font-size:26px}
    #product{display:flex;gap:60px;padding:40px}#photo{width:500px;height:400px;background:#9b8}
    #facts{width:600px}#facts h1{margin:0 0 12px;font-size:34px;line-height:44px}
    #facts .price{font-size:26px;margin:0 0 24px;color:#900}
    #about{background:#fafafa;padding:40px;margin:0 40px 50px}
    #more{display:flex;gap:20px;padding:0 40px}.item{width:300px;background:#eef;padding:10px}
    #foot{background:#063;color:#fff;padding:40px;margin-top:60px}"""
    html = _page(
        style,
        "<div id=head><b>Pots</b></div><div id=product><div id=photo>Photo</div>"
        "<div id=facts><h1>Red pot</h1><p class=price>12 euros</p>"
        f"<p id=text>{TEXT}</p></div></div>"
        f"<div id=about>{_paragraphs(3)}</div>"
        f"<div id=more>{'<div class=item><h3>Pot</h3><p>5 euros</p></div>' * others}</div>"
        "<div id=foot>Pots and more</div>",
    )
    facts: Tree = ["#facts h1", ".price", "#text"]
    tree: Tree = ["#head", "#photo", ("#facts > *", facts), "#about", "#more > *", "#foot"]
    return Drawn(name, html, tree)


DRAWN = [
    _blog("blog, short", 1),
    _blog("blog, long", 3),
    _listing("news with an advertisement", 6, True),
    _listing("news without", 4, False),
    _manual("manual, short", 1),
    _manual("manual, long", 2),
    _forum("forum of two posts", 2),
    _forum("forum of five posts", 5),
    _shop("shop with two others", 2),
    _shop("shop with four others", 4),
]
