"""Pictures of the content: which belong to it, and what is said of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from contentspider import Page, SiteLearner
from contentspider.ground.compression import pack_text, unpack_text
from contentspider.site.images import page_images, repeated_pictures
from contentspider.site.models.model import SiteModel
from tests.conftest import Site, read_jsonl, run
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.site.models.model import SiteModel as Model


def page(number: int, pictures: str = "", head: str = "", aside: str = "") -> str:
    return (
        f"<title>{prose(number, 'title', words=5)}</title>{head}<body><div class=top>"
        "<a href=/><img src=/flag.png width=300 height=90 alt=Flag> Home</a> <a href=/all>All</a>"
        f"</div><div class=text><h1>{prose(number, 'title', words=5)}</h1><p>{prose(number)}</p>"
        f"{pictures}<p>{prose(number, 2)}</p></div><div class=also><a href=/x>{aside}Also</a></div>"
    )


@pytest.fixture(scope="module")
def model() -> Model:
    pages = [Page.from_html(page(number), f"http://e.org/{number}") for number in range(12)]
    return SiteLearner("e.org").fit(pages)


def found(model: Model, html: str) -> list[dict[str, Any]]:
    made = Page.from_html(html, "http://e.org/teas/99")
    return model.extract(made).images


def test_content_image_has_alt_caption_and_size(model: Model) -> None:
    figure = (
        "<figure><img src=../cup.jpg width=640 height=480px alt='A  cup'>"
        "<figcaption>Tea in Bath</figcaption></figure>"
    )
    assert found(model, page(99, figure)) == [
        {
            "url": "http://e.org/cup.jpg",
            "alt": "A cup",
            "caption": "Tea in Bath",
            "width": 640,
            "height": 480,
            "large": True,
            "confidence": pytest.approx(1, abs=0.5),
        }
    ]


@pytest.mark.parametrize(
    ("picture", "size"),
    [
        ("<img src=/a.png>", (None, None, None)),
        ("<img src=/a-300x200.png>", (300, 200, True)),
        ("<img src=/a.png width=100 height=100>", (100, 100, False)),
        ("<img src=/a.png width=50%>", (None, None, None)),
        ("<img data-src=/a.png src='data:image/gif;base64,AA' width=640>", (640, None, None)),
    ],
)
def test_image_size_is_read_from_markup_or_file_name(
    model: Model, picture: str, size: tuple[int | None, int | None, bool | None]
) -> None:
    [image] = found(model, page(99, f"<p>{prose('beside')} {picture}</p>"))
    assert image["url"].startswith("http://e.org/a")
    assert (image["width"], image["height"], image["large"]) == size


@pytest.mark.parametrize(
    "picture",
    [
        "<img src=/flag.png width=300 height=90 alt=Flag>",  # on all pages
        "<img src=/images/smilies/happy.gif alt=':)'>",
        "<img src=/site-logo.svg alt=Logo>",
        "<img src=/dot.png width=20 height=20 alt=Dot>",
        "<img src='data:image/png;base64,AA' alt=x>",
        "<img src='javascript:alert(1)' alt=x>",
        "<img src='index.html' alt=x>",
    ],
)
def test_decorative_images_are_left_out(model: Model, picture: str) -> None:
    assert found(model, page(99, f"<p>{prose('beside')} {picture}</p>")) == []


def test_images_outside_content_are_left_out_except_og_image(model: Model) -> None:
    aside = "<img src=/other.jpg alt=Other>"
    assert found(model, page(99, aside=aside)) == []
    head = "<meta property=og:image content=/other.jpg>"
    [image] = found(model, page(99, head=head, aside=aside))
    assert image["url"] == "http://e.org/other.jpg"


def test_each_image_is_listed_once_in_document_order(model: Model) -> None:
    pictures = "".join(f"<p>{prose(n)} <img src=/{n % 2}.jpg></p>" for n in range(4))
    assert [image["url"][-5:] for image in found(model, page(99, pictures))] == ["0.jpg", "1.jpg"]


def test_images_repeated_on_many_pages_are_template_images() -> None:
    pages = [Page.from_html(page(number), str(number)) for number in range(12)]
    assert len(repeated_pictures(pages)) == 1
    assert not repeated_pictures(pages[:2])


def test_model_stores_template_images_and_older_models_load(model: Model) -> None:
    again = SiteModel.parse(model.manifest(), model.dump_weights())
    assert again.pictures == model.pictures != frozenset()
    assert again.version == model.version
    record = json.loads(model.dump_weights())
    del record["pictures"]
    assert SiteModel.parse(model.manifest(), json.dumps(record).encode()).pictures == frozenset()


def test_stored_pages_without_image_sizes_load() -> None:
    made = Page.from_html("<p>a <img src=/a.png alt=x width=90>")
    record = json.loads(unpack_text(made.dump()))
    assert record["content"]["images"] == [[0, 1, "/a.png", "x", 90, 0]]
    record["content"]["images"] = [[0, 1, "/a.png", "x"]]
    [block] = Page.load(pack_text(json.dumps(record))).content.blocks
    assert block.images == ((1, "/a.png", "x", 0, 0),)


def test_items_contain_images_only_if_requested(site: Site, tmp_path: Path) -> None:
    for number in range(12):
        links = "".join(f"<a href=/{one}>{one}</a> " for one in range(1, 12))
        picture = f"<p><img src=/{number}.jpg alt='Cup {number}'> {prose('beside', number)}</p>"
        site.add(f"/{number or ''}", page(number, picture, aside=links))
    asked = ("-s", "CONTENTSPIDER_IMAGES=True")
    run("crawl", f"{site.url}/", "--own-site", *asked, "-o", "pages.jsonl", cwd=tmp_path)
    shown = {str(item["url"]): item["images"] for item in read_jsonl(tmp_path / "pages.jsonl")}
    assert shown.keys() == {f"{site.url}/{number or ''}" for number in range(12)}
    for url, images in shown.items():
        number = url.rpartition("/")[2] or "0"
        assert [image["url"] for image in images] == [f"{site.url}/{number}.jpg"]  # type: ignore[attr-defined]
    again = tmp_path / "again"
    again.mkdir()
    run("crawl", f"{site.url}/", "--own-site", "-o", "pages.jsonl", cwd=again)
    assert all(item["images"] == [] for item in read_jsonl(again / "pages.jsonl"))


LEAD = "<img src=/lead.jpg width=640 height=480>"


@pytest.mark.parametrize(
    ("figure", "listed"),
    [
        (f"<figure>{LEAD}<figcaption>A cup</figcaption></figure>", True),
        (f"<div class=lead-photo><div>{LEAD}</div><p>A cup</p></div>", True),
        (f"<div class=lead><div>{LEAD}</div><p>A cup</p></div>", False),  # called nothing
        (f"<figure>{LEAD}<figcaption><a href=/x>Another page</a></figcaption></figure>", False),
        (f"<figure>{LEAD}<figcaption>{'A cup of tea. ' * 40}</figcaption></figure>", False),
        (
            "<figure><img src=/lead.jpg width=99 height=99><figcaption>A cup</figcaption></figure>",
            False,
        ),
        (
            "<figure><img src=/lead.jpg><figcaption>A cup</figcaption></figure>",
            False,  # of unknown size
        ),
    ],
)
@pytest.mark.parametrize("is_in_article", [True, False])
def test_large_picture_in_article_is_listed_without_its_caption(
    figure: str, listed: bool, is_in_article: bool
) -> None:
    text = f"<p>{prose(1)}</p><p>{prose(2)}</p>"
    inside, outside = (figure, "") if is_in_article else ("", figure)
    made = Page.from_html(
        f"<body><div><div><article><h1>Tea</h1>{inside}{text}</article></div>"
        f"<div><h2>More</h2>{outside}</div></div>",
        "http://e.org/",
    )
    blocks = made.content.blocks
    kept = np.array([block.text in (prose(1), prose(2), "Tea") for block in blocks])
    images = page_images(made, kept, kept.astype(float), frozenset())
    assert [image["url"] for image in images] == ["http://e.org/lead.jpg"] * (
        listed and is_in_article
    )
    assert all(image["caption"] in ("A cup", "") for image in images)
    nothing = np.zeros(len(blocks), dtype=bool)
    assert page_images(made, nothing, nothing.astype(float), frozenset()) == []
