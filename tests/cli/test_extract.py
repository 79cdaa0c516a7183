"""Extraction of saved pages, with models that are stored or learned from them."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path

import pytest

from contentspider import Prior, extract_html
from contentspider.cli import main
from contentspider.evaluation.corpora import find_corpora
from contentspider.extract import extract_paths
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.page.input.files import read_pages
from contentspider.page.input.page import Page
from contentspider.site.judge.svm import LinearSVM
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.state.outcome import Outcome
from contentspider.state.stores.models import ModelStore
from tests.conftest import read_jsonl, run, token_f1
from tests.messages import raises
from tests.site.test_model import HTML
from tests.site.test_prior import constant
from tests.sites import article, prose


@pytest.fixture
def models(tmp_path: Path) -> Path:
    pages = [Page.from_html(HTML.format(n, prose(n, 1), prose(n, 2)), f"/{n}") for n in "abcd"]
    learner = SiteLearner("example.org", LearningOptions(features=["slots", "scripts"]))
    ModelStore(tmp_path / "models").save(learner.fit(pages))
    return tmp_path / "models"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "example.org"
    folder.mkdir()
    (folder / "one.html").write_text(HTML.format(1, prose(1), prose(2)))
    return folder


@pytest.mark.parametrize("place", ["", "example.org"])
def test_saved_pages_are_extracted_with_stored_model(models: Path, saved: Path, place: str) -> None:
    (item,) = extract_paths([saved], models=models / place)
    assert item["model_version"] == SiteModel.load(models / "example.org").version
    assert item["site"] == "example.org"
    assert item["content"] == f"Page 1\n{prose(1)}\n{prose(2)}"


def test_stored_model_uses_prior_from_options(models: Path, saved: Path) -> None:
    prior = saved.with_name("prior.npz")
    prior.write_bytes(constant(30.0).dump())
    (item,) = extract_paths([saved], LearningOptions(prior_file=str(prior)), models)
    (usual,) = extract_paths([saved], models=models)
    assert len(str(item["content"])) > len(str(usual["content"]))


def test_missing_site_model_error_lists_available_models(models: Path, saved: Path) -> None:
    other = saved.rename(saved.with_name("other.org"))
    with pytest.raises(ContentSpiderError, match=r"no model of 'other\.org'; it has: example\.org"):
        list(extract_paths([other], models=models))
    (item,) = extract_paths([other / "one.html"], models=models / "example.org")
    assert item["site"] == "example.org"


def test_damaged_model_raises_state_error_instead_of_relearning(models: Path, saved: Path) -> None:
    (models / "example.org" / "manifest.json").write_text("{")
    with raises(StateError, "model-manifest"):
        list(extract_paths([saved], models=models))


def test_extract_command_accepts_folder_of_models(models: Path, saved: Path) -> None:
    run("extract", str(saved), "--models", "models", "-o", "out.jsonl", cwd=saved.parent)
    (item,) = read_jsonl(saved.parent / "out.jsonl")
    assert item["model_version"] == SiteModel.load(models / "example.org").version
    done = run("extract", str(saved), "--models", "none", cwd=saved.parent, check=False)
    assert done.returncode == 1
    assert "none has no model of 'example.org'; it has: none." in done.stderr


def test_extract_learns_from_folders_and_files(example_corpus: Path, tmp_path: Path) -> None:
    run("extract", str(example_corpus / "html"), "-o", "out.jsonl", cwd=tmp_path)
    (corpus,) = find_corpora(example_corpus)
    items = {item["url"]: item for item in read_jsonl(tmp_path / "out.jsonl")}
    scores = [token_f1(str(items[page.path]["content"]), page.text) for page in corpus.gold()]
    assert sum(scores) / len(scores) >= 0.97
    (tmp_path / "a.html").write_text(article(1))
    (tmp_path / "empty.html").write_text("")
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "page").write_text("<!-- saved --><!DOCTYPE html>" + article(1))
    (mirror / "page.php").write_text(article(2))
    (mirror / "style.css").write_text("p { color: red }")
    (mirror / "notes.txt").write_text("a < b")
    run("extract", "mirror", "-o", "mirror.jsonl", cwd=tmp_path)
    assert [item["url"] for item in read_jsonl(tmp_path / "mirror.jsonl")] == ["page", "page.php"]
    done = run("extract", "a.html", "empty.html", cwd=tmp_path, check=False)
    assert done.returncode == Outcome.INCOMPLETE
    assert json.loads(done.stdout)["content"].startswith("Page 1\n")
    assert "empty.html has no text" in done.stderr


def examples(folder: Path) -> LearningOptions:
    file = folder / "fields.toml"
    entries = ", ".join(f'{{url = "{name}.html", value = "Page {name}"}}' for name in "ab")
    file.write_text(f'[head]\nexamples = [{entries}]\n[none]\ncss = "h6"\n')
    return LearningOptions(fields=str(file))


def test_own_fields_without_any_value_are_logged(
    saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = examples(saved.parent)
    (item,) = extract_paths([saved], options)
    assert item["fields"] == {}
    assert "head, none" in caplog.text, "one page teaches no places"
    caplog.clear()
    for name in "abcdef":
        (saved / f"{name}.html").write_text(HTML.format(name, prose(name, 1), prose(name, 2)))
    items = list(extract_paths([saved], options))
    assert any(item["fields"] for item in items)
    missing = [line for line in caplog.messages if "no value" in line]
    assert len(missing) == 1
    assert "none" in missing[0]
    assert "head" not in missing[0]


def test_pages_with_texts_and_numbers_are_counted(
    saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = saved.parent / "fields.toml"
    file.write_text('price = {css = ".price", type = "number"}\nmaker = {css = ".maker"}\n')
    for name, shown in (("a", "price>0"), ("b", "maker>Ada"), ("c", "maker>Bob")):
        html = HTML.format(name, prose(name, 1), prose(name, 2)) + f"<p class={shown}</p>"
        (saved / f"{name}.html").write_text(html)
    items = extract_paths([saved], LearningOptions(fields=str(file)))
    values = [item["fields"] for item in items]
    assert values == [{"price": 0.0}, {"maker": "Ada"}, {"maker": "Bob"}, {}]
    assert "no value" not in caplog.text


def test_stored_model_without_the_examples_is_logged(
    models: Path, saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    list(extract_paths([saved], models=models))
    assert "examples" not in caplog.text
    list(extract_paths([saved], examples(saved.parent), models))
    assert "was not learned with the examples" in caplog.text


def test_documents_in_a_folder_of_pages_are_logged(
    saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (saved / "tea.pdf").write_bytes(b"%PDF-1.4")
    assert len(list(extract_paths([saved]))) == 1
    assert "tea.pdf" in caplog.text


def test_files_that_give_no_item_are_counted_and_have_an_exit_code(
    saved: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    pdf = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\n"
    bodies = {
        "report.pdf": pdf,
        "as.html": pdf,
        "binary.html": bytes(range(250, 0, -1)) * 9,
        "empty.html": b"",
        "blank.html": b" \n ",
    }
    output = saved.parent / "out.jsonl"
    assert main(["extract", str(saved), "-o", str(output)]) == Outcome.COMPLETE
    assert "left out" not in capsys.readouterr().err
    (saved / "notes.txt").write_text("Buy tea.")
    (saved / "styles.css").write_text("p { color: red }")
    assert main(["extract", str(saved), "-o", str(output)]) == Outcome.COMPLETE
    said = capsys.readouterr().err
    assert "2 files ignored" in said and ".txt (1)" in said
    for name, body in bodies.items():
        (saved / name).write_bytes(body)
    assert main(["extract", str(saved), "-o", str(output)]) == Outcome.INCOMPLETE
    said = capsys.readouterr().err
    assert "1 page ->" in said and "5 files left out" in said and "2 files ignored" in said
    assert all(name in caplog.text for name in bodies)
    assert re.search(r"a document[^()]* \(2\)", said), "also under the name of a page"
    for name in bodies.keys() - {"report.pdf"}:
        (saved / name).unlink()
    assert main(["extract", str(saved), "-o", str(output)]) == Outcome.INCOMPLETE


@pytest.mark.parametrize("given", [(), ("--models", "models")])
def test_corrections_of_saved_pages_apply_without_a_stored_model(
    saved: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, given: list[str]
) -> None:
    monkeypatch.chdir(saved.parent)
    for number in range(6):
        ad = f"<p class=buy>{prose(number, 'ad')}</p>"
        (saved / f"{number}.html").write_text(article(number).replace("</article>", ad))
    corrections = saved.parent / "models" / "example.org" / "overrides.toml"
    command = ["extract", "example.org", "-o", "out.jsonl"]
    assert main(command) == Outcome.COMPLETE
    assert any(prose(3, "ad") in item["content"] for item in read_jsonl(Path("out.jsonl")))
    corrections.parent.mkdir(parents=True)
    corrections.write_text('drop = [".buy", ".none"]\n[[rule]]\npattern = "/x/*"\ndrop = ["h1"]\n')
    with caplog.at_level(logging.INFO, "contentspider"):
        assert main([*command, *given]) == Outcome.COMPLETE
    assert not any(prose(3, "ad") in item["content"] for item in read_jsonl(Path("out.jsonl")))
    assert f"the corrections in {Path('models/example.org/overrides.toml')} apply" in caplog.text
    assert "drop '.none' decides nothing" in caplog.text
    assert "drop 'h1' on /x/* decides nothing" in caplog.text
    assert "'.buy'" not in caplog.text
    corrections.write_text("drop = 3")
    assert main([*command, *given]) == 1


def test_model_and_report_of_many_pages_tell_that_they_are_of_a_sample(
    saved: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(230):
        (saved / f"{number}.html").write_text(article(number))
    with caplog.at_level(logging.INFO, "contentspider"):
        assert len(list(extract_paths([saved]))) == 231
    assert "sample of its 231 pages" in caplog.text
    assert main(["report", str(saved), "-o", str(saved.parent / "report.html")]) == 0
    assert "200 of 231 pages" in capsys.readouterr().err


# Each of these elements has the names of the one around it, and one more.
NESTED = "".join(f'<div class="{" ".join("abcdefghijkl"[:depth])}">' for depth in range(1, 13))
BUILT = (
    '<title>Page {0}</title><body class="site">'
    + NESTED
    + '<div class="head row"><ul class="row">{1}</ul></div>'
    '<div class="main row"><h1 class="title">Page {0}</h1>'
    '<div class="row text"><p class="row">{2}</p><p class="row">{3}</p></div></div>'
    '<div class="foot row"><p class="row">{4}</p></div>'
)


def numbered(html: str) -> str:
    """Return a page with the class names that a page builder would write."""
    return re.sub(
        'class="([^"]*)"',
        lambda found: f'class="{re.sub(r"[a-z]+", _number, found[1])}"',
        html,
    )


def _number(name: re.Match[str]) -> str:
    return f"ct-block-{sum(map(ord, name[0])) * 7 % 1_000 + 100}"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A site of a page builder, which names all elements by numbers."""
    folder = tmp_path / "built.example"
    folder.mkdir()
    for page in range(24):
        links = "".join(
            f'<li class="item row"><a href={n}.html>{prose(n, 9, words=4)}</a>' for n in range(8)
        )
        html = BUILT.format(page, links, prose(page, 1), prose(page, 2), prose("foot"))
        (folder / f"{page}.html").write_text(numbered(html))
    return folder


