// The list beside the card. Nothing in it moves while somebody looks: what is new comes at its end, what is
// over stays in its place and says so, until the list is asked for anew.

import { GONE, Gone, call, part } from "./server.js";
import { markAgain, outdated, settled } from "./answer.js";
import { element, say } from "./ask.js";
import * as typing from "./typing.js";
import * as card from "./card.js";
import * as marks from "./marks.js";
import { tellCount } from "./count.js";

const list = document.getElementById("list");
const all = document.getElementById("all");
const wide = matchMedia("(min-width: 60rem)");
const rows = () => [...list.querySelectorAll(".row:not([hidden])")];
const here = () => list.querySelector(".row.here");

// Where one is in the list.
function stand(row) {
  const before = here();
  before?.classList.remove("here");
  before?.querySelector("a")?.removeAttribute("aria-current");
  row.classList.add("here");
  row.querySelector("a").setAttribute("aria-current", "true");
  row.scrollIntoView({ block: "nearest" });
}

function select(row, { focus = true } = {}) {
  if (!row || row === here()) return;
  stand(row);
  if (focus) row.querySelector("a").focus({ preventScroll: true });
  // Whoever comes back, after a login or by the buttons of their browser, comes back to this card.
  history.replaceState(null, "", row.dataset.handle ? `#${row.dataset.handle}` : location.pathname + location.search);
  if (wide.matches && row.dataset.id) card.show(row.dataset.id).catch(wrong);
  // Early enough that nobody has to wait at the end.
  if (rows().indexOf(row) >= rows().length - 15) more().catch(() => {});
}

// That the server is gone stands in the place of the card, and at the head of the page.
function wrong(error) {
  if (error.name !== "AbortError" && !(error instanceof Gone)) say([error.message, error.hint].filter(Boolean).join(". "), { wrong: true });
}

export function move(step) {
  const shown = rows();
  const at = shown.indexOf(here());
  select(shown[Math.min(Math.max(at + step, 0), shown.length - 1)]);
}

export const first = () => select(rows()[0]);

// The last of all, not of those that happen to be loaded.
export async function last() {
  select(rows().at(-1));
  if (!list.querySelector("#more")) return;
  const before = here();
  say("looking for the end of the list …");
  await loadAll().catch(() => {});
  if (here() === before) select(rows().at(-1));
  say(list.querySelector("#more") ? `the list goes on; these are the first ${rows().length}` : "");
}

export function open() {
  const row = here();
  if (!row) return;
  // What is looked at is the question: where something could be typed, the next key would be a letter of it.
  if (wide.matches && row.dataset.id) document.getElementById("question")?.focus();
  else location.href = row.querySelector("a").href;
}

// Out of what was begun: of finding first, as in the terminal, then of what is marked.
export function back() {
  const field = document.getElementById("filter");
  if (field?.value) return showAll(field);
  if (marks.clear()) return;
  if (location.pathname.endsWith("/inbox")) here()?.querySelector("a").focus();
}

// The next list.
export function nextView() {
  const tabs = [...list.querySelectorAll(".tabs a")];
  if (!tabs.length) return;
  const at = tabs.findIndex((tab) => tab.getAttribute("aria-current"));
  go(tabs[(at + 1) % tabs.length].href);
}

const address = () => location.pathname + location.search;
let loaded = "";

// Which list is there. Whoever comes back from a card comes back to it.
function note() {
  loaded = address();
  sessionStorage.setItem("list", loaded);
}

note();

let wanted = "";

// To another list, on the same page: what is held stays held, and can be taken back.
async function go(href) {
  wanted = href;
  try {
    const found = await part(withPart(href));
    // The last one that was asked for is the one that is meant.
    if (wanted !== href) return;
    history.pushState(null, "", href);
    put(found);
  } catch (error) {
    if (!(error instanceof Gone)) return wrong(error);
    say(`${GONE}; this is the list as it was`, { wrong: true });
  }
}

function withPart(href) {
  const list = new URL(href, location.href);
  list.searchParams.set("part", "list");
  return list.pathname + list.search;
}

