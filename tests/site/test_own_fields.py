"""A user's own fields: by selectors, or learned from two or three examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from contentspider.ground.errors import FieldsError
from contentspider.page.input.fields_file import FieldsFile
from contentspider.page.input.own_values import MAX_LIST, typed
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import own_values, page_fields
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.site.fields.own_fields import OwnKnowledge

PAGES = 24
MAKERS = ("Acme Works", "Bolt & Sons", "Cedar")
BODY = (
    "<title>Lamp {number}</title><meta name=shelf content='{shelf}'>"
    '<script type="application/ld+json">[{{"@type": "WebSite", "name": "Shop"}}, {{"@type":'
    ' "Product", "name": "Lamp {number}", "offers": [{{"price": "{price}.50"}}]}}]</script>'
    "<h1>Lamp {number}</h1><article>{text}</article>"
    "<div class=facts data-code=L-{number}><p>Price: {price},50 EUR incl. VAT</p>"
    "<p>Ships in {days} days</p><dl>{rows}</dl><p>Seen on {day}/{month}/2031</p></div>"
    "<div class=more><p>Price: 999,00 EUR incl. VAT</p><p>{other}</p></div>"
)
ROW = "<dt>{label}</dt><dd>{value}</dd>"


def html(number: int, rows: str | None = None) -> str:
    maker = ROW.format(label="Maker", value=MAKERS[number % 3])
    watts = ROW.format(label="Watts", value=f"{number % 5 + 3} W")
    return BODY.format(
        number=number,
        shelf=f"A{number}",
        price=100 + number,
        days=number % 4 + 1,
        day=number % 28 + 1,
        month=number % 12 + 1,
        other=prose("other", number, words=4),
        text="".join(f"<p>{prose(number, part)}</p>" for part in range(8)),
        # Some pages begin with another row.
        rows=rows if rows is not None else (watts + maker if number % 2 else maker + watts),
    )


def url(number: int) -> str:
    return f"https://e.org/{number}"


def read(text: str, number: int = 3) -> dict[str, Any]:
    own = Page.from_html(html(number), url(number), fields_file=FieldsFile.parse(text)).own
    assert own is not None
    return dict(own.values)


def learn(folder: Path, text: str) -> SiteModel:
    file = folder / "fields.toml"
    file.write_text(text, "utf-8")
    pages = [Page.from_html(html(number), url(number)) for number in range(PAGES)]
    return SiteLearner("e.org", LearningOptions(fields=str(file))).fit(pages)


def by_examples(name: str, kind: str, examples: dict[int, str]) -> str:
    lines = [f'{{url = "{url(number)}", value = "{value}"}}' for number, value in examples.items()]
    return f'[{name}]\ntype = "{kind}"\nexamples = [{", ".join(lines)}]\n'


def item(model: SiteModel, number: int = 40, **values: Any) -> dict[str, Any]:
    page = Page.from_html(html(number, **values), url(number))
    fields = page_fields(page, "e.org", model.extract(page), model.version)["fields"]
    assert isinstance(fields, dict)
    return fields


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ('css = ".facts p"', "Price: 103,50 EUR incl. VAT"),
        ('css = ".facts p"\ntype = "number"', 103.5),
        ('css = ".facts::attr(data-code)"', "L-3"),
        ("xpath = \"//dt[.='Maker']/following-sibling::dd[1]\"", "Acme Works"),
        ("xpath = \"substring-after(//h1, ' ')\"", "3"),
        ('json = "offers.price"\ntype = "number"', 103.5),
        ('json = "Product.name"', "Lamp 3"),
        ('json = "name"', "Shop"),
        ('meta = "Shelf"', "A3"),
    ],
)
def test_selectors_find_values(field: str, value: object) -> None:
    assert read(f"[it]\n{field}") == {"it": value}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ('css = "li"', ["No 2", "No 1", "none"]),
        ('css = "li"\ntype = "number"', [2.0, 1.0]),
        ('css = "p"', ["only"]),
        ('css = "h6"', None),
        ('meta = "Tag"', ["a", "b"]),
        ('json = "Product.color"', ["red", "blue"]),
    ],
)
def test_field_with_many_values_has_each_once_in_the_order_of_the_page(
    field: str, value: object
) -> None:
    body = (
        '<script type="application/ld+json">{"@type": "Product", "color": ["red", "blue", "red"]}'
        "</script><meta name=tag content=a><meta name=tag content=b><p>only</p>"
        "<ul><li>No 2</li><li>No  1</li><li>none</li><li>No 2</li></ul>"
    )
    file = FieldsFile.parse(f"[it]\nmany = true\n{field}")
    page = Page.from_html(body, fields_file=file)
    assert page.own is not None
    assert page.own.values.get("it") == value
    assert Page.load(page.dump()).own == page.own


def test_list_of_values_is_limited() -> None:
    file = FieldsFile.parse('it = {css = "b", many = true}')
    own = Page.from_html("".join(f"<b>{n}</b>" for n in range(MAX_LIST + 9)), fields_file=file).own
    assert own is not None
    values = own.values["it"]
    assert isinstance(values, list)
    assert len(values) == MAX_LIST


def test_page_without_value_of_the_type_lacks_the_field() -> None:
    assert read('[a]\ncss = "h6"\n[b]\ncss = "dt"\ntype = "number"\n[c]\ncss = "h1"') == {
        "c": "Lamp 3"
    }


def test_values_are_stored_with_the_page() -> None:
    file = FieldsFile.parse('a = {css = "h1"}\nb = {meta = "shelf", type = "text"}')
    page = Page.from_html(html(3), url(3), fields_file=file)
    assert page.own is not None
    assert Page.load(page.dump()).own == page.own
    assert page.own.digest == file.selectors_digest
    assert file.selectors_digest != FieldsFile.parse('a = {css = "h2"}').selectors_digest
    assert Page.from_html(html(3)).own is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "price",
        "price = 3",
        '[price]\ncss = "p["',
        '[price]\ncss = ""',
        '[price]\nxpath = "//p["',
        '[price]\nxpath = "unknown(p)"',
        "[price]\nxpath = \"//p[re:test(., '(')]\"",
        '[price]\njson = "a b"',
        '[price]\ncss = "p"\nmeta = "p"',
        '[price]\ntype = "number"',
        '[price]\ncss = "p"\ntype = "money"',
        '[price]\ncss = "p"\nregex = "p"',
        '[price]\ncss = "p"\nlearn = 1',
        '[price]\ncss = "p"\nmany = "yes"',
        '[price]\ncss = "p"\nmany = true\nlearn = true',
        by_examples("price", "text", {1: "1", 2: "2"}) + "many = true",
        by_examples("price", "text", {1: "1", 2: "2"}) + "learn = true",
        'preset = "book"',
        'preset = [["product"]]',
        '[preset]\ncss = ".preset"',
        '["my price"]\ncss = "p"',
        '[price]\nexamples = [{url = "https://e.org/1", value = "1"}]',
        '[price]\nexamples = [{url = "https://e.org/1", value = "1"}, {url = "https://e.org/2"}]',
        by_examples("price", "number", {1: "1 EUR", 2: "two"}),
        by_examples("day", "date", {1: "2024-01-02", 2: "3/4/2024"}),
        by_examples("twice", "text", {1: "1", 2: "2"}).replace("/2", "/1"),
        by_examples("twice", "text", {1: "1", 2: "2"}).replace(
            "https://e.org/2", "http://e.org/1/"
        ),
    ],
)
def test_broken_file_is_an_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(FieldsError, match=r"mine\.toml"):
        FieldsFile.load(file)


@pytest.mark.parametrize("call", ["re:test(., '(')", "re:test()", "re:test(., 'a{9999999999}')"])
def test_selector_that_fails_on_pages_loses_no_page(
    call: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = FieldsFile.parse(f'[bad]\nxpath = "//article[{call}]"\n[good]\ncss = "h1"')
    for number in (1, 2):
        own = Page.from_html(html(number), url(number), fields_file=file).own
        assert own is not None
        assert own.values == {"good": f"Lamp {number}"}
    (message,) = caplog.messages
    assert "bad" in message
    assert url(1) in message


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FieldsError, match=r"no\.toml"):
        FieldsFile.load(tmp_path / "no.toml")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        ("12,90 EUR", 12.9),
        ("$1,299.00", 1299.0),
        ("1.299,00 €", 1299.0),
        ("1 299,50 kr", 1299.5),
        ("1.299", 1299.0),
        ("0.125 l", 0.125),
        ("4 12 votes", 4.0),
        ("-3 °C", -3.0),
        ("2012-11", 2012.0),
        ("1.2.3", None),
        ("9" * 1_000, None),
        ("none", None),
    ],
)
def test_numbers_are_read(text: str, number: float | None) -> None:
    assert typed(text, "number") == number


@pytest.mark.parametrize(
    ("kind", "examples", "value"),
    [
        ("number", {1: "101,50", 2: "102.50 EUR", 5: "105,5"}, 140.5),
        ("text", {1: "101,50 EUR", 2: "102,50 EUR"}, "140,50 EUR"),
        ("text", {1: "Bolt & Sons", 2: "Cedar"}, "Bolt & Sons"),
        ("number", {1: "4", 2: "5", 3: "6"}, 3.0),
        ("text", {1: "lamp 1", 2: "LAMP 2"}, "Lamp 40"),
        ("date", {1: "2031-02-02", 2: "3 March 2031", 15: "2031-04-16"}, "2031-05-13"),
    ],
)
def test_places_are_learned_from_examples(
    kind: str, examples: dict[int, str], value: object, tmp_path: Path
) -> None:
    assert item(learn(tmp_path, by_examples("it", kind, examples))) == {"it": value}


def test_page_without_value_in_its_place_has_none(tmp_path: Path) -> None:
    model = learn(tmp_path, by_examples("maker", "text", {1: "Bolt & Sons", 2: "Cedar"}))
    assert item(model, rows=ROW.format(label="Colour", value="red")) == {}


@pytest.fixture(scope="module")
def doubted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OwnKnowledge]:
    """Return what examples with all kinds of mistakes teach."""
    text = "".join(
        by_examples(name, "text", examples)
        for name, examples in {
            "wrong": {1: "Bolt & Sons", 2: "Cedar", 5: "6 W"},
            "absent": {1: "Bolt & Sons", 2: "Cedar", 3: "Dune"},
            "unread": {1: "Bolt & Sons", 2: "Cedar", 99: "Acme Works"},
            "equal": {1: "Bolt & Sons", 4: "Bolt & Sons"},
            "apart": {1: "Bolt & Sons", 2: "5 W"},
        }.items()
    )
    model = learn(tmp_path_factory.mktemp("doubted"), text)
    return dict(model.own_fields)


@pytest.mark.parametrize(
    ("name", "named", "fitting"),
    [
        ("wrong", url(5), 2),
        ("absent", url(3), 2),
        ("unread", url(99), 2),
        ("equal", "different values", 0),
        ("apart", "no place", 0),
    ],
)
def test_wrong_examples_are_told(
    name: str, named: str, fitting: int, doubted: dict[str, OwnKnowledge]
) -> None:
    known = doubted[name]
    assert any(named in doubt for doubt in known.doubts)
    assert (known.fitting, bool(known.places)) == (fitting, bool(fitting))


def test_places_that_contradict_each_other_give_no_value(tmp_path: Path) -> None:
    """On both examples the first paragraph and the emphasised one have the value."""
    file = tmp_path / "fields.toml"
    file.write_text(by_examples("it", "text", {1: "Word 1", 2: "Word 2"}), "utf-8")
    body = "<title>{0}</title>{1}<p class=a>{2}</p><p>{0} is the page</p><div class=b>{3}</div>"

    def read_page(number: int) -> Page:
        text = "".join(f"<p>{prose(number, part)}</p>" for part in range(8))
        other = f"Word {number}" if number < 20 else f"Other {number}"
        first = f"Word {number}"
        return Page.from_html(body.format(number, text, first, other), url(number))

    pages = [read_page(number) for number in range(PAGES)]
    model = SiteLearner("e.org", LearningOptions(fields=str(file))).fit(pages)
    assert any("https://e.org/2" in doubt for doubt in model.own_fields["it"].doubts)
    values = [
        page_fields(page, "e.org", model.extract(page), model.version)["fields"] for page in pages
    ]
    assert values[5] == {"it": "Word 5"}
    assert values[21] == {}


def test_two_templates_are_learned_from_two_examples_of_each(tmp_path: Path) -> None:
    file = tmp_path / "fields.toml"
    examples = {number: f"Firm {number}" for number in range(1, 5)}
    file.write_text(by_examples("it", "text", examples), "utf-8")
    shown = ("<p>by</p><p class=firm>Firm {0}</p>", "<p>Maker: Firm {0} (old)</p>")

    def read_page(number: int) -> Page:
        text = "".join(f"<p>{prose(number, part)}</p>" for part in range(8))
        body = f"<title>Page {number}</title>{text}{shown[number % 2].format(number)}"
        return Page.from_html(body, url(number))

    options = LearningOptions(fields=str(file))
    model = SiteLearner("e.org", options).fit(map(read_page, range(PAGES)))
    for number in (40, 41):
        extraction = model.extract(read_page(number))
        fields = page_fields(extraction.page, "e.org", extraction, model.version)["fields"]
        assert fields == {"it": f"Firm {number}"}
    assert model.own_fields["it"].doubts == ()


def test_examples_of_other_sites_teach_nothing(tmp_path: Path) -> None:
    text = by_examples("it", "text", {1: "a", 2: "b"}).replace("e.org", "other.example")
    model = learn(tmp_path, text)
    assert model.own_fields == {}
    assert model.examples_digest == FieldsFile.parse(text).examples_digest


def test_new_model_keeps_what_it_could_not_learn_of_own_fields(tmp_path: Path) -> None:
    text = by_examples("maker", "text", {1: "Bolt & Sons", 2: "Cedar"})
    model = learn(tmp_path, text)
    pages = [Page.from_html(html(number), url(number)) for number in range(3, PAGES)]
    later = SiteLearner("e.org", LearningOptions(fields=str(tmp_path / "fields.toml"))).fit(pages)
    before = later.version
    assert item(later) == {}
    later.keep_own_fields(model)
    assert item(later) == {"maker": "Bolt & Sons"}
    assert later.version != before
    other = learn(tmp_path, by_examples("maker", "text", {1: "Bolt", 2: "Ced"}))
    other.keep_own_fields(model)
    assert item(other) == {}


PRODUCT = (
    '<script type="application/ld+json">{{"@type": "Product", "name": "Lamp {0}", "sku": "S{0}",'
    ' "brand": {{"name": "Acme"}}, "offers": {{"price": "{1}.50", "priceCurrency": "EUR",'
    ' "availability": "https://schema.org/InStock"}}}}</script>'
)


def lamp(number: int, stated: str = PRODUCT, price: int = 0) -> Page:
    """Return the page of a lamp, which shows its price and its number."""
    shown = html(number).partition("<script")[0] + html(number).partition("</script>")[2]
    shown = shown.replace("</h1>", f"</h1><p class=sku>Art. S{number}</p>")
    file = FieldsFile.parse('preset = "product"')
    stated = stated.format(number, price or 100 + number)
    return Page.from_html(stated + shown, url(number), fields_file=file)


def test_facts_of_products_are_read() -> None:
    own = lamp(3).own
    assert own is not None
    assert own.values == {
        "price": 103.5,
        "currency": "EUR",
        "sku": "S3",
        "brand": "Acme",
        "availability": "InStock",
    }


@pytest.mark.parametrize(
    ("products", "values"),
    [
        (1, {"price": 1.299, "sku": "A-1", "availability": "InStock"}),
        (2, {}),
    ],
)
def test_microdata_of_the_only_product_is_read(products: int, values: dict[str, Any]) -> None:
    item = (
        "<div itemscope itemtype=https://schema.org/Product><b itemprop=sku> A-1 </b><div"
        " itemprop=offers itemscope itemtype=https://schema.org/Offer><meta itemprop=price"
        " content=1.299><link itemprop=availability href=https://schema.org/InStock></div></div>"
    )
    file = FieldsFile.parse('preset = "product"')
    own = Page.from_html(item * products, fields_file=file).own
    assert own is not None
    assert own.values == values


def test_only_the_product_with_the_title_of_the_page_counts() -> None:
    others = PRODUCT.format(1, 7) + PRODUCT.format(2, 8)
    file = FieldsFile.parse('price = {json = "Product.offers.price", type = "number"}')
    for title, values in (("Lamp 2", {"price": 8.5}), ("All lamps", {})):
        own = Page.from_html(f"<title>{title}</title>{others}", fields_file=file).own
        assert own is not None
        assert own.values == values


def product_model(folder: Path, pages: list[Page]) -> SiteModel:
    (folder / "fields.toml").write_text('preset = "product"')
    options = LearningOptions(fields=str(folder / "fields.toml"))
    return SiteLearner("e.org", options).fit(pages)


def test_products_that_state_nothing_have_what_others_teach(tmp_path: Path) -> None:
    model = product_model(tmp_path, [lamp(number) for number in range(PAGES)])
    page = lamp(40, stated="")
    fields = page_fields(page, "e.org", model.extract(page), model.version)["fields"]
    assert fields == {"price": 140.5, "sku": "S40"}
    known = model.own_fields["price"]
    assert (known.stated, known.pages, known.fitting) == (PAGES, PAGES // 2, PAGES // 2)
    stating = lamp(40, price=7)
    fields = page_fields(stating, "e.org", model.extract(stating), model.version)["fields"]
    assert isinstance(fields, dict)
    assert fields["price"] == 7.5, "a statement comes first"


def crowded(number: int, stated: str = "", cost: str = "") -> Page:
    """Return a page with little prose, and with the headings and costs of thirty products."""
    products = "".join(
        f"<li><h3><a href=/{other}>Lamp {other}</a></h3><p class=cost>{90 + other},00 EUR</p></li>"
        for other in range(number + 1, number + 31)
    )
    shown = (
        f"<title>Lamp {number}</title><h1>Lamp {number}</h1>{cost}"
        f"<p>{prose('lamp', 1, words=60)}</p><ul>{products}</ul>"
    )
    file = FieldsFile.parse('preset = "product"')
    stated = stated.format(number, 100 + number)
    return Page.from_html(stated + shown, url(number), fields_file=file)


def test_products_that_look_like_listings_have_values_but_categories_have_none(
    tmp_path: Path,
) -> None:
    cost = "<p class=cost>{},50 EUR</p>"
    pages = [crowded(number, PRODUCT, cost.format(100 + number)) for number in range(PAGES)]
    model = product_model(tmp_path, pages)
    for page, values in ((crowded(40, cost=cost.format(140)), {"price": 140.5}), (crowded(41), {})):
        extraction = model.extract(page)
        assert extraction.page_type == "listing"
        assert own_values(page, extraction) == values


def test_listings_have_no_values_by_examples(tmp_path: Path) -> None:
    (tmp_path / "fields.toml").write_text(by_examples("cost", "number", {1: "101.50", 2: "102.50"}))
    cost = "<p class=cost>{},50 EUR</p>"
    pages = [crowded(number, cost=cost.format(100 + number)) for number in range(PAGES)]
    options = LearningOptions(fields=str(tmp_path / "fields.toml"))
    model = SiteLearner("e.org", options).fit(pages)
    assert model.own_fields["cost"].places
    assert own_values(pages[3], model.extract(pages[3])) == {}


def test_price_that_follows_an_earlier_price_is_learned(tmp_path: Path) -> None:
    def shown(number: int, cost: str, stated: str = PRODUCT) -> Page:
        return crowded(number, stated, f"<div class=cost>Price {cost} incl. VAT</div>")

    def cost(number: int) -> str:
        return f"€{130 + number}.00 now €{100 + number}.50" if number % 3 else f"€{100 + number}.50"

    model = product_model(tmp_path, [shown(number, cost(number)) for number in range(PAGES)])
    for number in (40, 42):
        page = shown(number, cost(number), "")
        assert own_values(page, model.extract(page)) == {"price": 100.5 + number}
    assert any("last number of" in str(place) for place in model.own_fields["price"].places)


def test_prices_that_pages_show_otherwise_teach_nothing(tmp_path: Path) -> None:
    pages = [lamp(number, price=300 if number % 4 else 0) for number in range(PAGES)]
    model = product_model(tmp_path, pages)
    assert model.own_fields["price"].places == ()
    assert model.own_fields["sku"].places


def test_file_of_an_example_that_is_missing_is_told(tmp_path: Path) -> None:
    text = by_examples("it", "text", {1: "a", 2: "b"}).replace("https://e.org/", "shop/lamps/")
    assert len(learn(tmp_path, text).own_fields["it"].doubts) > 1


def test_what_was_learned_is_saved_with_the_model(tmp_path: Path) -> None:
    model = learn(tmp_path, by_examples("maker", "text", {1: "Bolt & Sons", 2: "Cedar"}))
    model.save(tmp_path / "model")
    loaded = SiteModel.load(tmp_path / "model")
    assert loaded.own_fields == model.own_fields
    assert loaded.version == model.version
    assert item(loaded) == {"maker": "Bolt & Sons"}


def test_numbers_that_are_too_large_have_no_value() -> None:
    page = f"<p>Price</p><b>{'9' * 400}</b><b>12,90</b>"
    file = FieldsFile.parse('price = {css = "b", type = "number"}')
    own = Page.from_html(page, url(1), fields_file=file).own
    assert own is not None
    assert own.values == {"price": 12.9}
