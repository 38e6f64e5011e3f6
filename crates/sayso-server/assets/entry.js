// The way in.

import { keepWord, send } from "./server.js";
import { touch } from "./passkey.js";

const form = document.getElementById("login");
const problem = document.getElementById("problem");
const to = document.documentElement.dataset.to;
const at = () => `/session/${encodeURIComponent(form.space.value.trim())}`;

// Where somebody wanted to go, or where everybody goes first.
function goOn() {
  try {
    localStorage.setItem("space", form.space.value.trim());
  } catch {
    // Then it is typed again next time.
  }
  // A browser keeps what stands behind the # on its way here: the card somebody looked at.
  const card = to.includes("#") ? "" : location.hash;
  location.replace((to || `/s/${encodeURIComponent(form.space.value.trim())}/inbox`) + card);
}

async function trying(work) {
  problem.textContent = "";
  try {
    const said = await work();
    keepWord(form.space.value.trim(), said.word);
    goOn();
  } catch (error) {
    problem.textContent = [error.message, error.hint].filter(Boolean).join(". ");
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const name = form.name.value.trim();
  const [passphrase, code] = [form.passphrase.value, form.code.value.trim()];
  trying(() => (code ? send("POST", `${at()}/join`, { code, name, passphrase }) : send("POST", at(), { name, passphrase })));
});

document.getElementById("passkey").addEventListener("click", () => {
  if (!form.space.reportValidity()) return;
  trying(async () => {
    const asked = await send("POST", `${at()}/touch/begin`, {});
    const credential = await touch(asked.options);
    return send("POST", `${at()}/touch`, { touch: asked.touch, credential });
  });
});

if (!form.space.value) {
  try {
    form.space.value = localStorage.getItem("space") || "";
  } catch {
    // A browser that keeps nothing.
  }
}

// A code from one's own terminal stands behind the #, where no server and no log sees it. The link may be opened where this page is shown already: then only what is behind the # changes.
function byCode() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.get("code")) return;
  history.replaceState(null, "", location.pathname + location.search);
  form.space.value = given.get("space") || form.space.value;
  trying(() => send("POST", `${at()}/code`, { code: given.get("code") }));
}

addEventListener("hashchange", byCode);
byCode();
document.documentElement.dataset.ready = "login";
