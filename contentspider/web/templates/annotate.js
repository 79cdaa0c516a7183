"use strict";
// The frame runs no scripts. This page reads the positions of texts in the frame, and handles the
// mouse and the keyboard.
const CONTAINER = "data-contentspider-container";
const KINDS = JSON.parse(document.body.dataset.kinds);
const TOLERANCE = 3; // a line of text may stick out of a rectangle by so many pixels
const MIN_DRAG = 4;
const SPACE = /[\s\u00ad\u200b-\u200f\u2060\ufeff]+/g;
const $ = (id) => document.getElementById(id);
const [frame, overlay, layer, help, field] = ["frame", "overlay", "layer", "help", "field"].map($);
let state = { page: 0, pages: 1, blocks: [] };
let positions = []; // by block: its ranges, its element, its boxes in the page's own coordinates
let rectangles = [];
let current = -1;
let drawing = null;
let queue = Promise.resolve();
let isOpening = false; // keys and clicks are ignored while a page opens

async function request(path, data) {
  const options = data === undefined ? {} : { method: "POST", body: JSON.stringify(data) };
  const response = await fetch(path, options);
  const record = await response.json();
  if (!response.ok) throw new Error(record.error);
  return record;
}

// Actions run one after the other, in the order of the keys. Errors are shown to the user.
function enqueue(action) {
  queue = queue.then(action).catch((error) => { $("message").textContent = `Error: ${error.message}`; });
  queue = queue.then(() => { document.body.dataset.state = "ready"; });
  document.body.dataset.state = "busy";
  return queue;
}

async function open(page) {
  isOpening = true;
  try {
    const record = await request(`/api/page/${page}`);
    rectangles = []; current = -1; positions = [];
    await new Promise((loaded) => { frame.onload = loaded; frame.src = `/frame/${page}`; });
    show(record);
    unpin();
    locateBlocks();
    measure();
    reveal(positions.findIndex(({ bounds }, number) => bounds && state.blocks[number].label === "main"), true);
    measure();
  } finally {
    isOpening = false;
  }
}

function show(record) {
  state = record;
  $("title").textContent = record.title || record.path;
  const saved = record.is_done ? ", saved" : "";
  $("where").textContent = `${record.path}: page ${record.page + 1} of ${record.pages}${saved}; ${record.done} done`;
  if (record.said !== undefined) $("message").textContent = record.said;
  draw();
}

// Fixed and sticky elements scroll with the page, so that no text covers another text.
function unpin() {
  const page = frame.contentDocument, view = frame.contentWindow;
  for (const element of Document.prototype.querySelectorAll.call(page, "*")) {
    if (["fixed", "sticky"].includes(view.getComputedStyle(element).position)) {
      element.style.setProperty("position", "static", "important");
    }
  }
}

