"""The fields of presets: the facts of products, events, recipes and places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.things import EVENT, PLACE, PRODUCT, RECIPE
from contentspider.page.input.own_values import DATE, META, NUMBER, TEXT, THING

if TYPE_CHECKING:
    from collections.abc import Mapping


class PresetField(NamedTuple):
    """A field of a preset: its *name* and the type of its values (*kind*).

    *metas* are the names of meta elements, which are read if no object of the page has the fact.
    *many* and *learns* have the same meaning as in `contentspider.page.input.fields_file.OwnField`.
    """

    name: str
    kind: str = TEXT
    metas: tuple[str, ...] = ()
    many: bool = False
    learns: bool = False

    def selectors(self, preset: str) -> tuple[tuple[str, str], ...]:
        """Return the selectors of the field in the preset with this name."""
        return ((THING, f"{preset}.{self.name}"), *((META, name) for name in self.metas))


# Currency and availability are not learned: pages state "EUR" and "InStock", but show other words.
PRESETS: Mapping[str, tuple[PresetField, ...]] = {
    PRODUCT: (
        PresetField("price", NUMBER, ("product:price:amount", "og:price:amount"), learns=True),
        PresetField("currency", TEXT, ("product:price:currency", "og:price:currency")),
        PresetField("sku", learns=True),
        PresetField("brand", TEXT, ("product:brand",), learns=True),
        PresetField("availability"),
        PresetField("rating", NUMBER, learns=True),
    ),
    EVENT: (
        PresetField("name"),
        PresetField("start", DATE, ("event:start_time",)),
        PresetField("end", DATE, ("event:end_time",)),
        PresetField("place"),
        PresetField("address"),
        PresetField("price", NUMBER),
    ),
    RECIPE: (
        PresetField("ingredients", many=True),
        PresetField("steps", many=True),
        PresetField("yield"),
        PresetField("total_time"),
    ),
    PLACE: (
        PresetField("address"),
        PresetField("telephone", TEXT, ("business:contact_data:phone_number",)),
        PresetField("opening_hours", many=True),
        PresetField("latitude", NUMBER, ("place:location:latitude", "og:latitude")),
        PresetField("longitude", NUMBER, ("place:location:longitude", "og:longitude")),
    ),
}
