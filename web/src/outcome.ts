/** The outcome of a submission. */
export type Word = "executed" | "replayed" | "seen" | "in-flight" | "unknown" | "refused";

/** One submission's outcome, as a cookie or a page tells it. */
export interface Outcome {
  id: string;
  word: Word;
  status: number;
}

export const cookieName = "semel_outcome";
const words = /^(executed|replayed|seen|in-flight|unknown|refused)$/;

function outcome(id = "", word = "", status = ""): Outcome[] {
  return id && words.test(word) ? [{ id, word: word as Word, status: Number(status) || 0 }] : [];
}

/** Reads the outcomes of a document.cookie; what is not well formed is left out. */
export function outcomesIn(cookies: string): Outcome[] {
  const found: Outcome[] = [];
  for (const cookie of cookies.split(/;\s*/)) {
    if (!cookie.startsWith(cookieName + "=")) continue;
    for (const entry of cookie.slice(cookieName.length + 1).split("/")) found.push(...outcome(...entry.split(":")));
  }
  return found;
}

/** Reads the content of <meta name="semel-outcome" content="KEY WORD STATUS">. */
export function outcomesOfMeta(content: string): Outcome[] {
  return outcome(...content.trim().split(/\s+/));
}

/** The cookie's value for these outcomes. */
export function formatOutcomes(outcomes: readonly Outcome[]): string {
  return outcomes.map(({ id, word, status }) => `${id}:${word}:${status}`).join("/");
}

/** Whether a value is a gateway's token. */
export function isToken(value: string): boolean {
  return /^sm1\.[\w-]{50}$/.test(value);
}

/** The name by which outcomes speak of a key: a gateway token's id (its first 16 bytes), or the key itself. */
export function idOf(key: string): string {
  if (!isToken(key)) return key;
  return key.slice(4, 25) + btoa(atob("A" + key[25]!.replace(/\W|_/, "z") + "=="))[1]; // without the bits of the 17th byte
}

/** Whether a draft ends with this outcome, so that the next one has another key. */
export function ends({ word, status }: Outcome): boolean {
  return word === "refused" ? definitiveStatus(status) : word !== "in-flight" && word !== "unknown";
}

/**
 * Whether a page's status alone says that a submission was dealt with. 409 does not: it may mean one that is
 * still being worked on.
 */
export function definitivePage(status: number): boolean {
  return (status >= 200 && status < 300) || (status !== 409 && definitiveStatus(status));
}

/** 3xx, and 4xx other than those that ask to come back later. */
function definitiveStatus(status: number): boolean {
  return status >= 300 && status < 500 && ![408, 421, 425, 429].includes(status);
}
