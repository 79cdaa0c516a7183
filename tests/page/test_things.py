"""The facts of events, recipes and places that pages state, in all the shapes that sites write."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from contentspider.page.input.fields_file import FieldsFile
from contentspider.page.input.page import Page


def script(*entries: object) -> str:
    scripts = (json.dumps(entry) for entry in entries)
    return "".join(f'<script type="application/ld+json">{text}</script>' for text in scripts)


def read(html: str, *presets: str) -> dict[str, Any]:
    names = ", ".join(f'"{preset}"' for preset in presets)
    file = FieldsFile.parse(f"preset = [{names}]")
    own = Page.from_html(html, "https://e.org/", fields_file=file).own
    assert own is not None
    return dict(own.values)


EVENT = {
    "@type": "Event",
    "name": "Harbour day",
    "startDate": "2031-06-01T10:00:00+02:00",
    "endDate": "June 2, 2031",
    "location": {
        "@type": "Place",
        "name": "Old quay",
        "address": {
            "@type": "PostalAddress",
            "streetAddress": "Quay Road 5",
            "postalCode": "0150",
            "addressLocality": "Oslo",
            "addressCountry": {"@type": "Country", "name": "Norway"},
        },
    },
    "offers": [{"@type": "Offer", "price": "1,250.50"}, {"@type": "Offer", "price": 3}],
}
FACTS = {
    "name": "Harbour day",
    "start": "2031-06-01T10:00:00+02:00",
    "end": "2031-06-02",
    "place": "Old quay",
    "address": "Quay Road 5, 0150 Oslo, Norway",
    "price": 1250.5,
}


@pytest.mark.parametrize(
    "entries",
    [
        [EVENT],
        [[{"@type": "WebSite", "name": "Harbour"}, EVENT]],
        [{"@graph": [{"@type": "WebPage"}, {"@graph": [EVENT]}]}],
        [{"@type": "WebPage", "mainEntity": EVENT | {"@type": ["Thing", "MusicEvent"]}}],
        [EVENT | {"@type": "https://schema.org/Festival"}],
        [EVENT | {"location": {"@id": "#quay"}}, EVENT["location"] | {"@id": "#quay"}],  # type: ignore[operator]
        [EVENT | {"name": "Another day", "startDate": "2032-01-01"}, EVENT],
    ],
)
def test_facts_of_events_are_read(entries: list[object]) -> None:
    assert read("<title>Harbour day</title>" + script(*entries), "event") == FACTS


@pytest.mark.parametrize(
    ("location", "facts"),
    [
        ("Old quay, Oslo", {"place": "Old quay, Oslo"}),
        (
            {"name": "Quay", "address": "Road 5,\n , Oslo"},
            {"place": "Quay", "address": "Road 5, Oslo"},
        ),
        ({"@type": "VirtualLocation", "url": "https://e.org/x"}, {"place": "https://e.org/x"}),
        ([{"name": "Quay"}, {"name": "Online"}], {"place": "Quay"}),
        (None, {}),
        ({"address": {"streetAddress": None, "addressLocality": "Oslo"}}, {"address": "Oslo"}),
    ],
)
def test_locations_are_read_in_all_shapes(location: object, facts: dict[str, str]) -> None:
    assert read(script({"@type": "Event", "location": location}), "event") == facts


def test_one_of_several_events_is_no_fact_of_the_page() -> None:
    others = script(EVENT, EVENT | {"name": "Another day"})
    assert read("<title>All events</title>" + others, "event") == {}


def test_subject_that_is_stated_twice_has_the_facts_of_both() -> None:
    title, first = "<title>All about it</title>", {"@type": "Event", "name": "Harbour day"}
    assert read(title + script(first, EVENT), "event") == FACTS


def test_json_with_errors_is_read_as_far_as_it_goes() -> None:
    broken = script(EVENT).replace("}}", "},}").replace("{", "{ /* a comment */", 1)
    assert read(broken, "event") == FACTS
    assert read(script(EVENT)[:-60], "event") == {}


RECIPE = {
    "@type": "Recipe",
    "name": "Bread",
    "recipeIngredient": ["500 g flour", "&frac12; cup <b>water</b>", "500 g flour", ""],
    "recipeInstructions": [
        {"@type": "HowToStep", "name": "Mix", "text": "Mix it &amp; wait."},
        {"@type": "HowToStep", "name": "Bake it.", "image": {"@type": "ImageObject", "url": "/a"}},
    ],
    "recipeYield": ["2", "2 loaves"],
    "totalTime": "pt1h30m",
}
BREAD = {
    "ingredients": ["500 g flour", "½ cup water"],
    "steps": ["Mix it & wait.", "Bake it."],
    "yield": "2 loaves",
    "total_time": "PT1H30M",
}


def test_facts_of_recipes_are_read() -> None:
    assert read(script(RECIPE), "recipe") == BREAD


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("Mix.\n\nBake.", ["Mix.", "Bake."]),
        ("<p>Mix.</p><ol><li>Bake.<li>Eat.</ol>", ["Mix.", "Bake.", "Eat."]),
        ("&lt;p&gt;Mix.&lt;/p&gt;&lt;p&gt;Bake.&lt;/p&gt;", ["Mix.", "Bake."]),
        (["Mix.\nWell.", "Bake."], ["Mix. Well.", "Bake."]),
        (
            [
                {"@type": "HowToSection", "name": "Dough", "itemListElement": [{"text": "Mix."}]},
                {"@type": "HowToSection", "itemListElement": {"text": "Bake."}},
            ],
            ["Mix.", "Bake."],
        ),
        (
            {"@type": "ItemList", "itemListElement": [{"item": {"text": "Mix."}}, "Bake."]},
            ["Mix.", "Bake."],
        ),
        ([["Mix."], [["Bake."]]], ["Mix.", "Bake."]),
        ("Below 100 &lt; 200 degrees", ["Below 100 < 200 degrees"]),
        ([], None),
        (7, None),
    ],
)
def test_steps_are_read_in_all_shapes(steps: object, expected: list[str] | None) -> None:
    assert read(script(RECIPE | {"recipeInstructions": steps}), "recipe").get("steps") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT45M", "PT45M"),
        ("P0DT2H", "P0DT2H"),
        ("1 hour and 20 minutes", None),
        ("1 hour 20 minutes", "PT1H20M"),
        ("90 min", "PT90M"),
        ("2 Std.", "PT2H"),
        ("PT0M", None),
        ("PT", None),
        ("45", None),
        ("soon", None),
    ],
)
def test_durations_are_iso_8601(text: str, expected: str | None) -> None:
    assert read(script(RECIPE | {"totalTime": text}), "recipe").get("total_time") == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (4, "4"),
        ("4 servings", "4 servings"),
        (["4", "4 servings"], "4 servings"),
        ({"@type": "QuantitativeValue", "value": 4, "unitText": "plates"}, "4 plates"),
        ({"@type": "QuantitativeValue", "name": "4 plates"}, "4 plates"),
        ([], None),
    ],
)
def test_yields_are_read_in_all_shapes(stated: object, expected: str | None) -> None:
    assert read(script(RECIPE | {"recipeYield": stated}), "recipe").get("yield") == expected


def hours(days: object, opens: str = "09:00:00", closes: str = "17:00", **more: str) -> object:
    return {"dayOfWeek": days, "opens": opens, "closes": closes, **more}


@pytest.mark.parametrize(
    ("stated", "plain", "expected"),
    [
        ([], ["Mo-Fr 9-17", "Sa 9-12"], ["Mo-Fr 9-17", "Sa 9-12"]),
        ([], "Tuesday,Monday,Wednesday 09:00-17:00", ["Mo-We 09:00-17:00"]),
        (hours(["Monday", "Tuesday", "Wednesday", "Friday"]), "Su", ["Mo-We,Fr 09:00-17:00"]),
        (
            [hours("https://schema.org/Monday"), hours({"name": "Tuesday"}, "9:30"), hours("Sa")],
            "",
            ["Mo,Sa 09:00-17:00", "Tu 09:30-17:00"],
        ),
        ([hours("Mo"), hours("Su", "00:00", "00:00")], "", ["Mo 09:00-17:00"]),
        ([hours("Mo"), hours("Tu", validFrom="2031-12-24")], "", ["Mo 09:00-17:00"]),
        ([hours("Montag"), hours("Mo")], "Mo-Sa 8-9", ["Mo-Sa 8-9"]),
        (hours({"@id": "https://schema.org/Monday"}), "", ["Mo 09:00-17:00"]),
        (hours("Mo", "9:00 AM", "5:30 p.m."), "", ["Mo 09:00-17:30"]),
        (hours("Mo", "12:00am", "12:00PM"), "", ["Mo 00:00-12:00"]),
        (hours(None), "", ["09:00-17:00"]),
        ("closed", "", None),
    ],
)
def test_opening_hours_are_read_in_all_shapes(
    stated: object, plain: object, expected: list[str] | None
) -> None:
    place = {"@type": "Bakery", "openingHoursSpecification": stated, "openingHours": plain}
    assert read(script(place), "place").get("opening_hours") == expected


def test_facts_of_places_are_read() -> None:
    place = {
        "@type": ["Bakery", "LocalBusiness"],
        "address": "Quay Road 5, Oslo",
        "telephone": ["tel:+47 1234", "+47 99"],
        "geo": {"latitude": "59,91", "longitude": 10.75},
    }
    person = {"@type": "Person", "telephone": "+47 5555"}
    facts = {
        "address": "Quay Road 5, Oslo",
        "telephone": "+47 1234",
        "latitude": 59.91,
        "longitude": 10.75,
    }
    assert read(script({"@type": "WebSite"}, place, person), "place") == facts
    assert read(script(person), "place") == {}
    meta = "<meta property=place:location:latitude content=59.9>"
    assert read(meta + script({"@type": "Place", "geo": {"latitude": "93"}}), "place") == {
        "latitude": 59.9
    }


MICRODATA = """
<div itemscope itemtype="https://schema.org/Recipe"><h1 itemprop=name><a href=/b>Bread</a></h1>
<li itemprop=recipeIngredient>500 g <b>flour</b></li><li itemprop=recipeIngredient>water</li>
<time itemprop=totalTime datetime=PT1H30M>90 minutes</time><meta itemprop=recipeYield content=2>
<div itemprop="nutrition other" itemscope itemtype=https://schema.org/NutritionInformation>
<i itemprop=recipeYield>900</i></div>
<div itemprop=recipeInstructions itemscope itemtype=https://schema.org/HowToStep>
<p itemprop=text>Mix.<!-- not now --></p></div><div itemprop=recipeInstructions>Bake.</div></div>
"""


def test_microdata_is_read_after_json_ld() -> None:
    facts = {
        "ingredients": ["500 g flour", "water"],
        "steps": ["Mix.", "Bake."],
        "yield": "2",
        "total_time": "PT1H30M",
    }
    assert read(MICRODATA, "recipe") == facts
    stated = script({"@type": "Recipe", "recipeYield": "3 loaves"})
    assert read(stated + MICRODATA, "recipe") == facts | {"yield": "3 loaves"}
    assert read("<div itemscope>" * 100 + MICRODATA, "recipe") == facts
    empty = script({"@type": "Recipe", "recipeYield": {"@type": "QuantitativeValue"}})
    assert read(empty + MICRODATA, "recipe") == facts


@pytest.mark.parametrize("prefix", ["", "schema:", "http://schema.org/"])
def test_rdfa_lite_is_read_as_microdata_is(prefix: str) -> None:
    html = MICRODATA.replace("itemscope itemtype=", "typeof=").replace("itemprop=", "property=")
    for name in ("recipe", "name", "total", "property=steps"):
        html = html.replace(f"property={name}", f"property={prefix}{name}")
    assert read(f"<div vocab=https://schema.org/>{html}</div>", "recipe") == read(
        MICRODATA, "recipe"
    )


@pytest.mark.parametrize(
    "html",
    [
        "<body itemscope itemtype=https://schema.org/WebPage>{}",
        "<html itemscope itemtype=https://schema.org/WebPage><body>{}",
    ],
)
def test_main_entity_of_marked_page_is_read(html: str) -> None:
    product = (
        "<div itemprop=mainEntity itemscope itemtype=https://schema.org/Product>"
        "<p itemprop=sku>A1</p></div>"
    )
    assert read(html.format(product), "product") == {"sku": "A1"}


def test_properties_of_marked_root_are_read() -> None:
    html = "<html itemscope itemtype=https://schema.org/Product><meta itemprop=sku content=A1>"
    assert read(html, "product") == {"sku": "A1"}


def test_paragraphs_of_one_property_are_entries() -> None:
    steps = "<p>Mix <b>it</b>.<style>p {}</style></p><ol><li>Bake.</li></ol>Eat.<br>Sleep."
    html = (
        "<div itemscope itemtype=https://schema.org/Recipe>"
        f"<div itemprop=recipeInstructions>{steps}</div></div>"
    )
    assert read(html, "recipe") == {"steps": ["Mix it.", "Bake.", "Eat.", "Sleep."]}


def test_facts_of_several_presets_are_read_in_their_order() -> None:
    product = {"@type": "Product", "sku": "A1", "offers": {"price": 7}}
    assert read(script(EVENT, product), "event", "product") == FACTS | {"sku": "A1"}
    assert read(script(EVENT, product), "product", "event") == FACTS | {"sku": "A1", "price": 7.0}


def test_object_is_read_once_although_references_lead_to_it_often() -> None:
    product = {"@type": "Product", "offers": [{"@id": "offer"}] * 50}
    offer = {"@id": "offer", "priceSpecification": [{"@id": "price"}] * 50}
    prices = {"@id": "price", "price": [["none"] * 50] * 49 + [7]}
    place = {"@type": "Shop", "openingHoursSpecification": [{"@id": "days"}] * 200}
    days = {"@id": "days", **dict(hours([["Monday"] * 200] * 200))}
    start = time.process_time()
    facts = read(script(product, offer, prices, place, days), "product", "place")
    assert time.process_time() - start < 2
    assert facts == {"price": 7.0, "opening_hours": ["Mo 09:00-17:00"]}
