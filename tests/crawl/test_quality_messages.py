"""How good a site's items are is said where people look: log, stats, summary, and alarm."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from scrapy.utils.test import get_crawler

from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.learning.models import CrawlModels, SiteState
from contentspider.run.summary import site_qualities, summary
from contentspider.site.own.quality import Quality, TemplateQuality, WorstPage
from contentspider.state.outcome import Outcome, Remaining, doubtful_templates

MEASURED = Quality(0.8, 0.9, 0.75, 12, (WorstPage("https://e.org/1", 0.25),))


def model(quality: Quality | None) -> SimpleNamespace:
    return SimpleNamespace(quality=quality, pages=47, is_refused=False)


def noted(quality: Quality | None, least: float) -> dict[str, object]:
    crawler = get_crawler(settings_dict={"CONTENTSPIDER_MIN_QUALITY": least})
    assert crawler.stats
    models = CrawlModels(CrawlOptions.from_settings(crawler.settings), crawler.stats)
    models.note_quality("e.org", model(quality))  # type: ignore[arg-type]
    return dict(crawler.stats.get_stats())


def test_measured_quality_below_limit_is_logged_with_worst_pages(caplog) -> None:
    caplog.set_level(logging.WARNING)
    assert noted(MEASURED, 0.85) == {
        "contentspider/quality/f1/e.org": 0.8,
        "contentspider/quality/pages/e.org": 12,
        "contentspider/quality/learned/e.org": 47,
    }
    assert "e.org: F1 0.800, precision 0.900, recall 0.750" in caplog.text
    assert "limit 0.85 (monitors.min_quality in" in caplog.text
    assert "https://e.org/1 (0.25)" in caplog.text


def test_predicted_or_good_quality_is_not_logged_as_warning(caplog) -> None:
    caplog.set_level(logging.WARNING)
    assert noted(Quality(0.5), 0.85)["contentspider/quality/pages/e.org"] == 0
    noted(MEASURED, 0.8)
    assert noted(None, 0.85) == {}
    assert caplog.text == ""


def test_doubtful_templates_are_counted_and_logged(caplog) -> None:
    caplog.set_level(logging.WARNING)
    doubtful = TemplateQuality("body/div.box", 7, 0.88, 0, "prose is dropped", ("/a", "/b"))
    sure = TemplateQuality("body/p", 40, 0.99)
    stats = noted(Quality(0.97, templates=(sure, doubtful)), 0.85)
    assert stats["contentspider/quality/doubtful/e.org/body/div.box"] == 7
    assert "contentspider/quality/doubtful/e.org/body/p" not in stats
    assert str(doubtful) in caplog.text
    counts = {**stats, "item_scraped_count": 3}
    lines = summary(counts, Outcome.COMPLETE, [], Remaining(), [], ["p"], "models")
    (line,) = [line for line in lines if "doubtful" in line]
    assert (
        "7 pages of e.org with most text at body/div.box; prose is dropped, as on /a and /b" in line
    )


def test_summary_lists_largest_doubtful_templates_and_number_of_others() -> None:
    stats: dict[str, object] = {"item_scraped_count": 9}
    for pages in (5, 6, 7, 8, 0):
        stats[f"contentspider/quality/doubtful/e.org/body/p.{pages}"] = pages
        stats[f"contentspider/quality/doubt/e.org/body/p.{pages}"] = f"look at {pages}"
    assert [template.pages for template in doubtful_templates(stats)] == [8, 7, 6, 5]
    assert str(doubtful_templates(stats)[3]).endswith("look at 5")
    lines = summary(stats, Outcome.COMPLETE, [], Remaining(), [], ["p"], "models")
    assert [slot for slot in "8765" if any(f"p.{slot}" in line for line in lines)] == [
        "8",
        "7",
        "6",
    ]
    assert any("and 1 more template" in line for line in lines)


def test_summary_lists_worst_sites_first_with_source_of_quality() -> None:
    stats = {"item_scraped_count": 3}
    for number in range(7):
        stats[f"contentspider/quality/f1/{number}.org"] = 0.9 + number / 100  # type: ignore[assignment]
    stats["contentspider/quality/pages/1.org"] = 12
    lines = summary(stats, Outcome.COMPLETE, [], Remaining(), [], ["pages.jsonl"], "models")
    (line,) = [line for line in lines if line.startswith("quality: ")]
    assert line.startswith("quality: 0.org F1 0.900 (predicted); 1.org F1 0.910 (measured on 12 ")
    assert line.endswith("4.org F1 0.940 (predicted); 2 more")
    without = summary(
        {"item_scraped_count": 3}, Outcome.COMPLETE, [], Remaining(), [], ["p"], "models"
    )
    assert not any(line.startswith("quality") for line in without)


def test_summary_explains_empty_items_and_slots_of_lost_text() -> None:
    counts = {"pages/empty/dropped": 9, "pages/empty/listing": 2}
    counts |= {f"slots/empty/body/div/{name}": n for n, name in enumerate("abcd", 1)}
    stats = {f"contentspider/{name}": count for name, count in counts.items()}
    given = (Outcome.COMPLETE, [], Remaining(), [], ["p"], "models")
    lines = summary({"item_scraped_count": 30, **stats}, *given)
    (first,) = [index for index, line in enumerate(lines) if line.startswith("empty:")]
    assert "11 items" in lines[first] and "9 whose" in lines[first] and "2 with" in lines[first]
    slots = [line.split(" at ")[1].split()[0] for line in lines[first + 1 : first + 4]]
    assert slots == ["body/div/d", "body/div/c", "body/div/b"]
    assert not any("body/div/a" in line for line in lines)
    without = summary({"item_scraped_count": 30}, *given)
    assert not any(line.startswith("empty:") for line in without)


def test_site_qualities_are_sorted_worst_first() -> None:
    f1, pages = "contentspider/quality/f1/", "contentspider/quality/pages/"
    stats = {f1 + "a": 0.9, f1 + "b": 0.8, pages + "b": 7}
    assert site_qualities(stats) == [(0.8, 7, "b"), (0.9, 0, "a")]
    assert site_qualities({}) == []


@pytest.mark.parametrize(
    ("pages", "quality", "is_enough"),
    [
        (500, Quality(0.95), True),
        (500, MEASURED, False),
        (500, None, False),
        (2_000, MEASURED, True),
    ],
)
def test_items_of_large_site_are_released_at_sufficient_quality(pages, quality, is_enough) -> None:
    state = SiteState("e.org", pages=pages)
    assert state.is_time(2_000)
    assert state.is_enough(model(quality), 2_000) == is_enough  # type: ignore[arg-type]


def test_insufficient_model_is_relearned_with_twice_as_many_pages() -> None:
    state = SiteState("e.org", pages=499)
    assert [state.is_time(most) for most in (2_000, 499)] == [False, True]
    state.pages = 500
    assert not state.is_enough(model(MEASURED), 2_000)  # type: ignore[arg-type]
    for pages, is_time in ((999, False), (1_000, True)):
        state.pages = pages
        assert state.is_time(2_000) == is_time