// Finds the text of each block within the block's element.
function locateBlocks() {
  const page = frame.contentDocument;
  const elements = new Map();
  for (const element of Document.prototype.querySelectorAll.call(page, `[${CONTAINER}]`)) elements.set(element.getAttribute(CONTAINER), element);
  const texts = new Map();
  positions = state.blocks.map((block) => {
    const key = String(block.container), element = elements.get(key);
    if (!element) return { element: null, ranges: [] };
    if (!texts.has(key)) texts.set(key, { ...readTexts(element), last: 0 });
    const elementText = texts.get(key), text = block.text.replace(SPACE, "");
    const start = elementText.whole.indexOf(text, elementText.last);
    if (start < 0 || !text) return { element, ranges: [] };
    elementText.last = start + text.length;
    return { element, ranges: rangesOf(elementText.nodes, start, elementText.last) };
  });
  const counts = new Map();
  for (const position of positions) counts.set(position.element, (counts.get(position.element) || 0) + 1);
  // The page may show another text than the block's. A block alone in its element gets all of it.
  for (const position of positions) {
    if (!position.ranges.length && position.element && counts.get(position.element) === 1) {
      const range = page.createRange();
      range.selectNodeContents(position.element);
      position.ranges = [range];
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
  return nodes.filter((part) => part.end > start && part.start < end).map((part) => {
    const range = part.node.ownerDocument.createRange();
    range.setStart(part.node, offsetOf(part.node.data, Math.max(start - part.start, 0)));
    range.setEnd(part.node, offsetOf(part.node.data, Math.min(end, part.end) - part.start - 1) + 1);
    return range;
  });
}

// Returns the offset of a character in a text by the character's number without white space.
function offsetOf(text, number) {
  for (let offset = 0, count = -1; offset < text.length; offset++) {
    if (!/[\s\u00ad\u200b-\u200f\u2060\ufeff]/.test(text[offset]) && ++count === number) return offset;
  }
  return text.length - 1;
}

function measure() {
  const view = frame.contentWindow;
  const onPage = (box) => ({ left: box.left + view.scrollX, top: box.top + view.scrollY, right: box.right + view.scrollX, bottom: box.bottom + view.scrollY });
  for (const position of positions) {
    position.boxes = position.ranges.flatMap((range) => [...range.getClientRects()]).filter((box) => box.width > 0 && box.height > 0).map(onPage);
    position.bounds = position.boxes.length ? boundsOf(position.boxes) : null;
  }
  draw();
}

function boundsOf(boxes) {
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const box of boxes) {
    bounds.left = Math.min(bounds.left, box.left); bounds.top = Math.min(bounds.top, box.top);
    bounds.right = Math.max(bounds.right, box.right); bounds.bottom = Math.max(bounds.bottom, box.bottom);
  }
  return bounds;
}

function draw() {
  const marks = document.createDocumentFragment();
  positions.forEach((position, number) => {
    if (!position.bounds) return;
    const mark = markFor(position.bounds, state.blocks[number].label + (number === current ? " current" : ""));
    mark.dataset.block = number;
    marks.append(mark);
  });
  for (const { name, value, block } of state.fields || []) {
    if (!positions[block] || !positions[block].bounds) continue;
    const mark = markFor(positions[block].bounds, "field");
    mark.append(`${name}: ${value}`);
    marks.append(mark);
  }
  for (const rectangle of drawing ? [...rectangles, drawing] : rectangles) marks.append(markFor(rectangle, rectangle.isMain ? "rectangle" : "rectangle no"));
  layer.replaceChildren(marks);
  moveLayer();
  $("block").textContent = state.blocks[current] ? describe(current) : "Press J and K to go from block to block, and ? for all keys.";
}

function describe(number) {
  const block = state.blocks[number];
  const kind = block.kind ? ` (${KINDS[block.kind]})` : "";
  const hidden = positions[number] && positions[number].bounds ? "" : "hidden; ";
  return `${block.label}${kind}, probability of content: ${block.probability}; ${block.same} blocks of this slot on the site; ${hidden}${block.text.slice(0, 300)}`;
}

function markFor(box, name) {
  const mark = document.createElement("div");
  mark.className = name;
  Object.assign(mark.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.right - box.left}px`, height: `${box.bottom - box.top}px` });
  return mark;
}

function moveLayer() {
  layer.style.transform = `translate(${-frame.contentWindow.scrollX}px, ${-frame.contentWindow.scrollY}px)`;
}

// A block is inside a rectangle by the lines of its text.
function isInside({ boxes }, rectangle) {
  return boxes.length > 0 && boxes.every((box) => box.left >= rectangle.left - TOLERANCE && box.top >= rectangle.top - TOLERANCE && box.right <= rectangle.right + TOLERANCE && box.bottom <= rectangle.bottom + TOLERANCE);
}

async function labelRectangles() {
  for (const rectangle of rectangles.filter((rectangle) => !rectangle.isLabelled)) {
    rectangle.isLabelled = true;
    const blocks = positions.flatMap((position, number) => (isInside(position, rectangle) ? [number] : []));
    if (blocks.length) show(await request(`/api/page/${state.page}/label`, { blocks, label: rectangle.isMain ? "main" : "noise" }));
  }
}

function label(number, name, isSite = false, kind = 0) {
  const action = isSite ? "place" : "label";
  const page = state.page;
  if (state.blocks[number]) enqueue(async () => show(await request(`/api/page/${page}/${action}`, { blocks: [number], label: name, kind })));
}

async function finish() {
  await labelRectangles();
  show(await request(`/api/page/${state.page}/done`, {}));
  if (state.page + 1 < state.pages) await open(state.page + 1);
  else $("message").textContent = "The page is saved. It was the last page.";
}

function select(number) {
  current = Math.max(0, Math.min(number, state.blocks.length - 1));
  reveal(current);
  measure();
}

// Scrolls to a block that is out of sight, or, with *always*, to any block. The page may ask for
// smooth scrolling, during which the marks would be wrong.
function reveal(number, always = false) {
  const position = positions[number];
  if (!position || !position.bounds) return;
  position.element.scrollIntoView({ block: "nearest", behavior: "instant" });
  measure();
  const view = frame.contentWindow, { top, bottom } = position.bounds;
  if (always || top < view.scrollY || bottom > view.scrollY + view.innerHeight) view.scrollTo({ top: top - view.innerHeight / 3, behavior: "instant" });
}

// Asks for the name and the type of the value in the selected block.
function nameValue() {
  if (!state.blocks[current]) { $("message").textContent = "Select a block first: press J or K, or click with Ctrl."; return; }
  $("field-names").replaceChildren(...Object.keys(state.field_types).map((name) => new Option(name)));
  $("field-value").value = state.blocks[current].text.slice(0, 2000);
  field.showModal();
  $("field-value").select();
  $("field-name").focus();
}
$("field-name").addEventListener("change", () => {
  const type = state.field_types[$("field-name").value];
  if (type) $("field-type").value = type;
});
field.addEventListener("close", () => overlay.focus());
// The event "close" comes later than the click, when another page may be opening.
field.querySelector("form").addEventListener("submit", (event) => {
  if (event.submitter.value !== "save") return;
  const data = { name: $("field-name").value, type: $("field-type").value, value: $("field-value").value };
  const page = state.page;
  enqueue(async () => show(await request(`/api/page/${page}/field`, data)));
});

function revealHidden() {
  const view = frame.contentWindow;
  const set = (element, name, value) => element.style.setProperty(name, value, "important");
  for (const position of positions.filter((position) => position.element && !position.bounds)) {
    for (let element = position.element; element; element = element.parentElement) {
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

const scroll = (pages) => { frame.contentWindow.scrollBy({ top: pages * frame.clientHeight, behavior: "instant" }); moveLayer(); };
// Keys are ignored until the other page is open.
function leavePage(action) {
  isOpening = true;
  enqueue(action).then(() => { isOpening = false; });
}
const KEYS = {
  c: () => enqueue(labelRectangles),
  d: () => leavePage(finish),
  n: () => leavePage(() => open(Math.min(state.page + 1, state.pages - 1))),
  p: () => leavePage(() => open(Math.max(state.page - 1, 0))),
  z: () => enqueue(async () => show(await request(`/api/page/${state.page}/undo`, {}))),
  u: () => label(current, "unsure"),
  m: () => label(current, "main"),
  x: () => label(current, "noise"),
  M: () => label(current, "main", true),
  X: () => label(current, "noise", true),
  j: () => select(current + 1),
  k: () => select(current - 1),
  f: nameValue,
  h: revealHidden,
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
  if (event.ctrlKey || event.metaKey || help.open || field.open || isOpening) return;
  const isButton = event.target.closest("button") && [" ", "Enter"].includes(event.key);
  if (isButton) return;
  const action = KEYS[event.key] || (event.shiftKey ? null : KEYS[event.key.toLowerCase()]);
  if (action) { event.preventDefault(); action(); }
});
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => { if (isOpening) return; KEYS[button.dataset.key](); if (!help.open && !field.open) overlay.focus(); });
}

const pointOnPage = (event) => {
  const box = overlay.getBoundingClientRect(), view = frame.contentWindow;
  return { x: event.clientX - box.left + view.scrollX, y: event.clientY - box.top + view.scrollY };
};
// Returns the smallest block under a point.
const blockUnder = ({ x, y }) => {
  const area = (box) => (box.right - box.left) * (box.bottom - box.top);
  const hit = (box) => box && x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
  const hits = positions.map((position, number) => ({ number, box: position.bounds })).filter(({ box }) => hit(box));
  return hits.sort((first, second) => area(first.box) - area(second.box))[0];
};
let start = null;
overlay.addEventListener("pointerdown", (event) => {
  if (event.button || isOpening) return;
  overlay.setPointerCapture(event.pointerId);
  start = pointOnPage(event);
});
overlay.addEventListener("pointermove", (event) => {
  if (!start) return;
  const { x, y } = pointOnPage(event);
  if (!drawing && Math.hypot(x - start.x, y - start.y) < MIN_DRAG) return;
  drawing = { left: Math.min(x, start.x), top: Math.min(y, start.y), right: Math.max(x, start.x), bottom: Math.max(y, start.y), isMain: !event.altKey };
  draw();
});
overlay.addEventListener("pointerup", (event) => {
  if (!start || isOpening) { start = drawing = null; return; }
  if (drawing) rectangles.push(drawing);
  else {
    const hit = blockUnder(start);
    if (hit) {
      current = hit.number;
      if (event.ctrlKey || event.metaKey) nameValue();
      else label(current, state.blocks[current].label === "main" ? "noise" : "main", event.shiftKey);
    }
  }
  start = drawing = null;
  draw();
});
overlay.addEventListener("wheel", (event) => {
  event.preventDefault();
  const hit = blockUnder(pointOnPage(event));
  for (let element = hit && positions[hit.number].element; element; element = element.parentElement) {
    const scrolls = element.scrollHeight > element.clientHeight && /auto|scroll/.test(frame.contentWindow.getComputedStyle(element).overflowY);
    if (scrolls && element !== frame.contentDocument.documentElement && element !== frame.contentDocument.body) {
      const before = element.scrollTop;
      element.scrollTop += event.deltaY;
      if (element.scrollTop !== before) { measure(); return; }
    }
  }
  frame.contentWindow.scrollBy({ left: event.deltaX, top: event.deltaY, behavior: "instant" });
  moveLayer();
}, { passive: false });
window.addEventListener("resize", measure);
window.addEventListener("blur", () => setTimeout(() => { if (document.activeElement === frame) overlay.focus(); }));
overlay.focus();
enqueue(() => open(Number(document.body.dataset.first)));