function put(found) {
  const [wasIn, wasAtTabs] = [list, list.querySelector(".tabs")].map((place) => place?.contains(document.activeElement));
  note();
  list.replaceChildren(...found);
  list.scrollTop = 0;
  card.close();
  markAgain();
  if (wasAtTabs) list.querySelector(".tabs [aria-current]")?.focus();
  else if (wasIn) all.focus({ preventScroll: true });
  tellCount(list.querySelector(".rows")?.dataset.waiting ?? "");
}

// The buttons of a browser lead to the list that was there, and to the card.
addEventListener("popstate", async () => {
  if (loaded === address()) return;
  // A page further down has no head by itself.
  if (location.search.includes("after=")) return location.reload();
  try {
    put(await part(withPart(location.href)));
    toNamed();
  } catch (error) {
    wrong(error);
  }
});

export function filter() {
  document.getElementById("filter")?.focus();
}

const sought = () => document.getElementById("filter")?.value.trim().toLowerCase() ?? "";

// Shows only what has the words in it. What one asker has beyond those listed may have them, too.
function narrow() {
  const words = sought();
  const has = (row) => row.classList.contains("many") || row.textContent.toLowerCase().includes(words);
  for (const row of list.querySelectorAll(".row")) row.hidden = !has(row);
  tellFound(words);
}

// Says how far was looked, and that nothing was found.
function tellFound(words) {
  const place = document.getElementById("found") ?? (words && made());
  if (!place) return;
  const isFound = rows().some((row) => row.dataset.id);
  const isWhole = !list.querySelector("#more");
  const said = () => {
    if (!words) return "";
    if (isLooking) return "looking further …";
    if (!isWhole) return `looked through the first ${list.querySelectorAll(".row").length}`;
    return isFound ? "" : "nothing has these words";
  };
  place.textContent = said();
  place.hidden = !place.textContent;
}

function made() {
  const place = element("p", "", "found faint");
  place.id = "found";
  place.setAttribute("role", "status");
  list.querySelector(".rows").before(place);
  return place;
}

let isLooking = false;

// Looks for it in the whole list, not only in what is loaded.
async function find() {
  isLooking = sought() !== "" && list.querySelector("#more") !== null;
  narrow();
  if (!isLooking) return;
  await loadAll(() => !sought()).catch(() => {});
  isLooking = false;
  narrow();
}

function showAll(field) {
  field.value = "";
  narrow();
}

// Out of the field, to the row that is looked at or the first there is.
function leave(field) {
  field.blur();
  const row = rows().includes(here()) ? here() : rows()[0];
  if (row === here()) row?.querySelector("a").focus({ preventScroll: true });
  else select(row);
}

