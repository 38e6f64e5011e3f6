// The card that is looked at: what it hears, and when. Nothing is said to a card that was not on the screen
// for a moment: keys and clicks that were meant for something else are dropped.

import { base, call, part } from "./server.js";
import { answer, forget, markAgain, wasTold } from "./answer.js";
import { ask, say } from "./ask.js";
import { DEAD_TIME } from "./keys.js";

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
      drawnAt = performance.now();
      seen(card);
    }),
  );
}

export function mayHear() {
  return performance.now() - drawnAt >= DEAD_TIME && document.visibilityState === "visible";
}

// What was really on the screen was seen.
function seen(card) {
  if (!card || card.dataset.open !== "true" || document.visibilityState !== "visible") return;
  call("POST", `/gates/${card.dataset.id}/seen`, { digest: card.dataset.digest }).catch(() => {});
}

// Shows the card of a gate. The one before is gone at once: nobody answers what they no longer see.
export async function show(gate) {
  looking?.abort();
  looking = new AbortController();
  drawnAt = Infinity;
  const found = await part(`${base}/gates/${gate}?part=card`, { signal: looking.signal });
  pane().replaceChildren(...found);
  begin();
}

export function begin() {
  drawn();
  markAgain();
  const card = current();
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
  card?.addEventListener("input", () => tellCommand(card));
  if (card) tellCommand(card);
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
  card.replaceWith(fresh);
  if (fresh.dataset.digest !== digest) {
    forget(fresh.dataset.id);
    say("the card has changed; look again");
  }
  else if (fresh.dataset.open !== open && !wasTold(fresh.dataset.id)) say(`${fresh.dataset.handle}: ${fresh.querySelector("#ending")?.textContent ?? ""}`);
  begin();
}

// Only what people did around it, so that nothing somebody typed is lost.
function renew(card, fresh) {
  for (const now of fresh.querySelectorAll("[data-live]")) {
    const old = card.querySelector(`[data-live="${now.dataset.live}"]`);
    if (old && old.innerHTML !== now.innerHTML) old.replaceChildren(...now.childNodes);
  }
  card.dataset.claimed = fresh.dataset.claimed;
  card.dataset.same = fresh.dataset.same;
  const [old, now] = [card, fresh].map((one) => one.querySelector('[data-do="claim"]'));
  if (old && now) old.replaceChildren(...now.childNodes);
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
      if (!picked.length && !other) return missing(`pick an option first: 1 to ${Math.min(count, 9)}`, form.querySelector("input"));
      return { picked, ...(other ? { other } : {}) };
    }
    case "form":
      return filled(form);
    default:
      return changedArguments(form);
  }
}

function missing(words, place) {
  problem(words);
  place?.focus();
  return null;
}

function filled(form) {
  const all = {};
  for (const field of form.querySelectorAll("[data-field]")) {
    const typed = field.value.trim();
    if (!typed && field.dataset.needed === "true") return missing(`${field.dataset.field} is needed`, field);
    if (!typed) continue;
    const value = read(field, typed);
    if (value === undefined) return missing(`${field.dataset.field || "the answer"} is not right`, field);
    if (!field.dataset.field) return { form: value };
    all[field.dataset.field] = value;
  }
  return { form: all };
}

function read(field, typed) {
  switch (field.dataset.kind) {
    case "number":
      return Number.isFinite(Number(typed)) ? Number(typed) : undefined;
    case "boolean":
      return typed === "true";
    case "json":
      try {
        return JSON.parse(typed);
      } catch {
        return undefined;
      }
    default:
      return typed;
  }
}

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
  if (!said) return;
  problem("");
  const body = { verdict: "approved", ...shown(card), ...said, ...reason(card) };
  const word = card.dataset.shape === "verdict" ? "approving" : "answering";
  answer([{ card, body }], `${word} ${card.dataset.handle}`);
}

export async function reject() {
  const card = ready();
  if (!card) return;
  let why = reason(card);
  if (!why.reason) {
    const said = await ask(`Reject ${card.dataset.handle}`, { label: "Why, or what to do instead", go: "Reject" });
    if (said === null || card !== current()) return;
    why = said.trim() ? { reason: said.trim() } : {};
  }
  answer([{ card, body: { verdict: "rejected", ...shown(card), ...why } }], `rejecting ${card.dataset.handle}`);
}

// Picks an option; several where several may be picked. It says nothing by itself.
export function choose(number) {
  const option = ready()?.querySelector(`[data-number="${number}"]`);
  if (!option) return;
  option.checked = option.type === "checkbox" ? !option.checked : true;
  option.focus();
  tellCommand(current());
  problem("");
  say("picked; a answers");
}

export function edit() {
  const card = ready();
  if (!card) return;
  const changed = card.querySelector("#arguments");
  if (changed) changed.open = true;
  const place = card.querySelector('textarea, [name="other"], [name="reason"]');
  place?.focus();
}

async function deed(card, path, body, words) {
  try {
    await call("POST", `/gates/${card.dataset.id}/${path}`, body);
    say(words);
    dispatchEvent(new Event("change-in-space"));
  } catch (error) {
    say([error.message, error.hint].filter(Boolean).join(". "), { wrong: true });
  }
}

export async function snooze() {
  const card = ready();
  const until = card && (await ask(`Put ${card.dataset.handle} off`, { label: "For how long", value: "1h" }));
  if (until) deed(card, "snooze", { until }, `${card.dataset.handle} is put off`);
}

export function claim() {
  const card = ready();
  if (!card) return;
  if (card.dataset.claimed === "true") deed(card, "release", {}, "given back");
  else deed(card, "claim", { until: "30m" }, "yours for half an hour");
}

export async function delegate() {
  const card = ready();
  const to = card && (await ask(`Hand ${card.dataset.handle} on`, { label: "To whom" }));
  if (to) deed(card, "delegate", { to }, `handed to ${to}`);
}

// Reads on in a card that is longer than the screen.
export function scroll(pages) {
  const place = pane().scrollHeight > pane().clientHeight ? pane() : document.scrollingElement;
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
  if (shape === "choice" && form) {
    const picked = [...form.querySelectorAll('[name="picked"]:checked')].map((one) => one.dataset.number);
    const other = form.querySelector('[name="other"]')?.value.trim();
    const words = [...picked, ...(other ? [`--other ${quoted(other)}`] : [])];
    return words.length ? `sayso choose ${handle} ${words.join(" ")}` : look;
  }
  if (shape === "text" && form) {
    const text = form.text.value.trim();
    return text ? `sayso respond ${handle} ${quoted(text)}` : look;
  }
  if (shape === "form") return look;
  return card.querySelector(".command")?.textContent ?? look;
}

// What stands on the card as a command follows what is picked and written.
function tellCommand(card) {
  const place = card.querySelector(".command");
  if (place) place.textContent = command(card);
}

export async function copy() {
  const card = current();
  if (!card) return;
  const words = command(card);
  try {
    await navigator.clipboard.writeText(words);
    say(`copied: ${words}`);
  } catch {
    say(words);
  }
}
