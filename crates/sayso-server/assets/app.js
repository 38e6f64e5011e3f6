// What every page has: it hears what happens, knows the keys, and tells how long ago something was.

import { Gone } from "./server.js";
import { follow } from "./live.js";
import { help, isAsking, palette, say, sayBriefly, takeBack, unsayGone } from "./ask.js";
import { KEYS } from "./keys.js";
import { tellUnsaid } from "./answer.js";
import { isField, isTyping } from "./typing.js";
import * as card from "./card.js";
import * as count from "./count.js";

const page = document.documentElement.dataset.page;
const hasCard = document.getElementById("pane") !== null;
const inbox = document.getElementById("list") ? await import("./inbox.js") : null;
const board = hasCard ? null : await import("./board.js");

const marks = inbox ? await import("./marks.js") : null;

const ANSWERS = ["approve", "reject"];

// What keys answer: what is marked, as long as the bar names it, or else the card. A button on a card is for that card.
const many = () => marks?.isAny() ?? false;

// Only what there is to do on this page: every other key is the browser's.
const actions = {
  back: () => (inbox ? inbox.back() : document.querySelector(".back a")?.click()),
  undo: () => takeBack(),
  palette: () => palette(things()),
  help: () => help((name) => actions[name] !== undefined),
};

if (inbox) {
  Object.assign(actions, {
    down: () => inbox.move(1),
    up: () => inbox.move(-1),
    first: () => inbox.first(),
    last: () => inbox.last(),
    open: () => inbox.open(),
    view: () => inbox.nextView(),
    mark: () => inbox.mark(),
    filter: () => inbox.filter(),
  });
}

if (hasCard) {
  Object.assign(actions, {
    "scroll-down": () => card.scroll(1),
    "scroll-up": () => card.scroll(-1),
    approve: () => (many() ? marks.answerMarked("approved") : card.approve()),
    reject: () => (many() ? marks.answerMarked("rejected") : card.reject()),
    choose: (key) => card.choose(key),
    edit: () => card.edit(),
    snooze: () => card.snooze(),
    claim: () => card.claim(),
    delegate: () => card.delegate(),
    diff: () => card.diff(),
    copy: () => card.copy(),
  });
}

addEventListener("keydown", (event) => {
  if (event.isComposing || isAsking()) return;
  const key = (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + event.key;
  const found = KEYS.find((one) => one.keys.includes(key));
  if (!found || !actions[found.name] || event.altKey) return;
  // A question that was just closed holds the focus until the next frame; what is pressed then is for the page.
  const target = event.target.closest?.("dialog") ? document.body : event.target;
  if (isField(target)) {
    if (event.key === "Escape") target.blur();
    if (key !== "Ctrl+k") return;
  }
  // What was begun in a field that is gone goes nowhere.
  if (isTyping() && key !== "Ctrl+k") {
    event.preventDefault();
    sayBriefly("that was typed for something else and is dropped; press Esc, or wait a moment");
    return;
  }
  // A key that is held down says it once.
  if (event.repeat && found.speaks) return;
  // Enter on something that can be pressed presses that, and nothing else.
  if (found.name === "open" && (!inbox || target.closest?.("button, summary, a:not(.row a)"))) return;
  const hears = many() && ANSWERS.includes(found.name) ? marks.mayHear : card.mayHear;
  if (found.speaks && !hears()) return;
  event.preventDefault();
  carefully(() => actions[found.name](event.key));
});

// What goes wrong on the way is told: no key and no button ends in silence.
function carefully(work) {
  const wrong = (error) => say(`that went wrong: ${error.message}`, { wrong: true });
  try {
    Promise.resolve(work()).catch(wrong);
  } catch (error) {
    wrong(error);
  }
}

addEventListener("do", ({ detail }) => carefully(() => (ANSWERS.includes(detail) ? card[detail] : actions[detail])?.()));
document.querySelector('[data-do="help"]')?.addEventListener("click", () => actions.help());

// What can be done with the card comes first, where there is one.
function things() {
  const keys = KEYS.filter((one) => actions[one.name] && one.name !== "choose" && one.name !== "palette");
  const says = ({ name, says }) => (many() && ANSWERS.includes(name) ? `${name} what is marked` : says);
  const deeds = keys.map((one) => ({ ...one, says: says(one), go: () => carefully(() => actions[one.name]()) }));
  const places = [...document.querySelectorAll(".top nav a, .me a")];
  const pages = places.map((link) => ({ says: `go to ${link.firstChild.textContent.trim()}`, go: () => link.click() }));
  const [speaking, looking] = [true, false].map((speaks) => deeds.filter((one) => one.speaks === speaks));
  const isOpen = hasCard && card.current()?.dataset.open === "true";
  return isOpen ? [...speaking, ...looking, ...pages] : [...pages, ...looking, ...speaking];
}

addEventListener("server-is-back", unsayGone);

addEventListener("change-in-space", async () => {
  try {
    await Promise.all([inbox ? inbox.refresh() : count.refresh(), hasCard ? card.refresh() : null, board?.refresh()]);
  } catch (error) {
    // That the server is gone is told at the head of the page, for as long as it is.
    if (error.name !== "AbortError" && !(error instanceof Gone)) say(error.message, { wrong: true });
  }
});

// How long ago, in the words the server has, counted on; the moment itself on the wall clock, for whoever points
// at it.
const AGES = [[60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [2592000, 86400, "day"], [31536000, 2592000, "month"], [Infinity, 31536000, "year"]];

function words(seconds) {
  if (Math.abs(seconds) < 10) return seconds >= 0 ? "just now" : "in a few seconds";
  const distance = Math.abs(seconds);
  const [, unit, name] = AGES.find(([most]) => distance < most);
  const count = Math.floor(distance / unit);
  const text = `${count} ${name}${count === 1 ? "" : "s"}`;
  return seconds >= 0 ? `${text} ago` : `in ${text}`;
}

function tellTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const text = words((Date.now() - at.getTime()) / 1000);
    if (time.textContent !== text) time.textContent = text;
    time.title = at.toLocaleString();
  }
}

setInterval(tellTimes, 5000);
new MutationObserver(tellTimes).observe(document.getElementById("main"), { childList: true, subtree: true });
tellTimes();
tellUnsaid();

// The list somebody came from is the one they go back to.
const backTo = document.querySelector(".back a");
const came = sessionStorage.getItem("list");
if (backTo && came?.startsWith(new URL(backTo.href).pathname)) backTo.href = came + new URL(backTo.href).hash;

// The page scrolls within its frame, where no browser remembers how far: what comes back comes back to there.
const frame = document.getElementById("all");
if (!inbox && history.state?.scrolled) frame.scrollTop = history.state.scrolled;
let scrolling = 0;
frame?.addEventListener("scroll", () => {
  clearTimeout(scrolling);
  scrolling = setTimeout(() => history.replaceState({ ...history.state, scrolled: frame.scrollTop }, ""), 100);
});

// The page scrolls within its frame: the keys of the browser for that are to reach it, wherever one begins.
if (document.activeElement === document.body) document.getElementById("all")?.focus({ preventScroll: true });
if (hasCard && !inbox) card.begin();
follow();
document.documentElement.dataset.ready = page;