// As in the terminal: Enter keeps what was found, Esc shows all.
list.addEventListener("keydown", (event) => {
  const field = event.target;
  if (field.id !== "filter" || event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  typing.over();
  if (event.key === "Escape") showAll(field);
  leave(field);
});

export const mark = () => marks.mark(here());

let loading = null;

// The next page of the list, below what is there. Asked for twice it comes once.
function more() {
  loading ??= nextPage().finally(() => {
    loading = null;
    narrow();
  });
  return loading;
}

async function nextPage() {
  const link = list.querySelector("#more");
  if (!link) return;
  const found = await part(`${link.href}&part=list`);
  // Another list may be there by now.
  if (!link.isConnected) return;
  link.closest("p").remove();
  const fresh = found.find((one) => one.classList?.contains("rows"));
  const known = new Set([...list.querySelectorAll(".row")].map((row) => row.id));
  list.querySelector(".rows").append(...[...(fresh?.children ?? [])].filter((row) => !known.has(row.id)));
  const next = found.find((one) => one.classList?.contains("more"));
  if (next) list.append(next);
}

// So many pages are loaded to find something.
const PAGES_MAX = 20;

// The whole list, as far as is sensible, or as far as somebody wants.
async function loadAll(isEnough = () => false) {
  for (let page = 0; page < PAGES_MAX && list.querySelector("#more") && !isEnough(); page++) await more();
}

// Looks again at the first page: what is there, what is new, what is over.
export async function refresh() {
  const asked = address();
  const found = await part(withPart(location.href));
  const fresh = found.find((one) => one.classList?.contains("rows"));
  if (!fresh || asked !== loaded) return;
  const now = new Map([...fresh.children].map((row) => [row.id, row]));
  // Where all of it is listed, what is missing is over; elsewhere it may stand further down.
  const isWhole = !fresh.querySelector(".many") && !found.some((one) => one.classList?.contains("more"));
  let unsure = UNSURE_MAX;
  for (const row of list.querySelectorAll(".row")) {
    const other = now.get(row.id);
    if (other) renew(row, other);
    else if (!row.dataset.id) row.remove();
    else if (!row.classList.contains("over") && (isWhole || unsure-- > 0)) over(row, isWhole);
    now.delete(row.id);
  }
  if (now.size) list.querySelector(".empty")?.remove();
  list.querySelector(".rows").append(...now.values());
  narrow();
  tellCount(fresh.dataset.waiting);
}

function renew(row, other) {
  const { id, handle } = row.dataset;
  const isChanged = id && row.dataset.digest !== other.dataset.digest;
  Object.assign(row.dataset, other.dataset);
  // What was marked or is held was said to what stood there before.
  if (isChanged) {
    marks.changed(row);
    outdated(id, other.dataset.digest, handle);
  }
  for (const name of ["new", "fresh", "waiting", "old", "off", "over"]) {
    row.classList.toggle(name, other.classList.contains(name));
  }
  const [old, now] = [row.querySelector("a"), other.querySelector("a")];
  if (old.innerHTML !== now.innerHTML) old.replaceChildren(...now.childNodes);
}

// So many rows of a long list are asked after when they are not among the first any more.
const UNSURE_MAX = 20;

// It waits no more. It stays where it is, so that nothing slides under anybody's hand.
async function over(row, isSure) {
  const mark = () => {
    row.classList.add("over");
    row.classList.remove("marked", "new");
  };
  if (isSure) mark();
  const gate = await call("GET", `/gates/${row.dataset.id}`).catch(() => null);
  const isPutOff = gate?.state === "open" && gate.snoozed_until;
  if (!gate || (gate.state === "open" && !isPutOff)) return;
  mark();
  row.classList.toggle("off", Boolean(isPutOff));
  if (!isPutOff && settled(row.dataset.id)) say(`${row.dataset.handle} has ended; your answer was not sent`, { wrong: true });
  const words = isPutOff ? "put off" : gate.answer ? `${gate.verdict} by ${gate.answer.by}` : gate.state;
  row.querySelector(".about:last-child")?.replaceChildren(words);
}

list.addEventListener("click", (event) => {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.button;
  if (event.target.id === "more" && isPlain) {
    event.preventDefault();
    more().catch(wrong);
    return;
  }
  const link = event.target.closest("a");
  const isList = link && new URL(link.href).pathname === location.pathname;
  if (isList && isPlain) {
    event.preventDefault();
    go(link.href);
    return;
  }
  const row = event.target.closest(".row");
  if (!row?.dataset.id || !wide.matches || event.ctrlKey || event.metaKey || event.button) return;
  event.preventDefault();
  select(row);
});

// What is said takes room from the page; the row that is looked at stays in sight.
let height = all.clientHeight;
new ResizeObserver(() => {
  const isLess = all.clientHeight < height;
  height = all.clientHeight;
  if (isLess) here()?.scrollIntoView({ block: "nearest" });
}).observe(all);

list.addEventListener("focusin", (event) => {
  const row = event.target.closest(".row");
  if (row) select(row, { focus: false });
});

list.addEventListener("input", (event) => {
  if (event.target.id === "filter") find();
});

// The card somebody comes back to, in the list or, where it is there no more, beside it.
function toNamed() {
  const named = location.hash.slice(1);
  if (!/^\w+$/.test(named)) return;
  const row = rowOf(named);
  if (row) select(row, { focus: wide.matches });
  else if (wide.matches) card.show(named).then(() => lookFor(named), wrong);
}

toNamed();

function rowOf(handle) {
  return rows().find((one) => one.dataset.handle === handle);
}

// Its place in the list, so that the keys go on from there.
async function lookFor(handle) {
  if (card.current()?.dataset.open !== "true") return;
  await loadAll(() => here() || rowOf(handle)).catch(() => {});
  const row = rowOf(handle);
  if (row && !here() && card.current()?.dataset.handle === handle) stand(row);
}
