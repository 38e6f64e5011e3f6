// The card that is looked at: what it hears, and when. Nothing is said to a card that was not on the screen
// for a moment: keys and clicks that were meant for something else are dropped.

import { Gone, base, call, part } from "./server.js";
import { answer, forget, isGoing, markAgain, outdated, settled, wasTold } from "./answer.js";
import { ask, element, say, sayBriefly } from "./ask.js";
import * as drafts from "./drafts.js";
import * as fields from "./form.js";
import { DEAD_TIME } from "./keys.js";
import * as reading from "./read.js";
import { isField } from "./typing.js";

const pane = () => document.getElementById("pane");
export const current = () => document.getElementById("card");

let drawnAt = Infinity;
let looking = null;

// A card counts as drawn when a frame with it has been on the screen.
function drawn() {
  drawnAt = Infinity;
  const card = current();
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (card !== current()) return;
      reading.look(card);
      drawnAt = performance.now();
      seen(card);
    }),
  );
}

export function mayHear() {
  return performance.now() - drawnAt >= DEAD_TIME && document.visibilityState === "visible";
}

// What is on the screen changes where something scrolls or changes its size, and when the page is looked at again.
const look = () => reading.look(current());
addEventListener("scroll", look, { capture: true, passive: true });
document.addEventListener("visibilitychange", look);
const sizes = new ResizeObserver(look);

// Whether all that is asked was on the screen. A yes to the rest of it shows that first.
function hasRead(card) {
  const words = reading.showUnread(card, scroller);
  if (words) sayBriefly(words);
  return !words;
}

// Whether a card was read to its end.
export const isRead = () => mayHear() && reading.isRead(current());

// What was really on the screen was seen.
function seen(card) {
  if (!card || card.dataset.open !== "true" || document.visibilityState !== "visible") return;
  call("POST", `/gates/${card.dataset.id}/seen`, { digest: card.dataset.digest }).catch(() => {});
}

// So long the card before may still be read while the next one is fetched.
const SLOW = 200;
let missed = null;

// Shows the card of a gate. The one before is gone at once: nobody answers what they no longer look at.
export async function show(gate) {
  looking?.abort();
  looking = new AbortController();
  const { signal } = looking;
  drawnAt = Infinity;
  missed = null;
  retire();
  const slow = setTimeout(() => tellPane("…"), SLOW);
  try {
    const found = await part(`${base}/gates/${gate}?part=card`, { signal });
    pane().replaceChildren(...found);
  } catch (error) {
    if (!signal.aborted) fail(gate, error);
    throw error;
  } finally {
    clearTimeout(slow);
  }
  begin();
}

const nothing = pane() && !current() ? [...pane().childNodes] : [];

// No card is looked at any more.
export function close() {
  looking?.abort();
  drawnAt = Infinity;
  missed = null;
  pane().replaceChildren(...nothing);
}

// It can be read a moment longer, and hears nothing any more.
function retire() {
  const card = current();
  if (!card) return;
  card.removeAttribute("id");
  card.inert = true;
}

function tellPane(words) {
  pane().replaceChildren(element("p", words, "empty faint"));
}

function fail(gate, error) {
  if (!(error instanceof Gone)) return tellPane(error.message);
  missed = gate;
  tellPane("The server does not answer. This card is shown as soon as it does.");
}

addEventListener("server-is-back", () => missed && show(missed).catch(() => {}));

export function begin() {
  drawn();
  markAgain();
  const card = current();
  sizes.disconnect();
  [card, pane(), document.getElementById("all")].forEach((place) => place && sizes.observe(place));
  card?.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-do]");
    if (button) dispatchEvent(new CustomEvent("do", { detail: button.dataset.do }));
  });
  // Enter looks, and never says yes: not even where a button has the focus by chance.
  card?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.closest('[data-do="approve"]')) return;
    event.preventDefault();
    say("Enter says nothing here; press a, or the space bar");
  });
  // A form is never sent by Enter.
  card?.querySelector("form")?.addEventListener("submit", (event) => event.preventDefault());
  card?.addEventListener("input", (event) => {
    oneOfBoth(card, event.target);
    wrote(card);
  });
  const form = card?.querySelector("form");
  if (form) fields.begin(form);
  if (card?.dataset.open === "false") showWritten(card);
  else if (card) drafts.restore(card);
  if (card) tellCommand(card);
}

