// What happens in the space, as it happens. The page learns that something did, and looks again: what it
// shows is always what the server says.

import { isLeft, space, toLogin } from "./server.js";

const address = `/v1/spaces/${encodeURIComponent(space)}/events?heartbeat=15s`;
const SILENCE_MAX = 40000;
let last = null;
let pause = 500;
let isThere = true;

// Whether the server was there when it was last asked.
export const isConnected = () => isThere;

// Goes on for as long as the page is there, behind the last thing it heard.
export async function follow() {
  for (;;) {
    const line = new AbortController();
    try {
      if (!isLeft()) await listen(line);
    } catch {
      // The line is gone; it is tried again below.
    }
    line.abort();
    isThere = false;
    tell("not connected, trying again");
    await new Promise((done) => {
      wake = done;
      setTimeout(done, pause);
    });
    pause = Math.min(pause * 2, 10000);
  }
}

let wake = () => {};

// A server that answers anything is back, and need not be waited for.
addEventListener("server-answered", () => isThere || isLeft() || wake());

async function listen(line) {
  const headers = { Accept: "text/event-stream" };
  if (last !== null) headers["Last-Event-ID"] = last;
  const answer = await fetch(address, { headers, credentials: "same-origin", signal: line.signal });
  if (answer.status === 401) return toLogin();
  if (!answer.ok) throw new Error(answer.status);
  isThere = true;
  tell("");
  pause = 500;
  // Something may have happened while nobody listened.
  changed();
  dispatchEvent(new Event("server-is-back"));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const silent = setTimeout(() => line.abort(), SILENCE_MAX);
    const { value, done } = await reader.read();
    clearTimeout(silent);
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    events.forEach(heard);
  }
}

function heard(event) {
  const id = event.split("\n").find((line) => line.startsWith("id:"));
  if (!id) return;
  last = id.slice(3).trim();
  changed();
}

let soon = 0;

// Several things at once are one look.
function changed() {
  if (soon) return;
  soon = setTimeout(() => {
    soon = 0;
    if (!isLeft()) dispatchEvent(new Event("change-in-space"));
  }, 30);
}

// What comes back out of a browser's memory is as old as that.
addEventListener("pageshow", (event) => event.persisted && location.reload());

// Words that count time are the server's, so they are asked for anew now and then.
const WORDS_AGE = 30000;
setInterval(() => document.visibilityState === "visible" && changed(), WORDS_AGE);

function tell(words) {
  const place = document.getElementById("line");
  if (place) place.textContent = words;
}
