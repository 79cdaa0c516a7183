"use strict";
// The frame has no scripts: this page reads from it where texts are, and takes mouse and keys.
const CONTAINER = "data-contentspider-container";
const KINDS = JSON.parse(document.body.dataset.kinds);
const TOLERANCE = 3; // pixels by which a line of text may stick out of a rectangle
const MIN_DRAG = 4;
const SPACE = /[\s\u00ad\u200b-\u200f\u2060\ufeff]+/g;
const $ = (id) => document.getElementById(id);
const [frame, overlay, layer, help] = ["frame", "overlay", "layer", "help"].map($);
const isStrict = document.body.dataset.strict === "yes";
let shown = { page: 0, pages: 1, blocks: [] };
let places = []; // by block: its ranges, its element, its boxes in the page's own coordinates
let rectangles = [];
let current = -1;
let drawing = null;
let busy = Promise.resolve();
let isOpening = false; // until a page is shown, keys and clicks would be for the last one

async function ask(path, given) {
  const options = given === undefined ? {} : { method: "POST", body: JSON.stringify(given) };
  const answer = await fetch(path, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

// One after the other, in the order of the keys; what went wrong is said.
function then(work) {
  busy = busy.then(work).catch((error) => { $("said").textContent = `That did not work: ${error.message}`; });
  busy = busy.then(() => { document.body.dataset.state = "ready"; });
  document.body.dataset.state = "busy";
  return busy;
}

async function open(page) {
  isOpening = true;
  try {
    const found = await ask(`/api/page/${page}`);
    rectangles = []; current = -1; places = [];
    await new Promise((done) => { frame.onload = done; frame.src = `/frame/${page}`; });
    show(found);
    settle();
    find();
    measure();
  } finally {
    isOpening = false;
  }
}

function show(found) {
  shown = found;
  $("title").textContent = found.title || found.path;
  const saved = found.is_done ? ", saved" : "";
  $("where").textContent = `${found.path}: page ${found.page + 1} of ${found.pages}${saved}; ${found.done} done`;
  if (found.said !== undefined) $("said").textContent = found.said;
  draw();
}

// Nothing stays in place over the page, so that each text has one.
function settle() {
  const page = frame.contentDocument, view = frame.contentWindow;
  for (const element of Document.prototype.querySelectorAll.call(page, "*")) {
    if (["fixed", "sticky"].includes(view.getComputedStyle(element).position)) {
      element.style.setProperty("position", "static", "important");
    }
  }
}

// Where the texts of the blocks are: each is looked for in its own element.
function find() {
  const page = frame.contentDocument;
  const elements = new Map();
  for (const element of Document.prototype.querySelectorAll.call(page, `[${CONTAINER}]`)) elements.set(element.getAttribute(CONTAINER), element);
  const texts = new Map();
  places = shown.blocks.map((block) => {
    const key = String(block.container), element = elements.get(key);
    if (!element) return { element: null, ranges: [] };
    if (!texts.has(key)) texts.set(key, { ...readTexts(element), last: 0 });
    const read = texts.get(key), text = block.text.replace(SPACE, "");
    const at = read.whole.indexOf(text, read.last);
    if (at < 0 || !text) return { element, ranges: [] };
    read.last = at + text.length;
    return { element, ranges: rangesOf(read.nodes, at, read.last) };
  });
  const shared = new Map();
  for (const place of places) shared.set(place.element, (shared.get(place.element) || 0) + 1);
  for (const place of places) { // written otherwise than the block's text: the element's own
    if (!place.ranges.length && place.element && shared.get(place.element) === 1) {
      const range = page.createRange();
      range.selectNodeContents(place.element);
      place.ranges = [range];
    }
  }
}

function readTexts(element) {
  const walker = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let length = 0;
  const parts = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.data.replace(SPACE, "");
    if (text) nodes.push({ node: walker.currentNode, start: length, end: length += text.length });
    parts.push(text);
  }
  return { nodes, whole: parts.join("") };
}

function rangesOf(nodes, start, end) {
  return nodes.filter((one) => one.end > start && one.start < end).map((one) => {
    const range = one.node.ownerDocument.createRange();
    range.setStart(one.node, offsetOf(one.node.data, Math.max(start - one.start, 0)));
    range.setEnd(one.node, offsetOf(one.node.data, Math.min(end, one.end) - one.start - 1) + 1);
    return range;
  });
}

// The place in a text of its character of that number, white space not counted.
function offsetOf(text, number) {
  for (let at = 0, seen = -1; at < text.length; at++) {
    if (!/[\s\u00ad\u200b-\u200f\u2060\ufeff]/.test(text[at]) && ++seen === number) return at;
  }
  return text.length - 1;
}

function measure() {
  const view = frame.contentWindow;
  const onPage = (box) => ({ left: box.left + view.scrollX, top: box.top + view.scrollY, right: box.right + view.scrollX, bottom: box.bottom + view.scrollY });
  for (const place of places) {
    place.boxes = place.ranges.flatMap((range) => [...range.getClientRects()]).filter((box) => box.width > 0 && box.height > 0).map(onPage);
    place.around = place.boxes.length ? around(place.boxes) : null;
    place.box = place.element && place.around ? onPage(place.element.getBoundingClientRect()) : null;
  }
  draw();
}

function around(boxes) {
  const found = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const box of boxes) {
    found.left = Math.min(found.left, box.left); found.top = Math.min(found.top, box.top);
    found.right = Math.max(found.right, box.right); found.bottom = Math.max(found.bottom, box.bottom);
  }
  return found;
}