// What was written on a card that ended without it is still somebody's work: it can be read and copied. What is on its
// way may be what ended it.
function showWritten(card) {
  const words = isGoing(card.dataset.id) ? [] : drafts.words(card.dataset.id);
  if (!words.length || card.querySelector(".written")) return;
  const section = element("section", "", "facts written");
  section.setAttribute("aria-label", "You had written");
  const text = element("pre", words.join("\n\n"));
  text.tabIndex = 0;
  const copy = element("button", "Copy it");
  copy.type = "button";
  copy.addEventListener("click", () => copied(words.join("\n\n")));
  const away = element("button", "Throw it away", "plain");
  away.type = "button";
  away.addEventListener("click", () => {
    drafts.drop(card.dataset.id);
    section.remove();
  });
  const buttons = element("p", "", "buttons");
  buttons.append(copy, away);
  section.append(element("h3", "You had written"), element("p", "it was not sent", "source"), text, buttons);
  card.querySelector("header").after(section);
}

// What is written or picked is kept, and said as a command.
function wrote(card) {
  drafts.keep(card);
  tellCommand(card);
}

// Where one is wanted it is an option or words of one's own: the later takes the place of the other.
function oneOfBoth(card, changed) {
  if (card.dataset.shape !== "choice" || card.dataset.multi === "true") return;
  const other = card.querySelector('[name="other"]');
  if (changed.name === "picked" && other) other.value = "";
  if (changed === other && other.value.trim()) card.querySelectorAll('[name="picked"]').forEach((one) => (one.checked = false));
}

// Looks again. A card that is as it was stays, with what is being typed into it.
export async function refresh() {
  const card = current();
  if (!card) return;
  const found = await part(`${base}/gates/${card.dataset.id}?part=card`);
  const fresh = found.find((one) => one.id === "card");
  if (!fresh || card !== current()) return;
  const { digest, open } = card.dataset;
  if (fresh.dataset.digest === digest && fresh.dataset.open === open) return renew(card, fresh);
  const writing = whereIn(card);
  card.replaceWith(fresh);
  begin();
  if (fresh.dataset.open !== "true") return tellEnding(fresh);
  const { id, handle } = fresh.dataset;
  const isChanged = fresh.dataset.digest !== digest;
  if (isChanged && !outdated(id, fresh.dataset.digest, handle)) say("the card has changed; look again");
  if (writing) writeOn(fresh, writing);
}

// How it ended. What was held for it is not sent.
function tellEnding(card) {
  const { id, handle } = card.dataset;
  const unsent = settled(id) ? "; your answer was not sent" : "";
  if (!wasTold(id) || unsent) say(`${handle}: ${card.querySelector("#ending")?.textContent ?? "it has ended"}${unsent}`);
}

// Where on a card somebody is writing.
function whereIn(card) {
  const control = document.activeElement;
  if (!card.contains(control) || !isField(control)) return null;
  const { selectionStart, selectionEnd } = control;
  return { name: drafts.nameOf(card.querySelector("form"), control), selectionStart, selectionEnd };
}

// Whoever was writing writes on, in the same field of what became of the card. Where there is none, what they type
// goes nowhere.
function writeOn(card, { name, selectionStart, selectionEnd }) {
  const form = card.querySelector("form");
  const control = form && drafts.named(form, name);
  // A letter picks in a list, and nobody has picked from this one.
  if (!control || control.tagName === "SELECT") return;
  control.closest("details")?.setAttribute("open", "");
  control.focus();
  // Not every field tells where in it one is.
  if (selectionStart !== null && selectionStart !== undefined) control.setSelectionRange?.(selectionStart, selectionEnd);
  problem("the card changed while you wrote; read it again before you answer");
}

// Only what people did around it, so that nothing somebody typed is lost.
function renew(card, fresh) {
  for (const now of fresh.querySelectorAll("[data-live]")) {
    const old = card.querySelector(`[data-live="${now.dataset.live}"]`);
    if (!old || old.innerHTML === now.innerHTML) continue;
    old.replaceChildren(...now.childNodes);
    reading.renewed(card, old);
  }
  reading.look(card);
  if (card.dataset.open === "false") showWritten(card);
  card.dataset.claimed = fresh.dataset.claimed;
  card.dataset.same = fresh.dataset.same;
  card.dataset.off = fresh.dataset.off;
  for (const name of ["claim", "snooze"]) {
    const [old, now] = [card, fresh].map((one) => one.querySelector(`[data-do="${name}"]`));
    if (old && now) old.replaceChildren(...now.childNodes);
  }
}

function problem(words) {
  const place = current()?.querySelector("#problem");
  if (place) place.textContent = words;
  else say(words, { wrong: true });
}