def test_site_whose_names_are_all_numbered_is_extracted(built: Path) -> None:
    items = [json.loads(line) for line in run("extract", str(built), cwd=built).stdout.splitlines()]
    assert len(items) == 24
    for item in items:
        page = int(item["url"].removesuffix(".html"))
        assert item["content"] == f"Page {page}\n{prose(page, 1)}\n{prose(page, 2)}"
        assert 0 < item["confidence"] <= 1


def sure(models: Path) -> SiteModel:
    """Let the stored model of a site decide by itself, as if it was learned from many pages."""
    store = ModelStore(models)
    model = store.load("example.org")
    assert model is not None
    model.pages = 40
    store.save(model)
    return model


def forgetful(models: Path) -> None:
    """Let the stored model of a site drop all text."""
    model = sure(models)
    model.classifier = LinearSVM({}, -1.0)
    ModelStore(models).save(model)


def test_items_that_lost_their_prose_are_counted_and_have_an_exit_code(
    models: Path, saved: Path
) -> None:
    for name in "abcdef":
        (saved / f"{name}.html").write_text(HTML.format(name, prose(name, 1), prose(name, 2)))
    forgetful(models)
    done = run("extract", str(saved), "--models", str(models), cwd=saved, check=False)
    assert done.returncode == Outcome.INCOMPLETE
    assert len(done.stdout.splitlines()) == 7, "the items are written nevertheless"
    assert "7 of 7" in done.stderr
    assert "a.html" in done.stderr


