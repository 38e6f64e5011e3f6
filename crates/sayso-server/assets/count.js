// How many cards wait for whoever looks: beside Inbox on every page, and on its tab.

import { base, part } from "./server.js";

const place = document.getElementById("waiting");

export function tellCount(count) {
  if (place && place.textContent !== count) place.textContent = count;
  document.title = document.title.replace(/^(\(\d+\+?\) )?/, count ? `(${count}) ` : "");
}

// Looks again, on pages that have no list of them.
export async function refresh() {
  const [found] = await part(`${base}/waiting`);
  tellCount(found?.textContent.trim() ?? "");
}

tellCount(place?.textContent ?? "");
