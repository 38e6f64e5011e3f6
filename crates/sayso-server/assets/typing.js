// Who is in the middle of typing. A card can be taken away under somebody's hands, and their next letters would be
// keys of the page: so no key counts that comes right behind what was typed into a field, or behind one that was
// dropped. A pause, Esc, a click, or leaving the field on purpose begins anew.

const PAUSE = 1500;
const ALONE = ["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"];

let last = -Infinity;

const isRecent = () => performance.now() - last < PAUSE;

// Where letters are letters.
export const isField = (target) => target?.closest?.("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");

// What was typed was ended on purpose.
export function over() {
  last = -Infinity;
}

addEventListener("pointerdown", over, { capture: true });

// Heard before anybody else, in questions and fields that keep their keys to themselves, too.
addEventListener(
  "keydown",
  (event) => {
    if (ALONE.includes(event.key)) return;
    if (event.key === "Escape") return over();
    // A question that was closed has the focus until the next frame.
    if (event.target.closest?.("dialog:not([open])")) return over();
    const field = isField(event.target);
    // Nobody writes a tab into a sentence.
    if (field && event.key === "Tab") return over();
    if (field || isRecent()) last = performance.now();
  },
  { capture: true },
);

// A question that is closed was closed by whoever was asked.
addEventListener("close", (event) => event.target.localName === "dialog" && over(), { capture: true });

// Whether keys are still what somebody types. Asked while a key is heard, which counts itself.
export const isTyping = isRecent;
