"""A site whose pages a framework makes in the browser, beside the same site as HTML."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from contentspider.render.browser import NAMES
from tests.conftest import Site, read_jsonl, run, serve, site, token_f1

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["site"]

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(
        find_spec("scrapy_playwright") is None
        or not any(map(shutil.which, NAMES))
        or shutil.which("npm") is None,
        reason="scrapy-playwright, Chromium or npm is not installed",
    ),
]
SHELL = """<!doctype html><html><head><title>Loading</title></head><body>
<div id=app></div><script src=/vue.js></script><script src=/router.js></script>
<script src=/app.js></script></body></html>"""
# Three templates and a listing, with client-side routing; texts come as data.
APP = """
const {createApp, ref, watch} = Vue;
const layout = name => ({
  template: `<div class="layout ${name}"><div v-html="page.body"></div></div>`,
  props: ['page'],
});
const layouts = Object.fromEntries(['stories', 'recipes', 'handbook', 'other'].map(
  name => [name, layout(name)]));
const View = {
  components: layouts,
  template: `<component v-if="page" :is="page.layout" :page="page" @click="follow"></component>`,
  setup() {
    const page = ref(null), route = VueRouter.useRoute(), router = VueRouter.useRouter();
    const load = async path => {
      const found = await (await fetch('/data?path=' + encodeURIComponent(path))).json();
      document.title = found.title;
      for (const html of found.meta)
        document.head.insertAdjacentHTML('beforeend', html);
      page.value = found;
    };
    watch(() => route.path, load, {immediate: true});
    const follow = event => {
      const link = event.target.closest('a');
      if (link && link.pathname) { event.preventDefault(); router.push(link.pathname); }
    };
    return {page, follow};
  },
};
const router = VueRouter.createRouter({
  history: VueRouter.createWebHistory(),
  routes: [{path: '/:rest(.*)', component: View}],
});
createApp({template: '<router-view></router-view>'}).use(router).mount('#app');
"""


@pytest.fixture(scope="module")
def framework(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return Vue and its router, as npm has them."""
    folder = tmp_path_factory.mktemp("npm")
    found = {}
    for package, name in (("vue@3", "vue"), ("vue-router@4", "vue-router")):
        command = ["npm", "pack", "--silent", package]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm cannot fetch {package}: {done.stderr[-200:]}")
        with tarfile.open(folder / done.stdout.split()[-1]) as packed:
            file = packed.extractfile(f"package/dist/{name}.global.prod.js")
            assert file is not None
            found[name] = file.read().decode()
    return found


@pytest.fixture
def twin() -> Iterator[Site]:
    with serve() as made:
        yield made


def serve_both(folder: Path, site: Site, twin: Site, framework: dict[str, str]) -> dict[str, str]:
    """Serve the example site as HTML and by Vue; return its gold texts by path."""
    from example_site import ExampleSite

    ExampleSite().write(folder)
    twin.add("/vue.js", framework["vue"], kind="text/javascript")
    twin.add("/router.js", framework["vue-router"], kind="text/javascript")
    twin.add("/app.js", APP, kind="text/javascript")
    data = {}
    for file in sorted((folder / "html").rglob("*.html")):
        path = _bare("/" + file.relative_to(folder / "html").as_posix())
        html = file.read_text()
        site.add(path, html)
        twin.add(path, SHELL)
        body = re.search(r"<body[^>]*>(.*)</body>", html, re.DOTALL)
        title = re.search(r"<title>(.*?)</title>", html, re.DOTALL)
        assert body and title
        kind = path.split("/")[1]
        data[path] = {
            "layout": kind if kind in ("stories", "recipes", "handbook") else "other",
            "title": title[1],
            "meta": re.findall(r"<meta name=\S*description[^>]*>", html),
            "body": body[1],
        }
    answer = twin.answer

    def with_data(path: str) -> tuple[int, str, bytes]:
        if path.startswith("/data?path="):
            found = data[_bare(unquote(path.partition("=")[2]))]
            return 200, "application/json", json.dumps(found).encode()
        return answer(_bare(path))

    twin.answer = with_data
    pages = site.answer
    site.answer = lambda path: pages(_bare(path))
    gold = map(json.loads, (folder / "gold.jsonl").read_text().splitlines())
    return {_bare(row["path"]): row["text"] for row in gold}


def _bare(path: str) -> str:
    """Return a path as links have it."""
    return path.removesuffix("index.html").rstrip("/") or "/"


def f1(site: Site, gold: dict[str, str], folder: Path, *options: str) -> float:
    """Return the mean F1 of a crawl's pages that have gold text."""
    folder.mkdir()
    run("crawl", f"{site.url}/", "-o", "items.jsonl", *options, cwd=folder)
    items = read_jsonl(folder / "items.jsonl")
    found = {_bare(str(item["url"])[len(site.url) :]): str(item["content"]) for item in items}
    scores = [token_f1(found.get(path, ""), text) for path, text in gold.items()]
    return sum(scores) / len(scores)


def test_vue_site_is_extracted_as_well_as_its_static_html(
    site: Site, twin: Site, tmp_path: Path, framework: dict[str, str]
) -> None:
    gold = serve_both(tmp_path / "site", site, twin, framework)
    static = f1(site, gold, tmp_path / "static")
    assert static > 0.9
    assert abs(f1(twin, gold, tmp_path / "auto", "--render", "auto") - static) <= 0.01
