// Cards that are marked, to answer several at once. A bar says which they are and what the keys will do, for as long as
// any is marked: nothing is answered that it does not name.

import { answer, isGoing } from "./answer.js";
import { ask, element, say, sayBriefly } from "./ask.js";
import * as card from "./card.js";
import * as drafts from "./drafts.js";
import { DEAD_TIME } from "./keys.js";

const list = document.getElementById("list");
const marked = () => [...list.querySelectorAll(".row.marked:not(.over)")];

export const isAny = () => marked().length > 0;

// Since when each row is on the screen as it is. What was there for a moment was shown.
const since = new WeakMap();
const isLong = (row) => performance.now() - (since.get(row) ?? Infinity) >= DEAD_TIME;
const screen = new IntersectionObserver(
  (all) => {
    for (const { target, isIntersecting } of all) {
      if (!isIntersecting && !isLong(target)) since.delete(target);
      else if (isIntersecting && !since.has(target)) since.set(target, performance.now());
    }
  },
  { threshold: 0.9 },
);

// A row that changed was not shown yet, and was marked as it was before.
export function changed(row) {
  since.delete(row);
  screen.unobserve(row);
  screen.observe(row);
  if (!row.classList.contains("marked")) return;
  row.classList.remove("marked");
  say(`${row.dataset.handle} has changed and is marked no more; look again`, { wrong: true });
}

// Whether all that is asked stood in the row, or the card itself was on the screen.
function isShown(row) {
  const question = row.querySelector(".question");
  const isWhole = row.dataset.cut !== "true" && question.scrollHeight <= question.clientHeight + 1;
  const isRead = card.current()?.dataset.id === row.dataset.id && card.isRead();
  return isRead || (isWhole && isLong(row));
}

// Why a card is not answered together with others; nothing where it may be.
function why({ hidden, dataset: { id, risk, shape, mine, presence } }) {
  if (hidden) return "is hidden by what you look for";
  if (mine !== "true") return "is not yours to answer";
  if (shape !== "verdict") return "wants an answer of its own";
  if (["high", "critical"].includes(risk)) return `has ${risk} risk`;
  if (presence === "true") return "wants a touch of your passkey";
  if (drafts.isBegun(id)) return "has what you began to write on it";
  if (isGoing(id)) return "is being answered already";
  return "";
}

// Several at once, as long as they are alike: nobody says yes to a risky one among harmless ones.
export function mark(row) {
  if (!row?.dataset.id || row.classList.contains("over")) return;
  if (row.classList.contains("marked")) return row.classList.remove("marked");
  const { handle, risk } = row.dataset;
  const other = marked().find((one) => one.dataset.risk !== risk)?.dataset.risk;
  const against = why(row) || (other ? `has ${risk} risk, and what is marked has ${other} risk` : "");
  if (against) return say(`${handle} ${against}; answer it by itself`, { wrong: true });
  if (!isShown(row)) return sayBriefly(`look at ${handle} first; it was not on the screen long enough, or not all of it`);
  row.classList.add("marked");
}

// Whether there was anything to clear.
export function clear() {
  const all = marked();
  all.forEach((row) => row.classList.remove("marked"));
  return all.length > 0;
}

// The bar counts as drawn when a frame with it has been on the screen, like a card, and while it says what is so.
let drawnAt = Infinity;

export function mayHear() {
  const isTold = bar.querySelector("span")?.textContent === inWords(marked());
  return isTold && performance.now() - drawnAt >= DEAD_TIME && document.visibilityState === "visible";
}

const bar = element("div", "", "said marks");
bar.id = "marked";
bar.setAttribute("role", "status");
document.getElementById("said").before(bar);

function tell() {
  const all = marked();
  if (!all.length) return bar.replaceChildren();
  const words = inWords(all);
  const place = bar.querySelector("span") ?? made();
  if (place.textContent === words) return;
  place.textContent = words;
  drawnAt = Infinity;
  requestAnimationFrame(() => requestAnimationFrame(() => place.textContent === words && (drawnAt = performance.now())));
}

function made() {
  const place = element("span");
  const button = element("button", "Clear the marks");
  button.type = "button";
  button.addEventListener("click", () => {
    clear();
    document.getElementById("all").focus({ preventScroll: true });
  });
  const line = element("p");
  line.append(place, " ", button);
  bar.replaceChildren(line);
  return place;
}

const named = (rows) => rows.map((row) => row.dataset.handle).join(", ");

function inWords(all) {
  const taken = all.filter((row) => !why(row));
  const them = taken.length === 1 ? "it" : "them";
  const does = taken.length ? `${taken.length} marked: ${named(taken)}. a approves ${them}, r rejects ${them}` : "none of the marked can be answered together";
  return [does, leftOut(all)].filter(Boolean).join(". ");
}

function leftOut(all) {
  const not = all.filter(why).map((row) => `${row.dataset.handle} ${why(row)}`);
  return not.length ? `Left out: ${not.join("; ")}` : "";
}

// What the bar names is answered, and nothing else.
export async function answerMarked(verdict) {
  const all = marked().filter((row) => !why(row)).map((row) => [row, row.dataset.digest]);
  if (!all.length) return say(`nothing was answered. ${leftOut(marked())}`, { wrong: true });
  let reason = "";
  if (verdict === "rejected") {
    const said = await ask(`Reject ${all.length === 1 ? named([all[0][0]]) : `${all.length} cards`}`, { label: "Why, or what to do instead", go: "Reject" });
    if (said === null) return;
    reason = said.trim();
  }
  // Some may have changed or ended while somebody wrote.
  const still = all.filter(([row, digest]) => marked().includes(row) && !why(row) && row.dataset.digest === digest).map(([row]) => row);
  if (!still.length) return say("nothing was sent; what was marked has changed or ended", { wrong: true });
  const body = ({ dataset: { digest, same } }) => ({ verdict, digest, ...(same ? { same } : {}), ...(reason ? { reason } : {}) });
  const answers = still.map((row) => ({ card: row, body: body(row) }));
  still.forEach((row) => row.classList.remove("marked"));
  // What is taken back is marked as it was, where it still is what it was.
  const undone = () => answers.forEach(({ card: row, body: { digest } }) => row.classList.toggle("marked", row.dataset.digest === digest));
  answer(answers, verdict === "approved" ? "approving" : "rejecting", undone);
}

function look() {
  list.querySelectorAll(".row[data-id]").forEach((row) => screen.observe(row));
  tell();
}

new MutationObserver(look).observe(list, { childList: true, subtree: true, attributes: true, attributeFilter: ["class", "hidden", "data-digest", "data-going"] });
addEventListener("input", tell);
look();
