// The fields of a form: what they hold, entries that come and go, and what is wrong with them. What is left alone is
// not sent; what the asker suggests is sent as it stands, when the person sends it.

const NONE = Symbol("nothing");

const fieldsOf = (place) => [...place.querySelectorAll(":scope > .field")];
const inner = (field) => field.querySelector(":scope > .inner");
const entries = (field) => [...field.querySelectorAll(":scope > .entries input")];
const control = (field) => field.querySelector("input, select, textarea");

export function begin(form) {
  form.querySelectorAll("[data-moment]").forEach(localise);
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-entry]");
    if (button?.dataset.entry === "add") add(button.closest(".field"));
    if (button?.dataset.entry === "remove") remove(button.closest("li"));
  });
  // The next entry of a list is one key away; Enter sends nothing.
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || !event.target.closest(".entries input")) return;
    event.preventDefault();
    add(event.target.closest(".field"));
  });
  form.addEventListener("input", (event) => {
    const field = event.target.closest(".field");
    if (!field) return;
    if (event.target.dataset?.use !== undefined) inner(field).hidden = !event.target.checked;
    // What somebody changed is theirs.
    field.classList.remove("suggests");
    tell(field, "");
  });
  // A wheel that turns over a number reads on, and changes nothing.
  form.addEventListener("wheel", (event) => event.target.type === "number" && event.target.blur(), { passive: true });
}

// Moments are suggested in any time zone, shown in that of the browser, and sent as they were where nobody changed them.
function localise(input) {
  const exact = input.dataset.moment;
  if (!exact) return;
  const isTime = input.dataset.kind === "time";
  const at = new Date(isTime ? `${new Date().toISOString().slice(0, 10)}T${exact}` : exact);
  if (Number.isNaN(at.getTime())) return;
  const two = (number) => String(number).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  input.value = isTime ? time : `${day}T${time}`;
  input.dataset.shown = input.value;
  input.dataset.exact = exact;
}

// One more entry, an empty one.
export function addEntry(field) {
  const list = field.querySelector(".entries");
  const made = list.lastElementChild.cloneNode(true);
  const input = made.querySelector("input");
  for (const name of ["value", "data-moment", "data-shown", "data-exact"]) input.removeAttribute(name);
  input.value = "";
  list.append(made);
  number(field);
  return input;
}

function add(field) {
  addEntry(field).focus();
  changed(field);
}

// Entries that came or went are a change, too.
const changed = (field) => field.dispatchEvent(new Event("input", { bubbles: true }));

// The last entry is emptied: there is always one to type into.
function remove(row) {
  const field = row.closest(".field");
  const next = row.nextElementSibling ?? row.previousElementSibling;
  if (next) row.remove();
  else row.querySelector("input").value = "";
  field.classList.remove("suggests");
  number(field);
  (next ?? row).querySelector("input").focus();
  changed(field);
}

function number(field) {
  entries(field).forEach((input, at) => {
    input.setAttribute("aria-label", `${field.dataset.title}, entry ${at + 1}`);
    input.nextElementSibling.setAttribute("aria-label", `Remove entry ${at + 1}`);
  });
}

// What was filled in, or null where something is missing or wrong; then the fields say what.
export function filled(place) {
  const wrongs = [];
  place.querySelectorAll(".field").forEach((field) => tell(field, ""));
  const [first] = fieldsOf(place);
  // A form that is one value has one field without a name.
  const value = first && !first.dataset.name ? read(first, wrongs) : object(place, wrongs);
  if (!wrongs.length) return value === NONE ? null : value;
  complain(wrongs);
  return null;
}

// Two things that are wrong with one field stand there both.
function complain(wrongs) {
  const all = new Map();
  for (const { field, words } of wrongs) all.set(field, [...(all.get(field) ?? []), words]);
  all.forEach((words, field) => tell(field, [...new Set(words)].join("; ")));
  const [{ field, place }] = wrongs;
  (place ?? control(field))?.focus();
}

function tell(field, words) {
  const place = field.querySelector(":scope > .problem");
  if (place) place.textContent = words;
  if (words) control(field)?.setAttribute("aria-invalid", "true");
  else field.querySelectorAll('[aria-invalid="true"]').forEach((one) => one.closest(".field") === field && one.removeAttribute("aria-invalid"));
}

function object(place, wrongs) {
  const all = Object.create(null);
  for (const field of fieldsOf(place)) {
    const value = read(field, wrongs);
    if (value !== NONE) all[field.dataset.name] = value;
  }
  return all;
}

function read(field, wrongs) {
  const wrong = (words, place) => {
    wrongs.push({ field, words, place });
    return NONE;
  };
  const count = wrongs.length;
  const value = held(field, wrong, wrongs);
  if (value !== NONE || wrongs.length > count) return value;
  if (field.dataset.empty === "null") return null;
  return field.dataset.needed === "true" ? wrong(`${field.dataset.title} is needed`) : NONE;
}

