// Pages that show and let little be done: each looks again when something happens.

import { call, leave, part, send, space } from "./server.js";
import { ask, element, say, sure } from "./ask.js";
import { create } from "./passkey.js";

const place = document.getElementById("part");

let isBehind = false;
let isPressing = false;

// Looks again. Only while somebody presses a button or has marked a text it waits, and it is made up for right after.
export async function refresh() {
  if (!place) return;
  const address = new URL(location.href);
  address.searchParams.set("part", place.dataset.part);
  const found = await part(address.pathname + address.search);
  isBehind = isPressing || hasMarked();
  if (!isBehind) put(found);
}

function hasMarked() {
  const marked = getSelection();
  return Boolean(marked?.toString()) && place.contains(marked.anchorNode);
}

function put(found) {
  // A heading of the page's own stays; one that belongs to the part comes with it.
  const head = found.some((one) => one.nodeName === "H1") ? null : place.querySelector(":scope > h1");
  const read = new Map([...place.querySelectorAll(".output")].map((one) => [one.dataset.run, whereIn(one)]));
  const aside = new Map([...place.querySelectorAll(".scroll")].map((one) => [one.ariaLabel, one.scrollLeft]));
  const focused = place.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  place.replaceChildren(...(head ? [head] : []), ...found);
  toEnd(read);
  place.querySelectorAll(".scroll").forEach((one) => (one.scrollLeft = aside.get(one.ariaLabel) ?? 0));
  if (focused) focusAgain(focused);
}

// What tells something that can have the focus from all others, also when it is drawn anew: what it does and to what,
// and which of several it is.
const FOCUSED = "a, button, [tabindex], summary, input, select, textarea";
const like = (one) => JSON.stringify([one.localName, one.id, one.getAttribute("href"), one.ariaLabel, one.dataset.run, one.dataset.act, whose(one)]);
const whose = (one) => Object.entries(one.closest("[data-agent], [data-flow]")?.dataset ?? {});
const alike = (name) => [...place.querySelectorAll(FOCUSED)].filter((one) => like(one) === name);

function nameOf(one) {
  const name = like(one);
  return { name, at: alike(name).indexOf(one) };
}

// Where it is gone nothing else that could be pressed gets the focus: the next key would press it.
function focusAgain({ name, at }) {
  const again = alike(name)[at] ?? document.getElementById("all");
  again.focus({ preventScroll: true });
}

const makeUp = () => isBehind && !isPressing && !hasMarked() && refresh().catch(() => {});

addEventListener("pointerdown", () => (isPressing = true));
for (const name of ["pointerup", "pointercancel"]) {
  addEventListener(name, () => {
    isPressing = false;
    // What was pressed is heard first.
    setTimeout(makeUp);
  });
}
document.addEventListener("selectionchange", () => place && makeUp());

// How far up from its end somebody reads in what an agent prints.
const whereIn = (output) => output.scrollHeight - output.clientHeight - output.scrollTop;

// What an agent prints is read at its end, unless somebody reads further up.
function toEnd(read = new Map()) {
  for (const output of place?.querySelectorAll(".output") ?? []) {
    const up = read.get(output.dataset.run) ?? 0;
    output.scrollTop = output.scrollHeight - output.clientHeight - (up > 20 ? up : 0);
  }
}

toEnd();

// What an agent prints comes without anything being written down, so it is looked at now and then.
if (place?.dataset.every) setInterval(() => document.visibilityState === "visible" && refresh().catch(() => {}), Number(place.dataset.every));

function wrong(error) {
  const words = [error.message, error.hint].filter(Boolean).join(". ");
  say(words, { wrong: true });
}

function on(id, event, work) {
  document.getElementById(id)?.addEventListener(event, (happened) => {
    happened.preventDefault();
    work(happened.currentTarget).catch(wrong);
  });
}

place?.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-act]");
  if (!button) return;
  const { flow } = button.closest("[data-flow]")?.dataset ?? {};
  if (flow) return cancel(flow).catch(wrong);
  const { agent } = button.closest("[data-agent]").dataset;
  const reason = await ask(`${button.textContent} ${agent}`, { label: "Why", go: button.textContent });
  if (reason === null) return;
  try {
    const said = await call("POST", `/agents/${encodeURIComponent(agent)}/${button.dataset.act}`, { reason });
    say(said.what);
    await refresh();
  } catch (error) {
    wrong(error);
  }
});

// Takes a flow back, and what it asked with it. That cannot be undone, so Enter does not do it.
async function cancel(flow) {
  const reason = await ask(`Cancel flow ${flow}`, { label: "Why", go: "Cancel the flow", careful: true });
  if (reason === null) return;
  await call("POST", `/flows/${encodeURIComponent(flow)}/cancel`, { reason });
  say(`flow ${flow} is cancelled`);
  await refresh();
}

