"""Engines that search our words find whole words of any script, and the same ones each."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import pytest

from contentspider.index.engine import Query
from tests.engines.documents import engine, named
from tests.servers import index_url, postgresql_server, skip_without

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.index.engine import Engine

__all__ = ["engine"]


@pytest.fixture(params=["sqlite", "tantivy", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the URL of an index that is not there yet."""
    if request.param != "sqlite":
        skip_without(request.param)
    with ExitStack() as stack:
        if request.param == "postgresql":
            yield stack.enter_context(index_url(postgresql_server))
        else:
            yield f"{request.param}:{tmp_path / 'pages'}"


class Case(NamedTuple):
    """A page's *text* in a *language*, searches that find it, and searches that do not."""

    language: str
    text: str
    finding: str
    missing: str = ""


CASES = (
    # Vowels of Indic scripts are marks that belong to the word (UAX #29, rule WB4).
    Case("hi", "नदी पर पुरानी नाव", "नाव पुरानी", "न नव दी व"),
    Case("bn", "নদীর ঘাটে একটি নৌকা", "নৌকা ঘাটে", "ন ক ঘাট"),
    Case("ta", "பழைய படகு ஆற்றில்", "படகு", "பட ழ"),
    Case("te", "నదిలో పాత పడవ", "పడవ నదిలో", "నద ప"),
    Case("kn", "ಹಳೆಯ ದೋಣಿ", "ದೋಣಿ", "ದ ಣ"),
    Case("gu", "જૂની હોડી", "હોડી", "હ ડ"),
    Case("si", "පරණ බෝට්ටුව", "බෝට්ටුව", "බ ට"),
    Case("pa", "ਪੁਰਾਣੀ ਕਿਸ਼ਤੀ", "ਕਿਸ਼ਤੀ", "ਕ ਤ"),
    Case("ne", "पुरानो डुङ्गा", "डुङ्गा", "ड ग"),
    Case("dv", "ދޯނި އަތޮޅު", "ދޯނި", "ދ ނ"),
    # The old and the new form of a chillu letter are one. Without the joiner it is another word.
    Case("ml", "അവൻ വള്ളം", "അവൻ അവന്\u200d വള്ളം", "അവന് വ"),
    # A tsheg ends a syllable, which is a word (UAX #29: no letter).
    Case("bo", "གྲུ་གཟིངས་", "གཟིངས གྲུ་གཟིངས", "ག གཟ"),
    # What writing may leave out.
    Case("ar", "رَكِبَ البَحَّارُ القَارِبَ", "ركب البحار القارب رَكِبَ", "رك ب"),
    Case("ar", "ســفينة أسئلة", "سفينة سَفِينَة أسئلة"),
    Case("fa", "نمی\u200cخواهم کِشتی", "نمی\u200cخواهم نمیخواهم کشتی", "نمی خواهم"),
    Case("he", "הַסִּפּוּר שֶׁל הַסַּפָּן", "הספור הספן הַסַּפָּן", "ה ספ"),
    Case("syr", "ܐܶܠܦܳܐ", "ܐܠܦܐ"),
    Case("yo", "Ọkọ̀ ojú omi ńlá", "oko ọkọ̀ oju nla", "k j"),
    Case("vi", "Chie\u0302\u0301c thuye\u0302\u0300n", "Chiếc thuyền thuyen", "thuy"),
    Case("ru", "кора\u0301бль", "корабль", "кора бль"),
    # Every spelling of both letters i.
    Case("tr", "İskele IŞIKLARI", "iskele İSKELE ISKELE ıskele ışıkları ISIKLARI", "skele şıklarI"),
    Case("tr", "ısırgan", "ISIRGAN ısırgan isirgan İSİRGAN"),
    # A young script with marks, and capitals that are rare.
    Case("ff", "𞤂𞤢𞤲𞤢 𞤤𞤢𞥄𞤲𞤢", "𞤂𞤢𞤲𞤢 𞤤𞤢𞥄𞤲𞤢", "𞤤𞤢"),
    Case("ka", "ᲜᲐᲕᲘ ნავსადგურში", "ნავი", "ნავ"),
    Case("am", "የቆየ ጀልባ", "ጀልባ", "ጀል"),
    # Scripts without spaces: parts of a run.
    Case("th", "เรือเก่าที่ท่าเรือ", "ท่าเรือ เก่า", "ยเรือ"),
    Case("lo", "ເຮືອເກົ່າຢູ່ທ່າເຮືອ", "ທ່າເຮືອ", "ອເກຢູ"),
    Case("km", "ទូកចាស់នៅកំពង់ផែ", "កំពង់ផែ ទូក", "ចាសកំ"),
    Case("my", "ဆိပ်ကမ်းရှိလှေ", "ဆိပ်ကမ်း", "ကမ်းလှေ"),
    Case("zh", "港口的旧船", "港口 旧船", "口港"),
    Case("ja", "港の古い船", "古い 港の", "船港"),
    Case("ko", "항구의 낡은 배", "항구 낡은", "구항"),
    # An apostrophe is a letter of a word in Cyrillic, whatever sign a keyboard has for it. So are
    # geresh and gershayim in Hebrew, and the middle dot of Catalan (UAX #29, MidNumLet and the
    # like); a quote after a prefix of Hebrew ends it.
    Case("uk", "п'ять солов’їв об`єднано", "п’ять пʼять солов'їв об’єднано пять", "п ять їв"),
    Case("be", "сям'я", "сямʼя сям’я"),
    Case("he", 'דו״ח של ארה"ב על ג׳ירפה', "דו\"ח דו״ח דוח ארה״ב ג'ירפה גירפה", "דו ח ג"),
    Case("he", 'כתב "הארץ" ב"הארץ" של מנכ"לית', "הארץ מנכ״לית", "לית"),
    Case("", "una col·lecció il·lustre", "col·lecció COL·LECCIÓ il•lustre", "col lustre"),
    # Signs of Armenian stand above a vowel.
    Case("hy", "Որտե՞ղ է նավը, ահա՛", "որտեղ որտե՞ղ ահա նավը", "ղ"),
    # Keyboards have no okina: an apostrophe stands for it, or nothing.
    Case("haw", "Hawaiʻi", "hawaiʻi hawai'i hawai’i hawaii", "hawa"),
    Case("uz", "oʻzbek gʻishti", "oʻzbek o'zbek o‘zbek ozbek g'ishti", "zbe"),
    # Letters without a decomposition in Unicode, as Lucene's ASCIIFoldingFilter has them.
    Case("fr", "Le cœur d'Œdipe", "coeur cœur oedipe", "coe"),
    Case("pl", "Łódź i łódka", "łódź lodz lodka", "odz"),
    Case("", "Søen og ærinden", "soen søen aerinden", "sen"),
    Case("is", "Þórður í Ísafirði", "thordur þórður isafirdi", "ordur"),
    Case("vi", "Đà Nẵng", "da nang đà", "a"),
    Case("ha", "ɗaya ƙasa", "daya kasa ɗaya", "aya"),
    # Persian letters on an Arabic keyboard, and the reverse; digits of any script.
    Case("fa", "كتاب\u200cهاي قديمي ۱۲۳", "کتاب\u200cهای قدیمی 123 ١٢٣", "۱۲"),
    Case("ur", "پرانی کتاب ہے", "كتاب پراني هے", "کتا"),
    Case("ckb", "دەچم", "ده\u200cچم دەچم"),
    Case("hi", "नाव १२", "12 १२", "1"),
    Case("km", "ឆ្នាំ២០២៦", "2026 ២០២៦", "202"),
    # Raised digits and fractions are no part of a number.
    Case("en", "some 10³ boats, 1½ knots, 5 m² of H₂O", "10 boats m2 H2O", "103 11 112"),
)


