// The list beside the card. Nothing in it moves while somebody looks: what is new comes at its end, what is
// over stays in its place and says so, until the list is asked for anew.

import { Gone, call, part } from "./server.js";
import { answer, forget, settled } from "./answer.js";
import { ask, element, say } from "./ask.js";
import * as typing from "./typing.js";
import * as card from "./card.js";

const list = document.getElementById("list");
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
  const all = rows();
  const at = all.indexOf(here());
  select(all[Math.min(Math.max(at + step, 0), all.length - 1)]);
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

// Out of what was begun: of finding first, as in the terminal.
export function back() {
  const field = document.getElementById("filter");
  if (field?.value) return showAll(field);
  if (location.pathname.endsWith("/inbox")) here()?.querySelector("a").focus();
}

// The next list.
export function nextView() {
  const tabs = [...list.querySelectorAll(".tabs a")];
  if (!tabs.length) return;
  const at = tabs.findIndex((tab) => tab.getAttribute("aria-current"));
  location.href = tabs[(at + 1) % tabs.length].href;
}

export function filter() {
  document.getElementById("filter")?.focus();
}

const wanted = () => document.getElementById("filter")?.value.trim().toLowerCase() ?? "";

// Shows only what has the words in it. What one asker has beyond those listed may have them, too.
function narrow() {
  const words = wanted();
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
  isLooking = wanted() !== "" && list.querySelector("#more") !== null;
  narrow();
  if (!isLooking) return;
  await loadAll(() => !wanted()).catch(() => {});
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

// Several at once, as long as they are alike: nobody says yes to a risky one among harmless ones.
export function mark() {
  const row = here();
  if (!row?.dataset.id || row.classList.contains("over")) return;
  row.classList.toggle("marked");
  const count = marked().length;
  say(count ? `${count} marked; a approves, r rejects all of them` : "none marked");
}

export const marked = () => [...list.querySelectorAll(".row.marked:not(.over)")];

export async function answerMarked(verdict) {
  const all = marked();
  const alike = new Set(all.map((row) => `${row.dataset.risk} ${row.dataset.shape}`));
  if (alike.size > 1) return say("these differ in risk or in what is asked; answer them one by one", { wrong: true });
  if (all[0].dataset.shape !== "verdict" && verdict === "approved") {
    return say("each of these wants an answer of its own", { wrong: true });
  }
  if (all.some((row) => row.dataset.mine !== "true")) return say("some of these are not yours to answer", { wrong: true });
  let why = null;
  if (verdict === "rejected") {
    why = await ask(`Reject ${all.length}`, { label: "Why, or what to do instead", go: "Reject" });
    if (why === null) return;
  }
  const body = (row) => ({
    verdict,
    digest: row.dataset.digest,
    ...(row.dataset.same ? { same: row.dataset.same } : {}),
    ...(why?.trim() ? { reason: why.trim() } : {}),
  });
  const word = verdict === "approved" ? "approving" : "rejecting";
  const marks = (on) => all.forEach((row) => row.classList.toggle("marked", on));
  marks(false);
  // What is taken back is marked as it was.
  answer(all.map((row) => ({ card: row, body: body(row) })), `${word} ${all.length} cards`, () => marks(true));
}

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
  const address = new URL(location.href);
  address.searchParams.set("part", "list");
  const found = await part(address.pathname + address.search);
  const fresh = found.find((one) => one.classList?.contains("rows"));
  if (!fresh) return;
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

// How many wait, in the head of the page and on its tab.
function tellCount(count) {
  const place = document.getElementById("waiting");
  if (place) place.textContent = count;
  document.title = document.title.replace(/^(\(\d+\+?\) )?/, count ? `(${count}) ` : "");
}

function renew(row, other) {
  // What was marked was marked as it was.
  if (row.classList.contains("marked") && row.dataset.digest !== other.dataset.digest) {
    row.classList.remove("marked");
    say(`${row.dataset.handle} has changed and is marked no more; look again`, { wrong: true });
  }
  // What is held was said to what stood there before.
  if (row.dataset.id && row.dataset.digest !== other.dataset.digest) forget(row.dataset.id);
  Object.assign(row.dataset, other.dataset);
  for (const name of ["new", "fresh", "waiting", "old", "off"]) {
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
  const row = event.target.closest(".row");
  if (!row?.dataset.id || !wide.matches || event.ctrlKey || event.metaKey || event.button) return;
  event.preventDefault();
  select(row);
});

list.addEventListener("focusin", (event) => {
  const row = event.target.closest(".row");
  if (row) select(row, { focus: false });
});

list.addEventListener("input", (event) => {
  if (event.target.id === "filter") find();
});

tellCount(list.querySelector(".rows")?.dataset.waiting ?? "");

// The card somebody comes back to, in the list or, where it is there no more, beside it.
const named = decodeURIComponent(location.hash.slice(1));
if (/^\w+$/.test(named)) {
  const row = rowOf(named);
  if (row) select(row, { focus: wide.matches });
  else if (wide.matches) card.show(named).then(() => lookFor(named), wrong);
}

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