on("verify", "click", async () => {
  const badge = document.getElementById("verified");
  badge.className = "badge";
  badge.textContent = "verifying …";
  try {
    const said = await call("GET", "/audit/verify");
    badge.classList.add("yes");
    badge.textContent = `✓ all ${said.entries} entries hold, and cover ${said.events} events`;
  } catch (error) {
    const isBroken = error.code === BROKEN;
    badge.classList.add(isBroken ? "no" : "ask");
    badge.textContent = isBroken ? `✗ ${error.message}` : `not verified: ${error.message}`;
  }
});

// The code of "the audit chain is broken". Whatever else goes wrong says nothing of the chain.
const BROKEN = "SAY029";

const explained = document.getElementById("explained");

// What was said of one call is not said of another.
document.getElementById("explain")?.addEventListener("input", () => explained.replaceChildren());

on("explain", "submit", async (form) => {
  const [tool, command, agent] = [form.tool, form.command, form.agent].map((field) => field.value.trim());
  const request = { on: "tool", tool: tool || "Bash", ...(command ? { command } : {}), ...(agent ? { agent } : {}) };
  const asked = JSON.stringify(request);
  form.dataset.asked = asked;
  const said = await call("POST", "/policy/explain", request);
  const isSame = [tool, command, agent].every((words, at) => [form.tool, form.command, form.agent][at].value.trim() === words);
  if (form.dataset.asked !== asked || !isSame) return;
  const about = element("p", "", "about");
  about.append("Of ", element("code", [request.tool, command].filter(Boolean).join(" ")), agent ? ` by ${agent}:` : " by any agent:");
  const isKnown = !agent || [...document.getElementById("known-agents").options].some(({ value }) => value === agent);
  const unknown = isKnown ? [] : [element("p", `no agent called ${agent} is set up here; this is what it would say of one of that name`, "note")];
  const head = element("p", "", `ending ${said.effect === "allow" ? "yes" : said.effect === "deny" ? "no" : "ask"}`);
  head.append(element("strong", said.effect), ` ${said.reason}`);
  const looked = element("ol", "", "timeline");
  for (const one of said.looked) {
    const item = element("li", "", one.decided ? "decided" : "faint");
    item.append(element("code", `${one.file}${one.line ? `:${one.line}` : ""}`), ` ${one.rule ?? "otherwise"}: ${one.says}, ${one.why}`);
    looked.append(item);
  }
  const demands = said.demands ? [element("p", said.demands.words)] : [];
  const alarms = said.alarms.map((words) => element("p", words, "alert"));
  explained.replaceChildren(about, ...unknown, head, ...demands, ...alarms, looked);
});

// Rules that people's own answers suggest take a while to find, so they are looked for when somebody wants them.
on("suggest", "click", async (button) => {
  button.disabled = true;
  const found = await part(`${location.pathname}?part=suggested`).finally(() => (button.disabled = false));
  document.getElementById("suggested").replaceChildren(...found);
});

on("add-passkey", "submit", async (form) => {
  const asked = await call("POST", "/passkeys/begin", { label: form.label.value });
  const credential = await create(asked.options);
  await call("POST", "/passkeys", { touch: asked.touch, credential });
  location.reload();
});

document.getElementById("passkeys")?.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-remove]");
  if (!button) return;
  const words = "It counts no more, here and on every device that has it. A new one takes your passphrase.";
  if (!(await sure(`Remove the passkey ${button.dataset.label}?`, words, "Remove it"))) return;
  call("DELETE", `/passkeys/${button.dataset.remove}`).then(() => location.reload(), wrong);
});

on("unlock", "submit", async (form) => {
  await send("POST", `/session/${encodeURIComponent(space)}/unlock`, { passphrase: form.passphrase.value });
  location.reload();
});

on("lock", "click", async () => {
  await send("DELETE", `/session/${encodeURIComponent(space)}/unlock`);
  location.reload();
});

on("away", "submit", async (form) => {
  const to = form.to.value.trim();
  await call("PUT", "/away", { until: form.until.value.trim(), ...(to ? { to } : {}) });
  location.reload();
});

on("back", "click", async () => {
  await call("DELETE", "/away");
  location.reload();
});

on("logout", "click", async () => {
  leave();
  await send("DELETE", `/session/${encodeURIComponent(space)}`).catch((error) => {
    leave(false);
    throw error;
  });
  // What was begun here is nobody else's.
  sessionStorage.clear();
  location.href = "/login";
});
