"use strict";
// Shows the best pages below a search form while words are typed. In the pages of this server the
// script uses the form with the id in data-form. In a page of another site the script adds a form in
// its place: <script src="https://SERVER/search-box.js" data-site="SITE" defer></script>
(() => {
  const WAIT_MS = 150, MIN_CHARS = 3, LIMIT = 6;
  const STYLE = `
    form { position: relative; display: flex; max-width: 40rem; font: inherit; }
    input { flex: 1; min-width: 0; font: inherit; padding: .5em .7em; }
    ul { position: absolute; z-index: 9; top: 100%; left: 0; right: 0; margin: .2em 0 0; padding: 0;
         list-style: none; background: #fff; color: #1c1e21; border: 1px solid #5c6370; }
    ul:empty { display: none; }
    a { display: block; padding: .5em .7em; color: #1a4fba; text-decoration: none; overflow-wrap: anywhere; }
    small { display: block; color: #5c6370; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
    a:focus, a:hover { background: #e8eefc; }`;
  const script = document.currentScript;
  const server = new URL(script.src).origin;
  const { form: formId, site, label = "Search" } = script.dataset;
  const form = formId ? document.getElementById(formId) : addForm();
  const input = form.elements.q;
  const list = form.appendChild(document.createElement("ul"));
  list.setAttribute("aria-label", "Suggested pages");
  list.className = "suggestions";
  let timer = 0, request = null;

  // Returns a new form behind the script, in a shadow tree: the styles of the page stay outside.
  function addForm() {
    const host = document.createElement("div");
    script.after(host);
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const form = document.createElement("form");
    form.action = `${server}/`;
    form.role = "search";
    const input = Object.assign(document.createElement("input"), { type: "search", name: "q", maxLength: 500, autocomplete: "off" });
    input.setAttribute("aria-label", label);
    input.placeholder = label;
    form.append(input);
    if (site) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "site", value: site }));
    root.append(form);
    return form;
  }

  function show(results) {
    list.replaceChildren();
    for (const { url, title } of results) {
      if (!/^https?:/.test(url)) continue;
      const link = Object.assign(document.createElement("a"), { href: url, textContent: title, rel: "noreferrer nofollow", dir: "auto" });
      // Several pages may have one title.
      link.append(Object.assign(document.createElement("small"), { textContent: url.replace(/^https?:\/\//, ""), dir: "ltr" }));
      const entry = document.createElement("li");
      entry.append(link);
      list.append(entry);
    }
  }

  // Gives up the search that is under way: its answer would replace the list that is in use.
  function stop() {
    clearTimeout(timer);
    if (request) request.abort();
  }

  async function suggest() {
    if (input.value.trim().length < MIN_CHARS) return show([]);
    request = new AbortController();
    const parameters = new URLSearchParams(new FormData(form));
    parameters.set("typing", "1");
    parameters.set("limit", LIMIT);
    try {
      const answer = await fetch(`${server}/api/search?${parameters}`, { signal: request.signal });
      if (answer.ok) show((await answer.json()).results);
    } catch (error) {
      if (error.name !== "AbortError") show([]);  // the form still works
    }
  }

  function suggestSoon() {
    stop();
    timer = setTimeout(suggest, WAIT_MS);
  }

  input.addEventListener("input", suggestSoon);
  form.addEventListener("keydown", (event) => {
    const places = [input, ...list.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      stop();
      show([]);
      input.focus();
    } else if (step && places.length > 1) {
      event.preventDefault();
      stop();
      const place = places.indexOf(form.getRootNode().activeElement);
      places[(place + step + places.length) % places.length].focus();
    }
  });
  form.addEventListener("focusout", (event) => {
    if (form.contains(event.relatedTarget)) return;
    stop();
    show([]);
  });
  // The visitor may have begun to type before this script was loaded.
  if (input.value !== input.defaultValue && document.activeElement === input) suggestSoon();
})();
