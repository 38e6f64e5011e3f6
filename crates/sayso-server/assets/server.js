// What a page says to the server: the same API that programs use, with the cookie that no script reads and
// the word from the login, which only pages of this origin can read.

const root = document.documentElement.dataset;
export const space = root.space;
export const base = root.base;
export const person = root.person;

// The word that goes with the session in a space.
export function word(of = space) {
  try {
    return localStorage.getItem(`word of ${of}`) || "";
  } catch {
    return "";
  }
}

export function keepWord(of, said) {
  localStorage.setItem(`word of ${of}`, said);
}

// Why something was not done: `detail` says what, `hint` what to do now.
export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail || "the server did not answer as it should");
    this.hint = problem.hint || "";
    this.code = problem.code || "";
    this.misfits = problem.misfits || [];
    this.status = status;
  }
}

const api = `/v1/spaces/${encodeURIComponent(space || "")}`;

// Asks for something, or wants something done. What is wanted twice by accident is done once.
export function call(method, path, body, more) {
  return send(method, api + path, body, more);
}

// A name for something that is to be done once, however often it is sent.
export function newKey() {
  return crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`;
}

export async function send(method, address, body, more = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") {
    headers["sayso-word"] = word();
    headers["Idempotency-Key"] = more.key ?? newKey();
  }
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const text = body === undefined ? undefined : JSON.stringify(body);
  const answer = await fetch(address, { method, headers, body: text, credentials: "same-origin", ...more }).catch(gone);
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return answered(said);
  if (answer.status === 401 && said.code === NO_SESSION && space) return toLogin();
  if (ABSENT.includes(answer.status) && !said.code) throw new Gone();
  throw new Refused(said, answer.status);
}

function answered(said) {
  dispatchEvent(new Event("server-answered"));
  return said;
}

export const GONE = "the server does not answer";

// Nobody answered: whether it arrived is not known, and the same can be sent again under the same key.
export class Gone extends Error {
  constructor() {
    super(GONE);
  }
}

function gone(error) {
  if (error.name === "AbortError") throw error;
  throw new Gone();
}

// What something in front of a server says that is not there.
const ABSENT = [502, 503, 504];

// The code of "this credential does not count".
const NO_SESSION = "SAY028";

// A part of a page, as elements.
export async function part(address, more = {}) {
  const headers = { "sayso-part": "1" };
  const answer = await fetch(address, { headers, credentials: "same-origin", ...more }).catch(gone);
  if (answer.status === 401) return toLogin();
  if (!answer.ok) throw new Refused(await answer.json().catch(() => ({})), answer.status);
  const read = new DOMParser().parseFromString(await answer.text(), "text/html");
  return answered([...read.body.childNodes]);
}

let isLeaving = false;

// Whoever logs out goes where they wanted, and is not brought back; nothing is asked in their name any more.
export function leave(is = true) {
  isLeaving = is;
}

export const isLeft = () => isLeaving;

// Whoever was logged out meanwhile comes back to where they were.
export function toLogin() {
  if (isLeaving) return new Promise(() => {});
  dispatchEvent(new Event("logged-out"));
  const here = location.pathname + location.search + location.hash;
  location.href = `/login?space=${encodeURIComponent(space)}&to=${encodeURIComponent(here)}`;
  return new Promise(() => {});
}
