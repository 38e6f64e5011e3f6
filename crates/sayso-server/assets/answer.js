// Answers. One is held for a moment before it is sent, and can be taken back as long; nothing is shown as
// done before the server said so. Whoever leaves the page meant what they said, so it is sent then.

import { Gone, call, newKey, send, space } from "./server.js";
import { ask, hold, say } from "./ask.js";
import { touch } from "./passkey.js";
import { GRACE } from "./keys.js";

// Each is held for its own time, the oldest first. Going on to the next card cuts nothing short.
let held = [];

const names = ({ answers }, gate) => answers.some(({ card }) => card.dataset.id === gate);

// `answers` is a list of { card, body }; `words` says what is being done to them, `undone` is called when they
// are taken back.
export async function answer(answers, words, undone = () => {}) {
  const isGoing = ({ card }) => [...held, ...unsent, ...sending].some((one) => names(one, card.dataset.id));
  if (answers.some(isGoing)) return say("that is being answered already; z takes back what is not sent yet");
  if (answers.some(({ card }) => card.dataset.presence === "true")) return touched(answers, words);
  held.push({ answers, words, undone, until: Date.now() + GRACE });
  mark(answers, "held");
  say("");
  tick();
}

let ticking = 0;

// Sends what has been held long enough, and counts the rest down. The latest is the one that can be taken back.
function tick() {
  clearTimeout(ticking);
  const now = Date.now();
  for (const one of held.filter(({ until }) => until <= now)) sendNow(one);
  const latest = held.at(-1);
  if (!latest) return hold("");
  const left = Math.ceil((latest.until - now) / 1000);
  const before = held.length > 1 ? `; ${held.length - 1} before it` : "";
  hold(`${latest.words} in ${left} s${before}`, takeBack);
  ticking = setTimeout(tick, 250);
}

// The latest first, then the one before it.
function takeBack() {
  const latest = held.at(-1);
  if (latest) drop(latest);
}

function drop(one) {
  held = held.filter((other) => other !== one);
  mark(one.answers, "");
  one.undone();
  say(`taken back: ${one.words}; nothing was sent`);
  tick();
}

// What was said to a card that is no longer the same was not said to this one.
export function forget(gate) {
  held.filter((one) => names(one, gate)).forEach(drop);
}

function sendNow(one) {
  held = held.filter((other) => other !== one);
  mark(one.answers, "sent");
  say(`${one.words} …`);
  carryOut(one.answers, one.words);
}

addEventListener("pagehide", () => {
  const mine = held;
  held = [];
  for (const { answers } of mine) post(answers, { keepalive: true }).catch(() => {});
});

// Whoever is logged out says nothing any more, and is told so when they are back.
addEventListener("logged-out", () => {
  const all = [...held, ...unsent, ...sending].flatMap(({ answers }) => answers);
  const unsaid = all.map(({ card }) => card.dataset.handle);
  clearTimeout(ticking);
  held = [];
  unsent.length = 0;
  sending.clear();
  if (unsaid.length) sessionStorage.setItem(UNSAID, unsaid.join(", "));
});

const UNSAID = "unsaid";

// What could not be said before.
export function tellUnsaid() {
  const unsaid = sessionStorage.getItem(UNSAID);
  sessionStorage.removeItem(UNSAID);
  if (unsaid) say(`you were logged out before your answer to ${unsaid} was sent; answer again`, { wrong: true });
}

function post(answers, more) {
  if (answers.length === 1) {
    const [{ card, body }] = answers;
    return call("POST", `/gates/${card.dataset.id}/answer`, body, more);
  }
  const all = answers.map(({ card, body }) => ({ gate: card.dataset.id, answer: body }));
  return call("POST", "/gates/answers", { answers: all }, more);
}

// What is on its way.
const sending = new Set();

