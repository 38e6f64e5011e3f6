// How much of a card was on the screen. A yes to what was never there would be one to nothing that was seen, so it waits
// until all that is asked was there for a moment, wherever it is scrolled to later.

import { DEAD_TIME } from "./keys.js";

// The height of the strips that a piece is watched in: some are longer than any screen.
const STRIP = 16;

// No part of what is asked: what sayso found wrong, where the person writes, and what stands above in better words.
const AROUND = ".problem, .wide, .arguments, .raw, .unseen, .written, .live:empty, datalist";

// What is asked, piece by piece, as it came: what a person adds to it later needs no reading. A card that changes is
// another one here, and one that is refreshed stays.
const known = new WeakMap();

const watch = (node) => ({ node, height: NaN, since: [], isRead: false });

function piecesOf(card) {
  if (!known.has(card)) known.set(card, parts(card).flatMap(pieces).map(watch));
  return known.get(card);
}

// Where only numbers in a line are others, such as the time that is left, it is the same line.
const beginning = ({ node }) => node.textContent.split(/\d/)[0];

// What people did around a card stands there anew. A line that was read is not read again.
export function renewed(card, part) {
  const before = piecesOf(card);
  const read = new Set(before.filter(({ node, isRead }) => isRead && !node.isConnected).map(beginning));
  const fresh = parts(card).some((one) => one.contains(part)) ? pieces(part).map(watch) : [];
  for (const piece of fresh) piece.isRead = read.has(beginning(piece));
  const isBefore = (one, other) => one.node.compareDocumentPosition(other.node) & Node.DOCUMENT_POSITION_FOLLOWING;
  const all = [...before.filter(({ node }) => node.isConnected), ...fresh];
  known.set(card, all.sort((one, other) => (isBefore(one, other) ? -1 : 1)));
}

// What lies above the buttons: the question, what is known, what the asker says, and the places for an answer.
function parts(card) {
  const form = card.querySelector("form.answer");
  const above = [...card.children];
  const inForm = [...(form?.children ?? [])];
  const before = (all, end) => (end < 0 ? all : all.slice(0, end));
  return [...before(above, above.indexOf(form)), ...before(inForm, inForm.findIndex((one) => one.matches(".buttons")))];
}

// The smallest boxes with words in them, so that one that changes its size changes nothing about the others.
function pieces(part) {
  if (part.matches(AROUND)) return [];
  const hasWords = [...part.childNodes].some((one) => one.nodeType === Node.TEXT_NODE && one.data.trim());
  return hasWords || !part.children.length || part.matches("select") ? [part] : [...part.children].flatMap(pieces);
}

// What is wanted of the person now. A group that is left out of a form is not.
const unread = (card) => piecesOf(card).filter(({ node, isRead }) => !isRead && node.isConnected && !node.closest("[hidden]"));

// What a piece is folded away in.
function foldOf(node) {
  const fold = node.closest("details:not([open])");
  return fold && node.closest("summary")?.parentElement !== fold ? fold : null;
}

// The part of the page in which a card can be seen.
function screenOf(card) {
  if (document.visibilityState !== "visible" || !card.getClientRects().length) return null;
  const places = [card.closest("#pane"), document.getElementById("all")].filter((place) => place && scrolls(place));
  const rects = places.map((place) => place.getBoundingClientRect());
  return { top: Math.max(0, ...rects.map(({ top }) => top)), bottom: Math.min(innerHeight, ...rects.map(({ bottom }) => bottom)) };
}

const scrolls = (place) => getComputedStyle(place).overflowY !== "visible";

const isLong = (since, now) => now - since >= DEAD_TIME;

// Notes what is on the screen now. It is to be called whenever anything moves: between two calls nothing did.
export function look(card) {
  if (!card) return;
  const now = performance.now();
  const screen = screenOf(card);
  for (const piece of unread(card)) note(piece, screen, now);
}

function note(piece, screen, now) {
  const { top, height } = screen && !foldOf(piece.node) ? piece.node.getBoundingClientRect() : { top: NaN, height: piece.height };
  if (screen && !Number.isNaN(top) && !(Math.abs(piece.height - height) < 1)) {
    // Its lines have moved within it.
    piece.height = height;
    piece.since = new Array(Math.ceil(height / STRIP)).fill(undefined);
  }
  for (let at = 0; at < piece.since.length; at++) {
    const middle = top + Math.min(at * STRIP + STRIP / 2, height - 1);
    if (isLong(piece.since[at], now)) continue;
    if (screen && middle >= screen.top && middle <= screen.bottom) piece.since[at] ??= now;
    else piece.since[at] = undefined;
  }
  piece.isRead = !Number.isNaN(piece.height) && piece.since.every((since) => isLong(since, now));
}

// Whether all that is asked was on the screen for a moment.
export function isRead(card) {
  look(card);
  return card !== null && unread(card).length === 0;
}

// Brings what was not on the screen there, and says what is to be done; nothing where all of it was there.
export function showUnread(card, scroller) {
  look(card);
  const [first] = unread(card);
  if (!first) return "";
  foldOf(first.node)?.setAttribute("open", "");
  const { top: edge, bottom } = screenOf(card) ?? { top: 0, bottom: 0 };
  const now = performance.now();
  const strip = Math.max(0, first.since.findIndex((since) => !isLong(since, now)));
  const top = first.node.getBoundingClientRect().top + strip * STRIP;
  if (top >= edge && top + STRIP <= bottom) return "part of this card has only just come onto the screen: look at it, and then you can answer";
  // What scrolls may be another place now that more is open.
  scroller().scrollBy({ top: top - edge - 2 * STRIP });
  return "this part of the card was not on the screen yet: read on with J, and then you can answer";
}
