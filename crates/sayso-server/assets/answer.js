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

// Whether an answer to a gate is on its way or held.
export const isGoing = (gate) => [...held, ...unsent, ...sending].some((one) => names(one, gate));

// `answers` is a list of { card, body }; `verb` says what is being done to them, `undone` is called when they
// are taken back.
export function answer(answers, verb, undone = () => {}) {
  if (answers.some(({ card }) => isGoing(card.dataset.id))) return say("that is being answered already; z takes back what is not sent yet");
  if (answers.some(({ card }) => card.dataset.presence === "true")) return touched(answers, verb);
  holdOn(answers, verb, undone);
}

// What is being done, to which card or to how many.
function inWords({ verb, answers }) {
  return `${verb} ${answers.length === 1 ? answers[0].card.dataset.handle : `${answers.length} cards`}`;
}

function holdOn(answers, verb, undone, isUnlocked = false) {
  const one = { answers, verb, undone, until: Date.now() + GRACE };
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
    return say(whyNot(one.answers, refused), { wrong: true });
  }
  if (await unlocked()) holdOn(one.answers, one.verb, one.undone, true);
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

// Why an answer does not count, and which: whoever said it may look at another card by now. What is wrong with a form
// stands at its fields, so no other place to look is named.
function whyNot(answers, { message, hint, misfits = [] }) {
  const which = answers.length === 1 ? ` to ${answers[0].card.dataset.handle}` : "";
  return [`your answer${which} does not count: ${message}`, misfits.length ? "" : hint].filter(Boolean).join(". ");
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
  hold(`${inWords(latest)} in ${left} s${before}`, takeBack);
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
  say(`taken back: ${inWords(one)}; nothing was sent`);
  tick();
}

// Whoever thinks about a card again has not said it yet.
export function forget(gate) {
  held.filter((one) => names(one, gate)).forEach(drop);
}

const changes = new Set();

// What was said to a card that is no longer the same was not said to this one: `digest` is what it is now. Whether
// there was an answer on hold, and whoever gave it was told, now or when the same change was first seen.
export function outdated(gate, digest, handle) {
  const change = `${gate} ${digest}`;
  if (settled(gate)) {
    changes.add(change);
    say(`not sent: ${handle} has changed; look again`, { wrong: true });
  }
  return changes.has(change);
}

// What ended or changed is not answered by what was held for it; the others of a batch are. Whether there was one on
// hold.
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
  say(`${inWords(one)} …`);
  carryOut(one.answers, one.verb);
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
    if (!found?.handle) {
      lost.push(handle);
      continue;
    }
    if (isMine(found)) wasSent(gate);
    came.push(isMine(found) ? became(found) : `${became(found)}${found.answer ? ` by ${found.answer.by}` : ""}; your answer did not count`);
  }
  if (lost.length) say(`your answer to ${lost.join(", ")} did not arrive; answer again`, { wrong: true });
  else if (came.length) say(came.join("; "));
}

// What was written on a card was sent with it.
function wasSent(gate) {
  drafts.drop(gate);
  document.querySelector(`.card[data-id="${gate}"] .written`)?.remove();
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

async function carryOut(answers, verb, key = newKey(), isUnlocked = false) {
  const mine = { answers };
  sending.add(mine);
  try {
    const said = await post(answers, { key }).finally(() => sending.delete(mine));
    mark(answers, "");
    if (said.items) tellEach(answers, verb, said.items, isUnlocked);
    else tellDone(answers, became(said));
  } catch (error) {
    if (error instanceof Gone) return keep({ answers, verb, key });
    mark(answers, "");
    if (error.code === PROOF && !isUnlocked) return (await unlocked()) ? carryOut(answers, verb, newKey(), true) : undefined;
    if (error.misfits) tellMisfits(answers[0].card, error);
    tellOnce(answers, whyNot(answers, error), { wrong: true });
  }
  dispatchEvent(new Event("change-in-space"));
}

function tellDone(answers, words, how) {
  answers.forEach(({ card }) => wasSent(card.dataset.id));
  tellOnce(answers, words, how);
}

// What came of several: how many, which not and why. Where only a passphrase is missing, it can be given there.
function tellEach(answers, verb, items, isUnlocked) {
  const of = ({ card }) => items.find((item) => item.id === card.dataset.id);
  const isRefused = (one) => of(one)?.outcome !== "answered";
  const [done, not] = [answers.filter((one) => !isRefused(one)), answers.filter(isRefused)];
  const counted = `${done.length || "none"} ${answers[0].body.verdict}`;
  if (!not.length) return tellDone(done, counted);
  const locked = isUnlocked ? [] : not.filter((one) => of(one)?.code === PROOF);
  const why = (one) => (locked.includes(one) ? "needs your passphrase" : (of(one)?.message ?? "nothing was said of it"));
  const each = not.map((one) => `${one.card.dataset.handle} ${why(one)}`);
  const go = async () => (await unlocked()) && carryOut(locked, verb, newKey(), true);
  const way = locked.length ? { label: "Give the passphrase", go } : null;
  tellDone(done, `${counted}, ${not.length} not: ${each.join("; ")}`, { wrong: true, way });
  not.forEach(({ card }) => told.add(card.dataset.id));
}

// What came of an answer. One yes of several is counted, although the card waits on.
function became(gate) {
  if (gate.state !== "open") return `${gate.handle}: ${gate.state}${gate.verdict && gate.verdict !== gate.state ? `, ${gate.verdict}` : ""}`;
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
  say(`${inWords(mine)}: the server does not answer. It is sent as soon as it does`, { wrong: true, back });
  setTimeout(sayAgain, AGAIN);
}

function sayAgain() {
  for (const { answers, verb, key } of unsent.splice(0)) carryOut(answers, verb, key);
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

// Shows the passphrase, for some minutes. What the server says against it stands in the question, with what to do.
async function unlocked() {
  let problem = "";
  const check = async (passphrase) => {
    if (!passphrase) return "type it, or leave it";
    const said = await send("POST", `/session/${encodeURIComponent(space)}/unlock`, { passphrase }).catch((error) => error);
    problem = said instanceof Error ? [said.message, said.hint].filter(Boolean).join(". ") : "";
    return problem;
  };
  const said = await ask("This needs your passphrase", { label: "Passphrase", type: "password", go: "Answer", check });
  if (said === null) say(["nothing was sent; it needs your passphrase", problem].filter(Boolean).join(": "), { wrong: true });
  return said !== null;
}

// A touch of a passkey is for one card, and the answer goes with it.
async function touched(answers, verb) {
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
    await carryOut([{ card, body: { ...alone, presence: { touch: asked.touch, credential } } }], verb);
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