def test_few_items_that_lost_their_prose_are_only_counted(models: Path, saved: Path) -> None:
    for name in "abcdef":
        (saved / f"{name}.html").write_text(HTML.format(name, prose(name, 1), prose(name, 2)))
    run("extract", str(saved), "--models", str(models), cwd=saved)
    sure(models)
    nav = HTML.format("", "", "").replace("Home", f"</a>{prose('nav')}<a>")
    (saved / "gallery.html").write_text(nav)
    done = run("extract", str(saved), "--models", str(models), cwd=saved)
    assert "1 of 8" in done.stderr
    assert "gallery.html" in done.stderr


def test_classifier_that_did_not_learn_is_refused(
    saved: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcdef":
        (saved / f"{name}.html").write_text(HTML.format(name, prose(name, 1), prose(name, 2)))
    for broken in (LinearSVM({}, -1.0), LinearSVM({}, float("nan"))):
        monkeypatch.setattr(LinearSVM, "fit", lambda *_, broken=broken: broken)
        caplog.clear()
        items = list(extract_paths([saved]))
        assert all(prose("a", 1) in str(each["content"]) for each in items if "a.h" in each["url"])
        assert "refused" in caplog.text
        model = SiteLearner("e.org").fit(read_pages(saved, [*saved.glob("*.html")]))
        assert model.is_refused
        assert model.quality is None
        assert SiteModel.parse(model.manifest(), model.dump_weights()).is_refused


def named(number: int, site: str) -> str:
    head = f"<head><link rel=canonical href=https://{site}/{number}>"
    return article(number).replace("<head>", head)


def test_folder_that_mixes_sites_is_told_and_alone_learns_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "contentspider")
    monkeypatch.setattr("contentspider.extract.MANY_FILES", 8)
    monkeypatch.setattr("contentspider.extract.TELL_SECS", 0.0)
    for number in range(10):
        (tmp_path / f"{number}.html").write_text(named(number, "ab"[number % 2] + ".example"))
    mixed = list(extract_paths([tmp_path]))
    assert "a.example (5), b.example (5)" in caplog.text
    assert "learning from, 3 of 10 files" in caplog.text and "extracting 10 files" in caplog.text
    caplog.clear()
    alone = list(extract_paths([tmp_path], alone=True))
    assert "canonical" not in caplog.text and "learning" not in caplog.text
    assert len(alone) == len(mixed) == 10
    versions = {item["model_version"] for item in alone}
    assert versions == {Prior.shipped().digest}
    for number in range(10):
        (tmp_path / f"{number}.html").write_text(named(number, "a.example"))
    list(extract_paths([tmp_path]))
    assert "canonical" not in caplog.text
    assert main(["extract", str(tmp_path), "--alone", "--models", "x"]) == 2


