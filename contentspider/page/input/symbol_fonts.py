"""The characters of texts in symbol fonts, such as Wingdings, where a tick has the code of ``ü``.

The codes are those of Unicode's mappings of these fonts. Of their signs, these are the common ones,
some as the characters that people search and fonts have: a tick box is U+2611, not U+1F5F9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PRIVATE = 0xF000  # Word writes the codes of symbol fonts from here on, or as they are


def _table(text: str) -> dict[int, str]:
    return {int(entry[:2], 16): entry[2:] for entry in text.split()}


FONTS = {
    "wingdings": _table(
        "21✏ 22✂ 28☎ 29✆ 2A✉ 36⌛ 37⌨ 3F✍ 41✌ 43👍 44👎 45☜ 46☞ 47☝ 48☟ 49✋ 4A☺ 4C☹ 4E☠ 51✈ 52☼"
        " 54❄ 58✠ 59✡ 5A☪ 5B☯ 6C● 6D❍ 6E■ 6F□ 70□ 71❑ 72❒ 73⬧ 74⧫ 75◆ 76❖ 77⬥ 78⌧ 7A⌘ 7B❀ 7C✿ 7D❝"
        " 7E❞ 80⓪ 81① 82② 83③ 84④ 85⑤ 86⑥ 87⑦ 88⑧ 89⑨ 8A⑩ 8C❶ 8D❷ 8E❸ 8F❹ 90❺ 91❻ 92❼ 93❽ 94❾ 95❿"
        " 9E· 9F• A1○ A4◉ A5◎ A7▪ A8☐ AA✦ AB★ AC✶ AD✴ AE✹ B5✪ B6✰ D5⌫ D6⌦ D8➢ DC➲ DF← E0→ E1↑ E2↓"
        " E3↖ E4↗ E5↙ E6↘ E7⬅ E8➔ E9⬆ EA⬇ EF⇦ F0⇨ F1⇧ F2⇩ F3⬄ F4⇳ FB✗ FC✓ FD☒ FE☑"
    ),
    "wingdings 2": _table("4F✗ 50✓ 51☒ 52☑ 53☒ 54☒ 96• 97● 98● 99○ A1■ A2■ A3☐"),
    "wingdings 3": _table("70▲ 71▼ 72△ 73▽ 74◀ 75▶ 76◁ 77▷ 7D▶"),
    "symbol": _table(
        "21! 22∀ 23# 24∃ 25% 26& 27∍ 28( 29) 2A* 2B+ 2C, 2D− 2E. 2F/ 300 311 322 333 344 355 366"
        " 377 388 399 3A: 3B; 3C< 3D= 3E> 3F? 40≅ 41Α 42Β 43Χ 44Δ 45Ε 46Φ 47Γ 48Η 49Ι 4Aϑ 4BΚ 4CΛ"
        " 4DΜ 4EΝ 4FΟ 50Π 51Θ 52Ρ 53Σ 54Τ 55Υ 56ς 57Ω 58Ξ 59Ψ 5AΖ 5B[ 5C∴ 5D] 5E⊥ 5F_ 60‾ 61α 62β"
        " 63χ 64δ 65ε 66φ 67γ 68η 69ι 6Aϕ 6Bκ 6Cλ 6Dμ 6Eν 6Fο 70π 71θ 72ρ 73σ 74τ 75υ 76ϖ 77ω 78ξ"
        " 79ψ 7Aζ 7B{ 7C| 7D} 7E~ A0€ A1ϒ A2′ A3≤ A4⁄ A5∞ A6ƒ A7♣ A8♦ A9♥ AA♠ AB↔ AC← AD↑ AE→ AF↓"
        " B0° B1± B2″ B3≥ B4× B5∝ B6∂ B7• B8÷ B9≠ BA≡ BB≈ BC… BF↵ C0ℵ C1ℑ C2ℜ C3℘ C4⊗ C5⊕ C6∅ C7∩"
        " C8∪ C9⊃ CA⊇ CB⊄ CC⊂ CD⊆ CE∈ CF∉ D0∠ D1∇ D2® D3© D4™ D5∏ D6√ D7⋅ D8¬ D9∧ DA∨ DB⇔ DC⇐ DD⇑"
        " DE⇒ DF⇓ E0◊ E1〈 E2® E3© E4™ E5∑ F1〉 F2∫"
    ),
}


def characters(font: str, text: str) -> str | None:
    r"""Return a text in a symbol *font* as Unicode characters; None if it is another font. Signs
    that `FONTS` lacks are left out.

    >>> characters("Wingdings", "\uf0fc \u00e0"), characters("Arial", "yes")
    ('✓ →', None)
    """
    table = FONTS.get(font.lower())
    return None if table is None else "".join(_character(table, ord(sign)) for sign in text)


def _character(table: Mapping[int, str], code: int) -> str:
    if code in range(PRIVATE, PRIVATE + 0x100):
        code -= PRIVATE
    # The font has no signs for other characters: programs show them in another font.
    return chr(code) if code <= ord(" ") or code > 0xFF else table.get(code, "")
