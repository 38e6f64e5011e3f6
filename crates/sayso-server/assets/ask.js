// Asking the person something, and telling them something. Nothing here answers by itself: closing a
// question is no answer.

import { KEYS } from "./keys.js";
import { GONE } from "./server.js";

export function element(name, text, className) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// What was said last, and what is held: one does not drive the other away.
const lines = { said: { words: "" }, held: { words: "" }, brief: { words: "" } };

// Says something at the foot of the page. With a way back, or a way on, it offers that.
export function say(words, { wrong = false, back = null, way = null } = {}) {
  lines.said = { words, wrong, back, way };
  tell();
}

// That the server is gone is not true any more.
export function unsayGone() {
  const { words, back } = lines.said;
  if (!back && words.startsWith(GONE)) say("");
}

// Says what is held, for as long as it is; nothing takes that away.
export function hold(words, back) {
  const isSame = words && lines.held.words && lines.held.back === back;
  if (isSame) lines.held.words = words;
  else lines.held = { words, back };
  tell();
}

const BRIEF = 2500;
let fading = 0;

// Says something that goes by itself, below what was said.
export function sayBriefly(words) {
  clearTimeout(fading);
  if (words) fading = setTimeout(() => sayBriefly(""), BRIEF);
  if (lines.brief.words === words) return;
  lines.brief = { words, isBrief: true };
  tell();
}

// A line that says the same stays as it is, and one that counts down changes its words alone: nothing that somebody is
// about to press is taken away under their hand.
function tell() {
  const place = document.getElementById("said");
  const all = [lines.said, lines.held, lines.brief].filter(({ words }) => words);
  for (const one of all) {
    one.made ??= line(one);
    const place = one.made.querySelector("span");
    // What stands there already is not read aloud again.
    if (place.textContent !== one.words) place.textContent = one.words;
  }
  const wanted = all.map(({ made }) => made);
  [...place.children].filter((made) => !wanted.includes(made)).forEach((made) => made.remove());
  wanted.forEach((made, at) => place.children[at] !== made && place.insertBefore(made, place.children[at] ?? null));
}

// What was said and heard can be put away; what is held stays until it is sent or taken back.
function putAway() {
  const button = element("button", "×", "plain");
  button.type = "button";
  button.setAttribute("aria-label", "Put this message away");
  button.addEventListener("click", () => {
    say("");
    document.getElementById("all").focus({ preventScroll: true });
  });
  return button;
}

function line({ words, wrong, back, way, isBrief }) {
  const made = element("p");
  made.append(element("span", words, wrong ? "problem" : ""));
  if (isBrief) return made;
  if (way) made.append(" ", pressed(way.label, way.go));
  if (back) made.append(" ", pressed("Take it back", back, "z"));
  else made.append(putAway());
  return made;
}

function pressed(label, go, key) {
  const button = element("button", label);
  button.type = "button";
  if (key) button.append(" ", element("kbd", key));
  button.addEventListener("click", go);
  return button;
}

// Takes the last answer back, while there is time.
export function takeBack() {
  const back = lines.held.back ?? lines.said.back;
  if (back) back();
  else say("there is nothing to take back");
}

export function isAsking() {
  return document.querySelector("dialog[open]") !== null;
}

function dialog(title, body, buttons) {
  const made = element("dialog");
  const form = element("form");
  form.method = "dialog";
  const head = element("h2", title);
  head.id = "dialog-title";
  made.setAttribute("aria-labelledby", head.id);
  const row = element("p", "", "buttons");
  row.append(...buttons);
  form.append(head, ...body, row);
  made.append(form);
  made.addEventListener("close", () => made.remove());
  document.body.append(made);
  made.showModal();
  // The button that got the focus stands at the end; what there is to read begins at the top.
  made.scrollTop = 0;
  return made;
}

// A line of text, or null when nobody wants to say anything. What has to be meant is not said by Enter. Where `check`
// finds something wrong with it, the question stays, with what that is and with what was typed.
export function ask(title, { label = "", value = "", type = "text", go = "Go on", careful = false, list = "", check = null } = {}) {
  return new Promise((answer) => {
    const input = element("input");
    input.type = type;
    input.value = value;
    input.autocomplete = type === "password" ? "current-password" : "off";
    // What is known can be picked; what is not can be typed.
    if (list) input.setAttribute("list", list);
    const wrap = element("label", label);
    wrap.append(input);
    const { made, hint, said } = question(title, [wrap], go, careful);
    const form = made.querySelector("form");
    let isChecking = false;
    form.addEventListener("submit", async (event) => {
      if (!check) return said.yes(input.value);
      event.preventDefault();
      if (isChecking) return;
      isChecking = true;
      const wrong = await check(input.value).catch((error) => error.message);
      isChecking = false;
      if (!made.open) return;
      if (!wrong) {
        said.yes(input.value);
        return made.close();
      }
      hint.textContent = wrong;
      hint.className = "problem";
      input.setAttribute("aria-invalid", "true");
      input.focus();
      input.select();
    });
    made.addEventListener("close", () => answer(said.words));
    input.focus();
    input.select();
  });
}

