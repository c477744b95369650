/** The person's click sequences: a double click is one. */
export const clicks = {
  /** Counts the sequences and edits. */
  turn_: 0,
  /** Whether the last click was a further one of its sequence: the second of a double click. */
  further_: false,
};

/** Hears an event of the page before its handlers do; a server has none. */
export const listen = (type: string, listener: (event: Event) => void): void => globalThis.addEventListener?.(type, listener, true);

listen("click", (event) => {
  if (!(clicks.further_ = (event as MouseEvent).detail > 1)) clicks.turn_++;
});
listen("keydown", () => (clicks.further_ = false)); // no click
listen("input", (event) => {
  if (event.isTrusted) clicks.turn_++; // what a script changes, the content tells
});
