// Answers. One is held for a moment before it is sent, and can be taken back as long; nothing is shown as
// done before the server said so. Whoever leaves the page meant what they said, so it is sent then.

import { Gone, Refused, base, call, newKey, person, send, space } from "./server.js";
import { ask, hold, say } from "./ask.js";
import { isConnected } from "./live.js";
import * as drafts from "./drafts.js";
import { touch } from "./passkey.js";
import { GRACE } from "./keys.js";

// Each is held for its own time, the oldest first. Going on to the next card cuts nothing short.
let held = [];

const names = ({ answers }, gate) => answers.some(({ card }) => card.dataset.id === gate);

// `answers` is a list of { card, body }; `words` says what is being done to them, `undone` is called when they
// are taken back.
export function answer(answers, words, undone = () => {}) {
  const isGoing = ({ card }) => [...held, ...unsent, ...sending].some((one) => names(one, card.dataset.id));
  if (answers.some(isGoing)) return say("that is being answered already; z takes back what is not sent yet");
  if (answers.some(({ card }) => card.dataset.presence === "true")) return touched(answers, words);
  holdOn(answers, words, undone);
}

function holdOn(answers, words, undone, isUnlocked = false) {
  const one = { answers, words, undone, until: Date.now() + GRACE };
  held.push(one);
  mark(answers, "held");
  say("");
  tick();
  if (answers.length === 1) attempt(one, isUnlocked);
}

// What the server would refuse is told while the card is still there, and a passphrase asked for. Nothing is said by
// that; where nobody answers, it is found out when the answer is sent.
async function attempt(one, isUnlocked) {
  const refused = await wouldRefuse(one.answers[0]);
  if (!refused || !held.includes(one)) return;
  remove(one);
  tick();
  if (refused.code !== PROOF || isUnlocked) {
    one.undone();
    return say(inWords(one.answers, refused), { wrong: true });
  }
  if (await unlocked()) holdOn(one.answers, one.words, one.undone, true);
  else one.undone();
}

const LOOK_MAX = 3000;

async function wouldRefuse({ card, body }) {
  const address = `${base}/gates/${card.dataset.id}/try`;
  const said = await send("POST", address, body, { signal: AbortSignal.timeout(LOOK_MAX) }).catch(() => ({}));
  if (!said.refused) return null;
  const refused = new Refused(said.refused);
  tellMisfits(card, refused);
  return refused;
}

// What is wrong with a form stands at its fields.
function tellMisfits(card, { misfits }) {
  if (misfits.length) dispatchEvent(new CustomEvent("misfits", { detail: { gate: card.dataset.id, misfits } }));
}