// Whether somebody is sure of what cannot be undone. Enter says nothing.
export function sure(title, words, go) {
  return new Promise((answer) => {
    const { made, said } = question(title, [element("p", words)], go, true);
    made.querySelector("form").addEventListener("submit", () => said.yes(go));
    made.addEventListener("close", () => answer(said.words !== null));
    // The key that asked for it is not to be the yes.
    made.querySelector('button[type="button"]').focus();
  });
}

// A question with a yes and a way out of it.
function question(title, body, go, careful) {
  const yes = element("button", go, "main");
  const no = element("button", "Leave it");
  no.type = "button";
  const hint = element("p", "", "faint");
  hint.setAttribute("role", "status");
  const made = dialog(title, [...body, hint], [yes, no]);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !careful || event.target === no) return;
    event.preventDefault();
    hint.textContent = "Enter says nothing here; press the button with the space bar, or with the mouse";
  });
  no.addEventListener("click", () => made.close());
  const said = { words: null, yes: (words) => (said.words = words) };
  return { made, hint, said };
}

// The keys, from the list that the terminal has, too: those that do something on this page.
export function help(works) {
  const half = (title, speaks) => {
    const here = KEYS.filter((one) => one.speaks === speaks && works(one.name));
    if (!here.length) return [];
    const list = element("dl", "", "keys");
    for (const key of here) {
      const name = element("dt");
      name.append(element("kbd", key.shown));
      list.append(name, element("dd", key.says));
    }
    return [element("h3", title), list];
  };
  const close = element("button", "Close", "main");
  const made = dialog("Keys", [...half("Looking", false), ...half("Answering", true)], [close]);
  // What opened it closes it.
  made.addEventListener("keydown", (event) => {
    if (event.key !== "?") return;
    event.preventDefault();
    event.stopPropagation();
    made.close();
  });
}

// The words that the command line has for what the pages say otherwise.
const WORDS = { open: "show", edit: "respond answer", claim: "release", filter: "search", undo: "back", copy: "command" };
const SHOWN_MAX = 12;

// Everything there is to do: type a part of its name. The arrows move; Enter does what only looks, at once.
export function palette(things) {
  const input = element("input");
  input.type = "text";
  input.setAttribute("aria-label", "What to do");
  const list = element("ul", "", "palette");
  const count = element("p", "", "faint");
  count.setAttribute("role", "status");
  const hint = element("p", "", "faint");
  hint.setAttribute("role", "status");
  const close = element("button", "Leave it");
  const made = dialog("What to do", [input, list, count, hint], [close]);
  close.type = "button";
  close.addEventListener("click", () => made.close());
  const does = (one, wanted) => [one.says, one.name ?? "", WORDS[one.name] ?? ""].some((words) => words.toLowerCase().includes(wanted));
  const button = (one) => {
    const button = element("button", one.says, "plain");
    button.type = "button";
    if (one.shown) button.append(" ", element("kbd", one.shown));
    button.addEventListener("click", () => {
      made.close();
      one.go();
    });
    // Enter looks; what says something to a card is pressed with the space bar, or with the mouse.
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !one.speaks) return;
      event.preventDefault();
      hint.textContent = "Enter says nothing to a card; press the space bar";
    });
    button.dataset.speaks = Boolean(one.speaks);
    const item = element("li");
    item.append(button);
    return item;
  };
  const fill = () => {
    const wanted = input.value.trim().toLowerCase();
    const found = things.filter((one) => does(one, wanted));
    list.replaceChildren(...found.slice(0, SHOWN_MAX).map(button));
    const more = found.length - SHOWN_MAX;
    count.textContent = more > 0 ? `and ${more} more; type a part of the name` : found.length ? "" : "nothing here is called that";
    const [first] = found;
    hint.textContent = first ? `Enter ${first.speaks ? "leads to" : "does"}: ${first.says}` : "";
  };
  made.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const places = [input, ...list.querySelectorAll("button")];
    const at = places.indexOf(document.activeElement);
    places[Math.min(Math.max(at + step, 0), places.length - 1)].focus();
  });
  input.addEventListener("input", fill);
  // Enter does the first of them, or leads to it where it would say something.
  made.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = list.querySelector("button");
    if (first?.dataset.speaks === "false") first.click();
    else first?.focus();
  });
  fill();
  input.focus();
}