// What every answer has: what was shown, and who else hears it.
function shown(card) {
  const { digest, same } = card.dataset;
  return same ? { digest, same } : { digest };
}

function reason(card) {
  const words = card.querySelector('[name="reason"]')?.value.trim();
  return words ? { reason: words } : {};
}

// The content of a yes, by the form of the answer; null with a word why where there is none.
function content(card) {
  const form = card.querySelector("form");
  switch (card.dataset.shape) {
    case "text": {
      const text = form.text.value.trim();
      return text ? { text } : missing("write your answer first", form.text);
    }
    case "choice": {
      const picked = [...form.querySelectorAll('[name="picked"]:checked')].map((one) => one.value);
      const other = form.querySelector('[name="other"]')?.value.trim();
      const count = form.querySelectorAll('[name="picked"]').length;
      if (!picked.length && !other) return missing(`pick an option first: 1 to ${Math.min(count, 9)}`);
      return { picked, ...(other ? { other } : {}) };
    }
    case "form":
      return filled(form);
    default:
      return changedArguments(form);
  }
}

// What is missing can be written at once. Nothing that could be pressed gets the focus: the next key would press it.
function missing(words, place) {
  problem(words);
  place?.focus();
  return null;
}

function filled(form) {
  problem("");
  const value = fields.filled(form.querySelector("#fields"));
  return value === null ? null : { form: value };
}

// What the server found wrong with a form stands where it belongs, if the card is still there.
addEventListener("misfits", ({ detail: { gate, misfits } }) => {
  const place = current()?.dataset.id === gate && current().querySelector("#fields");
  if (place && !fields.misfit(place, misfits)) problem(misfits.map(({ at, words }) => [at, words].filter(Boolean).join(": ")).join("; "));
});

// A call runs as it was shown, unless its arguments were changed here.
function changedArguments(form) {
  const place = form.querySelector('[name="arguments"]');
  if (!place || place.value === place.dataset.was) return {};
  try {
    return { arguments: JSON.parse(place.value) };
  } catch {
    return missing("the arguments are not JSON", place);
  }
}

function ready() {
  const card = current();
  if (!card || card.dataset.open !== "true") return null;
  if (card.dataset.mine !== "true") {
    say("it is not yours to answer", { wrong: true });
    return null;
  }
  return mayHear() ? card : null;
}

export function approve() {
  const card = ready();
  const said = card && content(card);
  if (!said || !hasRead(card)) return;
  problem("");
  const verdict = ["text", "picked", "other", "form"].some((part) => part in said) ? "answered" : "approved";
  const body = { verdict, ...shown(card), ...said, ...reason(card) };
  answer([{ card, body }], card.dataset.shape === "verdict" ? "approving" : "answering");
}

export async function reject() {
  const card = ready();
  if (!card) return;
  let why = reason(card);
  if (!why.reason) {
    const said = await asked(card, `Reject ${card.dataset.handle}`, { label: "Why, or what to do instead", go: "Reject" });
    if (said === null) return;
    why = said.trim() ? { reason: said.trim() } : {};
    if (card !== current()) return keepWords(card, said);
  }
  answer([{ card, body: { verdict: "rejected", ...shown(card), ...why } }], "rejecting");
}

// Asks something about a card. What was held for it is taken back: whoever thinks about it again has not said it.
function asked(card, title, how) {
  forget(card.dataset.id);
  return ask(title, how);
}

// A no to a card that changed meanwhile is no answer to what stands there now; the words for it are kept.
function keepWords(card, words) {
  const now = current();
  const place = now?.dataset.id === card.dataset.id ? now.querySelector('[name="reason"]') : null;
  if (place && !place.value) {
    place.value = words;
    wrote(now);
  }
  say(`${card.dataset.handle} has changed while you wrote; nothing was sent, look again`, { wrong: true });
}

// Picks an option; several where several may be picked. It says nothing by itself.
export function choose(number) {
  const option = ready()?.querySelector(`[data-number="${number}"]`);
  if (!option) return;
  option.checked = option.type === "checkbox" ? !option.checked : true;
  option.focus();
  oneOfBoth(current(), option);
  wrote(current());
  problem("");
  say("picked; a answers");
}

export function edit() {
  const card = ready();
  if (!card) return;
  const changed = card.querySelector("#arguments");
  if (changed) changed.open = true;
  const place = card.querySelector('[data-field], textarea, [name="other"], [name="reason"]');
  place?.focus();
}

async function deed(card, path, body, words) {
  const problem = await wants(card, path, body, words);
  if (problem) say(problem, { wrong: true });
}