// Why an answer does not count, and which: whoever said it may look at another card by now.
function inWords(answers, { message, hint }) {
  const which = answers.length === 1 ? ` to ${answers[0].card.dataset.handle}` : "";
  return [`your answer${which} does not count: ${message}`, hint].filter(Boolean).join(". ");
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

function remove(one) {
  held = held.filter((other) => other !== one);
  mark(one.answers, "");
}

function drop(one) {
  remove(one);
  one.undone();
  say(`taken back: ${one.words}; nothing was sent`);
  tick();
}

// What was said to a card that is no longer the same was not said to this one.
export function forget(gate) {
  held.filter((one) => names(one, gate)).forEach(drop);
}

// What ended without it needs no answer any more. Whether there was one on hold.
export function settled(gate) {
  const mine = held.filter((one) => names(one, gate));
  for (const one of mine) {
    mark(one.answers, "");
    one.answers = one.answers.filter(({ card }) => card.dataset.id !== gate);
    mark(one.answers, "held");
  }
  held = held.filter(({ answers }) => answers.length);
  if (mine.length) tick();
  return mine.length > 0;
}

function sendNow(one) {
  held = held.filter((other) => other !== one);
  mark(one.answers, "sent");
  say(`${one.words} …`);
  carryOut(one.answers, one.words);
}

addEventListener("pagehide", () => {
  const mine = held;
  keepLeft([...held, ...unsent, ...sending]);
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
  tellLeft();
}

// What was said just before somebody left: whether it arrived is asked on the next page.
const LEFT = "left";
const LEFT_MAX = 20;
const ARRIVES = [0, 1000, 2500];

function keepLeft(all) {
  const left = all.flatMap(({ answers }) => answers).map(({ card }) => [card.dataset.id, card.dataset.handle]);
  if (left.length) sessionStorage.setItem(LEFT, JSON.stringify(left.slice(0, LEFT_MAX)));
}

async function tellLeft() {
  const left = JSON.parse(sessionStorage.getItem(LEFT) ?? "[]");
  sessionStorage.removeItem(LEFT);
  const [came, lost] = [[], []];
  for (const [gate, handle] of left) {
    const found = await arrived(gate).catch((error) => error);
    // Then it is asked when the server is back.
    if (found instanceof Gone) return sessionStorage.setItem(LEFT, JSON.stringify(left));
    if (!found?.handle) lost.push(handle);
    else came.push(isMine(found) ? became(found) : `${became(found)}${found.answer ? ` by ${found.answer.by}` : ""}; your answer did not count`);
  }
  if (lost.length) say(`your answer to ${lost.join(", ")} did not arrive; answer again`, { wrong: true });
  else if (came.length) say(came.join("; "));
}

addEventListener("server-is-back", tellLeft);

const isMine = ({ answer, votes }) => [answer, ...votes].some((one) => one?.by === person);

// The gate, when it has heard: what was sent on leaving may still be on its way.
async function arrived(gate) {
  for (const wait of ARRIVES) {
    await new Promise((done) => setTimeout(done, wait));
    const found = await call("GET", `/gates/${gate}`);
    if (found.state !== "open" || isMine(found)) return found;
  }
  return null;
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

async function carryOut(answers, words, key = newKey(), isUnlocked = false) {
  const mine = { answers };
  sending.add(mine);
  try {
    const said = await post(answers, { key }).finally(() => sending.delete(mine));
    const refused = (said.items || []).filter((one) => one.outcome === "refused");
    if (refused.length) throw new Error(`${refused.length} of ${answers.length} were refused: ${refused[0].message}`);
    mark(answers, "");
    answers.forEach(({ card }) => drafts.drop(card.dataset.id));
    tellOnce(answers, said.items ? `${said.items.length} answered` : became(said));
  } catch (error) {
    if (error instanceof Gone) return keep({ answers, words, key });
    mark(answers, "");
    if (error.code === PROOF && !isUnlocked) return (await unlocked()) ? carryOut(answers, words, newKey(), true) : undefined;
    if (error.misfits) tellMisfits(answers[0].card, error);
    tellOnce(answers, inWords(answers, error), { wrong: true });
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
  if (unsent.length || (held.length && !isConnected())) event.preventDefault();
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

// The code of "the passphrase is wrong".
const WRONG = "SAY039";

// Shows the passphrase, for some minutes. A wrong one is told, and asked for again.
async function unlocked() {
  let title = "This needs your passphrase";
  for (;;) {
    const passphrase = await ask(title, { label: "Passphrase", type: "password", go: "Answer" });
    if (!passphrase) {
      say("nothing was sent; it needs your passphrase", { wrong: true });
      return false;
    }
    const said = await send("POST", `/session/${encodeURIComponent(space)}/unlock`, { passphrase }).catch((error) => error);
    if (!(said instanceof Error)) return true;
    if (said.code !== WRONG) {
      say(`nothing was sent: ${[said.message, said.hint].filter(Boolean).join(". ")}`, { wrong: true });
      return false;
    }
    title = "That passphrase is wrong; try again";
  }
}

// A touch of a passkey is for one card, and the answer goes with it.
async function touched(answers, words) {
  if (answers.length > 1) return say("a touch of a passkey is for one card; answer these one by one", { wrong: true });
  const [{ card, body }] = answers;
  try {
    mark(answers, "sent");
    // That a touch is missing is known.
    const refused = await wouldRefuse(answers[0]);
    if (refused && refused.code !== PROOF) throw refused;
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
