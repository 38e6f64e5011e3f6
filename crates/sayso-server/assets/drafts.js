// What somebody began to write on a card and has not said yet: kept in this tab for as long as the card waits, so
// that looking elsewhere, a reload or a changed card takes nothing away. What was picked is kept for the very card
// it was picked on; words are kept for what becomes of it, too.

import { person, space } from "./server.js";
import { addEntry } from "./form.js";

const NAME = "drafts";
const DRAFTS_MAX = 30;
const DRAFT_CHARS_MAX = 100000;

const all = () => {
  try {
    const kept = JSON.parse(sessionStorage.getItem(NAME) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
};

function keepAll(drafts) {
  try {
    if (drafts.length) sessionStorage.setItem(NAME, JSON.stringify(drafts.slice(-DRAFTS_MAX)));
    else sessionStorage.removeItem(NAME);
  } catch {
    // A browser that keeps nothing, or has no room: then it stands on the card alone.
  }
}

const isOf = (gate) => (draft) => draft.gate === gate && draft.person === person && draft.space === space;
const isBox = (control) => control.type === "radio" || control.type === "checkbox";
const isPick = (control) => isBox(control) || control.tagName === "SELECT";

// Whether it is what somebody wrote, and not what the card came with.
function isTouched(control) {
  if (isBox(control)) return control.checked !== control.defaultChecked;
  return control.value !== (control.dataset.shown ?? control.defaultValue);
}

// The controls of a form with a name for each, which is the same on the card when it is drawn anew.
function controls(form) {
  const counts = new Map();
  return [...form.querySelectorAll("input, select, textarea")].map((control) => {
    const path = [];
    for (let field = control.closest(".field"); field; field = field.parentElement.closest(".field")) path.unshift(field.dataset.name);
    const plain = control.name || ["", ...path].join("/");
    const count = counts.get(plain) ?? 0;
    counts.set(plain, count + 1);
    return [`${plain}#${count}`, control];
  });
}

// The name of the control somebody is in, to find it again.
export function nameOf(form, control) {
  return controls(form).find(([, one]) => one === control)?.[0] ?? null;
}

export function named(form, name) {
  return controls(form).find(([one]) => one === name)?.[1] ?? null;
}

export function keep(card) {
  const form = card.querySelector("form");
  if (!form) return;
  const values = controls(form).map(([name, control]) => [name, isBox(control) ? control.checked : control.value, isTouched(control)]);
  const entries = [...form.querySelectorAll(".field.list")].map((field) => field.querySelectorAll(":scope > .entries > li").length);
  const draft = { gate: card.dataset.id, digest: card.dataset.digest, person, space, values, entries };
  const others = all().filter((one) => !isOf(draft.gate)(one));
  keepAll(JSON.stringify(draft).length > DRAFT_CHARS_MAX ? others : [...others, draft]);
}

export function drop(gate) {
  const kept = all();
  const left = kept.filter((one) => !isOf(gate)(one));
  if (left.length !== kept.length) keepAll(left);
}

// Whether something was written or picked on a card and not said yet.
export function isBegun(gate) {
  return all().find(isOf(gate))?.values.some(([, , wasTouched]) => wasTouched) ?? false;
}

// The words that were written on a card, whatever became of it.
export function words(gate) {
  const written = all().find(isOf(gate))?.values.filter(([, value, wasTouched]) => wasTouched && typeof value === "string" && value.trim());
  return written?.map(([, value]) => value) ?? [];
}

// Writes onto a card what was begun on it.
export function restore(card) {
  const form = card.querySelector("form");
  const draft = form && all().find(isOf(card.dataset.id));
  if (!draft) return;
  const isSame = draft.digest === card.dataset.digest;
  const lists = [...form.querySelectorAll(".field.list")];
  if (isSame) lists.forEach((field, at) => resize(field, draft.entries[at] ?? 1));
  const values = new Map(draft.values.map(([name, ...rest]) => [name, rest]));
  for (const [name, control] of controls(form)) {
    const [value, wasTouched] = values.get(name) ?? [];
    const isKept = isSame || (wasTouched && !isPick(control));
    if (value !== undefined && isKept) put(control, value);
  }
}

function put(control, value) {
  if (value === (isBox(control) ? control.checked : control.value)) return;
  if (isBox(control)) control.checked = value;
  else control.value = value;
  const field = control.closest(".field");
  field?.classList.remove("suggests");
  if (control.dataset.use !== undefined) field.querySelector(":scope > .inner").hidden = !value;
  // What would be said stands where it is seen.
  control.closest("details")?.setAttribute("open", "");
}

function resize(field, count) {
  const list = field.querySelector(":scope > .entries");
  while (list.children.length > Math.max(count, 1)) list.lastElementChild.remove();
  while (list.children.length < count) addEntry(field);
}