def test_extract_writes_several_outputs(saved: Path, capfd: pytest.CaptureFixture[str]) -> None:
    outputs = [f"{saved.parent}/{name}" for name in ("x.jsonl", "x.csv", "folder/")]
    assert main(["extract", str(saved), *(f"-o{output}" for output in outputs), "-o-"]) == 0
    sys.stdout.flush()
    captured = capfd.readouterr()
    (item,) = read_jsonl(Path(outputs[0]))
    assert json.loads(captured.out) == item
    assert all(output in captured.err for output in outputs)
    assert prose(1) in Path(outputs[1]).read_text()
    assert len(list(Path(outputs[2]).iterdir())) == 1


def test_empty_source_is_no_folder(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(saved)
    assert main(["extract", ""]) == main(["extract", "one.html", " "]) == 2


def test_guessed_encodings_of_files_are_told(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "Железная дорога соединяет большие города и маленькие посёлки нашей страны. " * 3
    for name in "ab":
        (saved / f"{name}.html").write_bytes(f"<title>T {name}</title><p>{text}".encode("cp1251"))
    output = saved.parent / "x.jsonl"
    assert main(["extract", str(saved), "-o", str(output)]) == 0
    assert "cp1251 (2)" in capsys.readouterr().err
    contents = {str(item["url"]): str(item["content"]) for item in read_jsonl(output)}
    assert text.strip() in contents["a.html"]


def test_folder_gets_the_address_and_the_site_of_its_pages(saved: Path) -> None:
    (saved / "a b").mkdir()
    body = f"<p>{prose(1)} <a href=../one.html>one</a></p><p>{prose(2)}</p>"
    (saved / "a b" / "two.html").write_text(f"<title>Two</title><h1>Two</h1>{body}")
    (saved / "none.html").write_text("")
    output = saved.parent / "x.jsonl"
    address = "https://www.tea.example.org/docs"
    command = ["extract", str(saved), "-o", str(output), "--url"]
    assert main([*command, address]) == Outcome.INCOMPLETE
    two, one = sorted(read_jsonl(output), key=lambda item: str(item["url"]))
    assert [two["url"], one["url"]] == [f"{address}/a%20b/two.html", f"{address}/one.html"]
    assert two["site"] == one["site"] == "example.org"
    assert f"({address}/one.html)" in str(two["content_markdown"])
    assert main([*command, "docs"]) == 2
    assert main(["extract", str(saved), str(saved), "--url", address]) == 2
    assert main(["extract", str(saved / "one.html"), "--url", address]) == 2


def test_folders_of_the_same_name_are_sites_of_their_own(saved: Path) -> None:
    roots = [saved.parent / name / "html" for name in "AB"]
    for root in roots:
        root.mkdir(parents=True)
        (root / "one.html").write_text((saved / "one.html").read_text())
    sites = [item["site"] for item in extract_paths([*roots, saved])]
    assert sites == ["A-html", "B-html", "example.org"]
    assert [item["site"] for item in extract_paths(roots[:1])] == ["html"]


def test_quality_of_learned_sites_is_told(
    example_corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def told(*options: str) -> list[str]:
        source, output = str(example_corpus), str(tmp_path / "x.jsonl")
        assert main(["extract", source, "-o", output, *options]) == 0
        return re.findall(r"F1 (0\.\d+)", capfd.readouterr().err)

    learned = told()
    assert learned and float(learned[0]) > 0.8
    assert told("--alone") == []


def test_page_has_one_confidence_wherever_it_is_judged_alone(saved: Path) -> None:
    for number in (2, 3):
        (saved / f"{number}.html").write_text(article(number))

    def confidences(*sources: str) -> dict[str, float]:
        lines = run("extract", *sources, cwd=saved.parent).stdout.splitlines()
        return {item["url"]: item["confidence"] for item in map(json.loads, lines)}

    together = confidences("--alone", str(saved))
    assert len(together) > 1
    for url, confidence in together.items():
        assert extract_html((saved / url).read_bytes(), url).confidence == confidence
        assert confidences(str(saved / url)) == {url: confidence}