def test_whole_words_of_many_scripts_are_found(engine: Engine) -> None:
    documents = []
    for number, case in enumerate(CASES):
        common = {"site": f"s{number}", "title": "", "language": case.language}
        documents.append(named(f"page{number}", content=case.text, **common))
        # A search for a word that no page has would take similar words.
        documents.append(named(f"other{number}", content=case.missing, **common))
    engine.upsert(documents)
    engine.flush()
    wrong = []
    for number, case in enumerate(CASES):
        searches = [(word, "page") for word in case.finding.split()]
        searches += [(word, "other") for word in case.missing.split()]
        for word, expected in searches:
            results = engine.search(Query(word, {"site": f"s{number}"}))
            found = [hit.record["id"] for hit in results.hits]
            if found != [f"{expected}{number}"]:
                wrong.append((case.language, word, expected, found))
    assert not wrong


@pytest.mark.parametrize(
    ("language", "text", "same", "other"),
    [
        ("en", "Every evening in the universities", "evenings university", "even"),
        ("nl", "De avonden aan de universiteiten", "avond universiteit", "avontuur"),
        ("de", "Die Häfen der Fähren", "hafen fähre", "fähigkeit"),
        ("cs", "zahradách a přístavech", "zahrada přístav", "zahr"),
    ],
)
def test_engines_have_the_same_stems(
    engine: Engine, language: str, text: str, same: str, other: str
) -> None:
    documents = [named("page", title="", content=text, language=language)]
    engine.upsert([*documents, named("other", title="", content=other)])
    engine.flush()
    for word, expected in [*((word, "page") for word in same.split()), (other, "other")]:
        assert [hit.record["id"] for hit in engine.search(Query(word)).hits] == [expected], word