function draw() {
  const marks = document.createDocumentFragment();
  places.forEach((place, number) => {
    if (!place.around) return;
    const mark = boxed(place.around, shown.blocks[number].label + (number === current ? " current" : ""));
    mark.dataset.block = number;
    marks.append(mark);
  });
  for (const one of drawing ? [...rectangles, drawing] : rectangles) marks.append(boxed(one, one.isMain ? "rectangle" : "rectangle no"));
  layer.replaceChildren(marks);
  scrolled();
  const block = shown.blocks[current];
  $("block").textContent = block
    ? `${block.label}${block.kind ? ` (${KINDS[block.kind]})` : ""}, probably content: ${block.probability}; ${block.same} such on the site; ${places[current] && places[current].around ? "" : "hidden; "}${block.text.slice(0, 300)}`
    : "J and K go from block to block; ? tells all keys.";
}

function boxed(box, name) {
  const mark = document.createElement("div");
  mark.className = name;
  Object.assign(mark.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.right - box.left}px`, height: `${box.bottom - box.top}px` });
  return mark;
}

function scrolled() {
  layer.style.transform = `translate(${-frame.contentWindow.scrollX}px, ${-frame.contentWindow.scrollY}px)`;
}

// The source's rule, by the lines of the text; strictly, by the element's box.
function isInside(place, rectangle) {
  const [boxes, more] = isStrict ? [place.box ? [place.box] : [], 0] : [place.boxes, TOLERANCE];
  return boxes.length > 0 && boxes.every((box) => box.left >= rectangle.left - more && box.top >= rectangle.top - more && box.right <= rectangle.right + more && box.bottom <= rectangle.bottom + more);
}

async function check() {
  for (const rectangle of rectangles.filter((one) => !one.isChecked)) {
    rectangle.isChecked = true;
    const blocks = places.flatMap((place, number) => (isInside(place, rectangle) ? [number] : []));
    if (blocks.length) show(await ask(`/api/page/${shown.page}/label`, { blocks, label: rectangle.isMain ? "main" : "noise" }));
  }
}

function label(number, name, isSite = false, kind = 0) {
  const action = isSite ? "place" : "label";
  const page = shown.page;
  if (shown.blocks[number]) then(async () => show(await ask(`/api/page/${page}/${action}`, { blocks: [number], label: name, kind })));
}

async function done() {
  await check();
  show(await ask(`/api/page/${shown.page}/done`, {}));
  if (shown.page + 1 < shown.pages) await open(shown.page + 1);
  else $("said").textContent = "This was the last page.";
}

function go(number) {
  current = Math.max(0, Math.min(number, shown.blocks.length - 1));
  const place = places[current];
  if (place && place.around) {
    place.element.scrollIntoView({ block: "nearest" });
    const view = frame.contentWindow, { top, bottom } = place.around;
    if (top < view.scrollY || bottom > view.scrollY + view.innerHeight) view.scrollTo(0, top - view.innerHeight / 3);
  }
  measure();
}

function reveal() {
  const view = frame.contentWindow;
  const set = (element, name, value) => element.style.setProperty(name, value, "important");
  for (const place of places.filter((one) => one.element && !one.around)) {
    for (let element = place.element; element; element = element.parentElement) {
      const style = view.getComputedStyle(element);
      if (style.display === "none") set(element, "display", "block");
      if (style.visibility !== "visible") set(element, "visibility", "visible");
      if (style.opacity === "0") set(element, "opacity", "1");
      if (style.overflowY !== "visible" && element.clientHeight < 2) { set(element, "height", "auto"); set(element, "max-height", "none"); }
      if (element.localName === "details") element.open = true;
    }
  }
  measure();
}

const scroll = (pages) => { frame.contentWindow.scrollBy(0, pages * frame.clientHeight); scrolled(); };
// What is pressed before the other page is there is for neither.
function leave(work) {
  isOpening = true;
  then(work).then(() => { isOpening = false; });
}
const KEYS = {
  c: () => then(check),
  d: () => leave(done),
  n: () => leave(() => open(Math.min(shown.page + 1, shown.pages - 1))),
  p: () => leave(() => open(Math.max(shown.page - 1, 0))),
  z: () => then(async () => show(await ask(`/api/page/${shown.page}/undo`, {}))),
  u: () => label(current, "unsure"),
  m: () => label(current, "main"),
  x: () => label(current, "noise"),
  M: () => label(current, "main", true),
  X: () => label(current, "noise", true),
  j: () => go(current + 1),
  k: () => go(current - 1),
  h: reveal,
  "?": () => help.showModal(),
  Escape: () => { if (drawing) drawing = null; else rectangles.pop(); draw(); },
  ArrowDown: () => scroll(0.1),
  ArrowUp: () => scroll(-0.1),
  PageDown: () => scroll(0.9),
  PageUp: () => scroll(-0.9),
  " ": () => scroll(0.9),
  Home: () => scroll(-1e6),
  End: () => scroll(1e6),
};
for (let kind = 1; kind < KINDS.length; kind++) KEYS[kind] = () => label(current, "noise", false, kind);

window.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || help.open || isOpening) return;
  const isButton = event.target.closest("button") && [" ", "Enter"].includes(event.key);
  const act = isButton ? null : KEYS[event.key] || (event.shiftKey ? null : KEYS[event.key.toLowerCase()]);
  if (act) { event.preventDefault(); act(); }
});
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => { if (isOpening) return; KEYS[button.dataset.key](); if (!help.open) overlay.focus(); });
}

const point = (event) => {
  const box = overlay.getBoundingClientRect(), view = frame.contentWindow;
  return { x: event.clientX - box.left + view.scrollX, y: event.clientY - box.top + view.scrollY };
};
const under = ({ x, y }) => {
  const area = (box) => (box.right - box.left) * (box.bottom - box.top);
  const hit = (box) => box && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const found = places.map((place, number) => ({ number, box: place.around })).filter(({ box }) => hit(box));
  return found.sort((one, other) => area(one.box) - area(other.box))[0];
};
let start = null;
overlay.addEventListener("pointerdown", (event) => {
  if (event.button || isOpening) return;
  overlay.setPointerCapture(event.pointerId);
  start = point(event);
});
overlay.addEventListener("pointermove", (event) => {
  if (!start) return;
  const { x, y } = point(event);
  if (!drawing && Math.hypot(x - start.x, y - start.y) < MIN_DRAG) return;
  drawing = { left: Math.min(x, start.x), top: Math.min(y, start.y), right: Math.max(x, start.x), bottom: Math.max(y, start.y), isMain: !event.altKey };
  draw();
});
overlay.addEventListener("pointerup", (event) => {
  if (!start || isOpening) { start = drawing = null; return; }
  if (drawing) rectangles.push(drawing);
  else {
    const found = under(start);
    if (found) {
      current = found.number;
      label(current, shown.blocks[current].label === "main" ? "noise" : "main", event.shiftKey);
    }
  }
  start = drawing = null;
  draw();
});
overlay.addEventListener("wheel", (event) => {
  event.preventDefault();
  const found = under(point(event));
  for (let element = found && places[found.number].element; element; element = element.parentElement) {
    const scrolls = element.scrollHeight > element.clientHeight && /auto|scroll/.test(frame.contentWindow.getComputedStyle(element).overflowY);
    if (scrolls && element !== frame.contentDocument.documentElement && element !== frame.contentDocument.body) {
      const before = element.scrollTop;
      element.scrollTop += event.deltaY;
      if (element.scrollTop !== before) { measure(); return; }
    }
  }
  frame.contentWindow.scrollBy(event.deltaX, event.deltaY);
  scrolled();
}, { passive: false });
window.addEventListener("resize", measure);
window.addEventListener("blur", () => setTimeout(() => { if (document.activeElement === frame) overlay.focus(); }));
overlay.focus();
then(() => open(Number(document.body.dataset.first)));