// Wants something done with a card. What is wrong with it, or nothing.
async function wants(card, path, body, words) {
  try {
    await call("POST", `/gates/${card.dataset.id}/${path}`, body);
    say(words);
    dispatchEvent(new Event("change-in-space"));
    return "";
  } catch (error) {
    return [error.message, error.hint].filter(Boolean).join(". ");
  }
}

export async function snooze() {
  const card = ready();
  if (!card) return;
  const { handle, off } = card.dataset;
  if (off === "true") return deed(card, "snooze", { until: "now" }, `${handle} is back`);
  const check = (until) => wants(card, "snooze", { until }, `${handle} is put off`);
  await asked(card, `Put ${handle} off`, { label: "For how long", value: "1h", check });
}

export function claim() {
  const card = ready();
  if (!card) return;
  if (card.dataset.claimed === "true") deed(card, "release", {}, "given back");
  else deed(card, "claim", { until: "30m" }, "yours for half an hour");
}

export async function delegate() {
  const card = ready();
  if (!card) return;
  const check = (to) => wants(card, "delegate", { to }, `handed to ${to}`);
  await asked(card, `Hand ${card.dataset.handle} on`, { label: "To whom, by their name here", list: "people", check });
}

// What scrolls the card.
const scroller = () => (pane().scrollHeight > pane().clientHeight ? pane() : document.getElementById("all"));

// Reads on in a card that is longer than the screen.
export function scroll(pages) {
  const place = scroller();
  place.scrollBy({ top: pages * place.clientHeight * 0.8 });
}

export function diff() {
  const all = [...(current()?.querySelectorAll("details.diff") ?? [])];
  const open = !all.every((one) => one.open);
  all.forEach((one) => (one.open = open));
}

// A word as a shell takes it for one.
const quoted = (word) => (/^[\w.,:/@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

// The command that says what the card would say now. Where nothing is picked or written there is none: a command
// that only looks stands in its place, so that nobody sends an answer that was nobody's.
function command(card) {
  const { handle, shape } = card.dataset;
  const look = `sayso show ${handle}`;
  const form = card.querySelector("form");
  if (!form) return card.querySelector(".command")?.textContent ?? look;
  const why = form.reason?.value.trim() ?? "";
  const because = why ? ` ${option("reason", why)}` : "";
  switch (shape) {
    case "choice": {
      const picked = [...form.querySelectorAll('[name="picked"]:checked')].map((one) => one.dataset.number);
      const other = form.querySelector('[name="other"]')?.value.trim();
      const words = [...picked, ...(other ? [option("other", other)] : [])];
      return words.length ? `sayso choose ${handle} ${words.join(" ")}${because}` : look;
    }
    case "text": {
      const text = form.text.value.trim();
      if (!text) return look;
      return why ? `sayso answer ${handle}${because}${plain(text)}` : `sayso respond ${handle}${plain(text)}`;
    }
    case "verdict":
      return verdict(card, form, why, because) ?? look;
    default:
      return look;
  }
}

// Words that could be taken for an option are none.
const plain = (words) => ` ${words.startsWith("-") ? "-- " : ""}${quoted(words)}`;
const option = (name, words) => `--${name}${words.startsWith("-") ? "=" : " "}${quoted(words)}`;

// A yes with all that goes with it: what stands on the card is what is said, or nothing is.
function verdict(card, form, why, because) {
  const { handle } = card.dataset;
  const place = form.querySelector('[name="arguments"]');
  if (place && place.value !== place.dataset.was) {
    const changed = place.value.trim();
    return isJson(changed) ? `sayso answer ${handle} yes ${option("arguments", changed)}${because}` : null;
  }
  const isWork = [...card.querySelectorAll(".command")].some((one) => one.textContent.startsWith("sayso done "));
  return `sayso ${isWork ? "done" : "approve"} ${handle}${why ? plain(why) : ""}`;
}

function isJson(text) {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

// What stands on the card as a command follows what is picked and written.
function tellCommand(card) {
  const [first, ...others] = card.querySelectorAll(".command");
  if (!first || !card.querySelector("form")) return;
  const why = card.querySelector('[name="reason"]')?.value.trim();
  const no = others.find((one) => one.textContent.startsWith("sayso reject "));
  if (no) no.textContent = `sayso reject ${card.dataset.handle}${why ? plain(why) : ' "reason"'}`;
  first.textContent = command(card);
}

export async function copy() {
  const card = current();
  if (!card) return;
  await copied(command(card));
}

async function copied(words) {
  try {
    await navigator.clipboard.writeText(words);
    say(`copied: ${words}`);
  } catch {
    say(words);
  }
}
