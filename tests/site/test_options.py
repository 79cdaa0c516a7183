"""The options of learning, in one object that is checked once, and the order of samples."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from scrapy.settings import Settings

from contentspider.cli import main
from contentspider.crawl.base.options import CrawlOptions
from contentspider.ground.errors import ContentSpiderError
from contentspider.site.learn.options import LearningOptions, OptionError
from contentspider.site.sample import sample_order
from tests.messages import wording


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"labels": "best"},
            "labels='best' " + wording("ground.unknown-plugin") + " 'votes', 'own', 'paper'",
        ),
        ({"features": ["colour"]}, "features='colour' cannot be used: .*use one of 'slots'"),
        ({"features": []}, "features='' cannot be used: "),
        ({"prior_file": "nowhere.npz"}, "prior_file='nowhere.npz' does not exist; .*train-prior"),
    ],
)
def test_invalid_learning_option_raises_option_error(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        LearningOptions(**given)


def test_learning_options_survive_json_and_are_normalized() -> None:
    options = LearningOptions(features=["tags", "slots"], keep_teasers=True)
    assert LearningOptions(**json.loads(json.dumps(asdict(options)))) == options
    assert hash(LearningOptions(features="slots,tags", keep_teasers=True)) == hash(options)
    assert options.features == ("slots", "tags")
    assert not options.needs_attributes
    assert LearningOptions(features="scripts").needs_attributes


def test_option_errors_name_setting_or_flag_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    with pytest.raises(ContentSpiderError, match=r"^CONTENTSPIDER_FEATURES='color' cannot be used"):
        CrawlOptions.from_settings(Settings({"CONTENTSPIDER_FEATURES": "color"}))
    chosen = CrawlOptions.from_settings(Settings({"CONTENTSPIDER_FEATURES": "tags,slots"})).learning
    assert chosen == LearningOptions(features=["slots", "tags"])
    assert main(["extract", str(tmp_path), "--features", "color"]) == 1
    assert "--features='color' cannot be used" in capsys.readouterr().err


def test_sample_order_is_fixed() -> None:
    """Books of two versions, and of several machines, must choose the same pages."""
    assert sample_order("https://example.org/").hex() == "6ec7e91c7656bfb8"
    assert sample_order("\ud800") != sample_order("?")