async function carryOut(answers, words, key = newKey()) {
  const mine = { answers };
  sending.add(mine);
  try {
    const said = await post(answers, { key }).finally(() => sending.delete(mine));
    const refused = (said.items || []).filter((one) => one.outcome === "refused");
    if (refused.length) throw new Error(`${refused.length} of ${answers.length} were refused: ${refused[0].message}`);
    mark(answers, "");
    tellOnce(answers, said.items ? `${said.items.length} answered` : became(said));
  } catch (error) {
    if (error instanceof Gone) return keep({ answers, words, key });
    mark(answers, "");
    if (error.code === PROOF && (await unlocked())) return carryOut(answers, words);
    tellOnce(answers, ["your answer does not count: " + error.message, error.hint].filter(Boolean).join(". "), { wrong: true });
  }
  dispatchEvent(new Event("change-in-space"));
}

// What came of an answer. One yes of several is counted, although the card waits on.
function became(gate) {
  if (gate.state !== "open") return `${gate.handle}: ${gate.state}${gate.verdict ? `, ${gate.verdict}` : ""}`;
  return `${gate.handle}: your say is recorded; it still needs ${gate.needs ?? "others"}`;
}

// What nobody answered to is kept, and said again under the same key when the server is back: then it is done
// once, whether or not it had arrived.
const unsent = [];
const AGAIN = 3000;

function keep(mine) {
  unsent.push(mine);
  mark(mine.answers, "held");
  const back = () => {
    unsent.splice(unsent.indexOf(mine), 1);
    mark(mine.answers, "");
    say("not sent again; if it had arrived, the card says so");
  };
  say(`${mine.words}: the server does not answer. It is sent as soon as it does`, { wrong: true, back });
  setTimeout(sayAgain, AGAIN);
}

function sayAgain() {
  for (const { answers, words, key } of unsent.splice(0)) carryOut(answers, words, key);
}

addEventListener("server-is-back", sayAgain);

// Leaving now would lose it.
addEventListener("beforeunload", (event) => {
  if (unsent.length) event.preventDefault();
});

// What became of an answer is told once, here and not again when the card comes to say it.
const told = new Set();

function tellOnce(answers, words, how) {
  answers.forEach(({ card }) => told.add(card.dataset.id));
  say(words, how);
}

export const wasTold = (gate) => told.delete(gate);

// The code of "this needs more proof of who you are".
const PROOF = "SAY012";

// Shows the passphrase, for some minutes.
async function unlocked() {
  const passphrase = await ask("This needs your passphrase", { label: "Passphrase", type: "password", go: "Answer" });
  if (!passphrase) return false;
  try {
    await send("POST", `/session/${encodeURIComponent(space)}/unlock`, { passphrase });
    return true;
  } catch (error) {
    say(error.message, { wrong: true });
    return false;
  }
}

// A touch of a passkey is for one card, and the answer goes with it.
async function touched(answers, words) {
  if (answers.length > 1) return say("a touch of a passkey is for one card; answer these one by one", { wrong: true });
  const [{ card, body }] = answers;
  try {
    mark(answers, "sent");
    const asked = await call("POST", `/gates/${card.dataset.id}/presence`, { digest: body.digest });
    say("touch your passkey");
    const credential = await touch(asked.options);
    const { same: _, ...alone } = body;
    await carryOut([{ card, body: { ...alone, presence: { touch: asked.touch, credential } } }], words);
  } catch (error) {
    mark(answers, "");
    say([error.message, error.hint].filter(Boolean).join(". "), { wrong: true });
  }
}

// A card that was drawn anew looks as it did.
export function markAgain() {
  for (const { answers } of [...held, ...unsent]) mark(answers, "held");
}

// How a card that is being answered looks: it says so, and does not look done.
function mark(answers, how) {
  for (const { card } of answers) {
    for (const shown of document.querySelectorAll(`[data-id="${card.dataset.id}"]`)) {
      shown.dataset.going = how;
    }
  }
}