// What cannot be read is wrong, too: nothing on a form ends in silence.
function held(field, wrong, wrongs) {
  try {
    return (READERS[field.dataset.kind] ?? single)(field, wrong, wrongs);
  } catch (error) {
    return wrong(`this cannot be read: ${error.message}`);
  }
}

const READERS = {
  group(field, wrong, wrongs) {
    const use = field.querySelector(":scope > .use input");
    return use && !use.checked ? NONE : object(inner(field), wrongs);
  },
  several(field, wrong) {
    const picked = [...field.querySelectorAll("input:checked")].map((one) => JSON.parse(one.dataset.json));
    return several(field, picked, wrong);
  },
  list(field, wrong) {
    const given = entries(field).map((input) => value(input, (words) => wrong(words, input)));
    return several(field, given.filter((one) => one !== NONE), wrong);
  },
};

// None of many is an answer where one is needed, or where the person took away what was suggested.
function several(field, all, wrong) {
  const { fewest = 0, most = Infinity } = field.dataset;
  const isMeant = all.length || field.dataset.needed === "true" || field.querySelector(":scope > .about .suggested");
  if (!isMeant) return NONE;
  if (all.length < Number(fewest)) return wrong(`${field.dataset.title}: at least ${fewest} needed`);
  if (all.length > Number(most)) return wrong(`${field.dataset.title}: at most ${most}`);
  return all;
}

const single = (field, wrong) => value(control(field), wrong);

// What one control holds.
function value(input, wrong) {
  const { kind, shortest = 0, longest = Infinity, shown, exact } = input.dataset;
  const typed = input.value.trim();
  if (input.validity.badInput) return wrong(input.validationMessage);
  if (!typed) return NONE;
  if (exact && input.value === shown) return exact;
  switch (kind) {
    case "choice":
      return JSON.parse(input.selectedOptions[0].dataset.json);
    case "integer":
    case "number":
      return readNumber(input, typed, kind, wrong);
    case "moment":
      return readMoment(typed, wrong);
    case "time":
      return withOffset(typed);
    case "json":
      try {
        return JSON.parse(typed);
      } catch {
        return wrong("that is not JSON");
      }
  }
  const { typeMismatch } = input.validity;
  if (typeMismatch) return wrong(input.validationMessage);
  const length = [...typed].length;
  if (length < Number(shortest)) return wrong(`at least ${shortest} characters; these are ${length}`);
  if (length > Number(longest)) return wrong(`at most ${longest} characters; these are ${length}`);
  return typed;
}

// Years that a browser takes and no calendar writes with four digits are none that anybody could read.
function readMoment(typed, wrong) {
  const at = new Date(typed);
  const year = at.getUTCFullYear();
  if (Number.isNaN(year) || year < 0 || year > 9999) return wrong("that is no moment; write the year with four digits");
  return at.toISOString().replace(".000Z", "Z");
}

function readNumber(input, typed, kind, wrong) {
  const number = Number(typed);
  if (kind === "integer" && !Number.isInteger(number)) return wrong("that is no whole number");
  // A browser would round it without a word.
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) return wrong("that is too large for a page; answer with: sayso answer");
  const { rangeUnderflow, rangeOverflow } = input.validity;
  if (rangeUnderflow) return wrong(`at least ${input.min}`);
  if (rangeOverflow) return wrong(`at most ${input.max}`);
  return number;
}

function withOffset(time) {
  const minutes = -new Date().getTimezoneOffset();
  const two = (count) => String(Math.trunc(count)).padStart(2, "0");
  const offset = minutes ? `${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}` : "Z";
  return (time.length === 5 ? `${time}:00` : time) + offset;
}

// What the server found wrong, at the fields it is about. Whether there was a place for all of it.
export function misfit(place, misfits) {
  const wrongs = misfits.map(({ at, words }) => find(place, at, words)).filter(Boolean);
  if (wrongs.length) complain(wrongs);
  return wrongs.length === misfits.length;
}

// The field at a JSON pointer, or the last there is on the way to it.
function find(place, at, words) {
  const names = at.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  let found = null;
  const [first] = fieldsOf(place);
  if (first && !first.dataset.name) return { field: first, words };
  for (const name of names) {
    const next = place && fieldsOf(place).find((field) => field.dataset.name === name);
    if (!next) break;
    found = next;
    place = inner(next);
  }
  if (!found) return null;
  const entry = found.dataset.kind === "list" ? entries(found).filter((input) => input.value.trim())[Number(names.at(-1))] : null;
  return { field: found, words: entry ? `${entry.value.trim()}: ${words}` : words, place: entry };
}
