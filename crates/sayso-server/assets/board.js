// Pages that show and let little be done: each looks again when something happens.

import { call, part, send, space } from "./server.js";
import { ask, element, say } from "./ask.js";
import { create } from "./passkey.js";

const place = document.getElementById("part");

// Looks again, unless somebody is in the middle of something there.
export async function refresh() {
  if (!place || place.contains(document.activeElement) || getSelection()?.toString()) return;
  const address = new URL(location.href);
  address.searchParams.set("part", place.dataset.part);
  const found = await part(address.pathname + address.search);
  // A heading of the page's own stays; one that belongs to the part comes with it.
  const head = found.some((one) => one.nodeName === "H1") ? null : place.querySelector(":scope > h1");
  const read = new Map([...place.querySelectorAll(".output")].map((one) => [one.dataset.run, whereIn(one)]));
  place.replaceChildren(...(head ? [head] : []), ...found);
  toEnd(read);
}

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
  call("POST", `/agents/${encodeURIComponent(agent)}/${button.dataset.act}`, { reason }).then((said) => say(said.what), wrong);
});

// Takes a flow back, and what it asked with it. That cannot be undone, so Enter does not do it.
async function cancel(flow) {
  const reason = await ask(`Cancel flow ${flow}`, { label: "Why", go: "Cancel the flow", careful: true });
  if (reason === null) return;
  await call("POST", `/flows/${encodeURIComponent(flow)}/cancel`, { reason });
  say(`flow ${flow} is cancelled`);
  // The button that was pressed is gone, and nobody is in the middle of anything.
  document.activeElement?.blur();
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
    badge.classList.add("no");
    badge.textContent = `✗ ${error.message}`;
  }
});

on("explain", "submit", async (form) => {
  const request = { on: "tool", tool: form.tool.value.trim() || "Bash" };
  if (form.command.value.trim()) request.command = form.command.value.trim();
  if (form.agent.value.trim()) request.agent = form.agent.value.trim();
  const said = await call("POST", "/policy/explain", request);
  const result = document.getElementById("explained");
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
  result.replaceChildren(head, ...demands, ...alarms, looked);
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

document.getElementById("passkeys")?.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove]");
  if (button) call("DELETE", `/passkeys/${button.dataset.remove}`).then(() => location.reload(), wrong);
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
  await send("DELETE", `/session/${encodeURIComponent(space)}`);
  // What was begun here is nobody else's.
  sessionStorage.clear();
  location.href = "/login";
});
