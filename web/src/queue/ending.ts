import { verdict } from "../verdict.js";
import { maxAnswerBytes, maxDetail, type Answer, type Entry, type Reason } from "./entry.js";
import type { Known } from "./question.js";

/** How an attempt ended. */
export type Ending =
  | { end: "done"; answer: Answer; reason?: Reason }
  | { end: "set-aside"; reason: Reason }
  | { end: "later"; reason: Reason; delayMs: number };

/** The first pause after an attempt without an answer; it doubles with every attempt. */
export const firstDelayMs = 1_000;
/** The longest pause between two attempts, unless the server asks for more. */
export const maxDelayMs = 5 * 60_000;
/** The longest pause that a server can ask for. */
export const maxRetryAfterMs = 60 * 60_000;

/** A pause drawn from half to all of what has doubled with each attempt, so that many browsers do not come back at the same instant. */
export function backoffMs(attempts: number, random: () => number): number {
  const most = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempts - 1, 20));
  return Math.round(most / 2 + (random() * most) / 2);
}

/** What no answer at all means: it may have happened, so the same key is sent again. */
export function noAnswer(entry: Entry, random: () => number): Ending {
  return { end: "later", reason: { word: "no-answer" }, delayMs: backoffMs(entry.attempts, random) };
}

/** What is known of an attempt in addition to its answer. */
export interface Attempt {
  /** The answer is a page that asks to sign in. */
  signedOut: boolean;
  /** Asks the server for the outcome of the entry. */
  ask: () => Promise<Known>;
  /** How long ago the attempt began, in milliseconds. */
  tookMs: () => number;
}

/** Statuses that ask to sign in, or to load a page again whose token is too old. */
const signInStatuses = [401, 403, 419, 440];

/**
 * What an answer means for an entry. Reads the body. It rejects when the body
 * does not arrive whole: that counts as no answer.
 */
export async function endingOf(entry: Entry, response: Response, random: () => number, attempt: Attempt): Promise<Ending> {
  const status = response.status;
  const said = await verdict(response);
  const text = await textOf(response);
  if (signInStatuses.includes(status) || attempt.signedOut) return signIn(entry, status);
  if (!said.definitive) {
    const reason: Reason = { word: said.kind === "in-flight" || said.kind === "unknown" ? said.kind : "unavailable", status };
    const asked = Math.min(said.retryAfterMs ?? 0, maxRetryAfterMs);
    return { end: "later", reason, delayMs: Math.max(asked, asked > 0 ? 0 : backoffMs(entry.attempts, random)) };
  }
  const answer: Answer = text === undefined ? { status } : { status, text };
  const notKept: Ending = { end: "done", answer: { status }, reason: { word: "not-kept", status } };
  if (!response.headers.has("Idempotency-Status") && (response.redirected || (response.ok && isPage(response)))) {
    return (await elsewhere(entry, status, random, attempt)) ?? (response.ok ? { end: "done", answer } : notKept);
  }
  if (response.ok) return { end: "done", answer };
  if (said.kind === "not-kept" || said.kind === "duplicate") return notKept;
  const reason: Reason = { word: wordOf(said.kind), status };
  const detail = detailOf(text);
  return { end: "set-aside", reason: detail === undefined ? reason : { ...reason, detail } };
}

/** Everything of the owner waits until the person has signed in. */
function signIn(entry: Entry, status: number): Ending {
  const delayMs = Math.min(maxDelayMs, 30_000 * 2 ** Math.min(entry.attempts - 1, 10));
  return { end: "later", reason: { word: "sign-in", status }, delayMs };
}

/** A captive portal, or a sign-in page without an address of its own, gives a page for every request. */
function isPage(response: Response): boolean {
  return /^(text\/html|application\/xhtml\+xml)\b/i.test(response.headers.get("Content-Type") ?? "");
}

/**
 * What a page means that the server does not call the answer: the one a redirect led to, or one given in the answer's
 * place. It says nothing of the entry, so the server is asked. Undefined when it was done. A record from before this
 * attempt may be the redirect to a sign-in page that this entry met: then it is for the person to look.
 */
async function elsewhere(entry: Entry, status: number, random: () => number, attempt: Attempt): Promise<Ending | undefined> {
  const { state, ageMs } = await attempt.ask();
  switch (state) {
    case "completed":
      return entry.metSignIn && ageMs > attempt.tookMs() ? { end: "set-aside", reason: { word: "unknown", status } } : undefined;
    case "absent": // it was turned away
    case "sign-in":
      return signIn(entry, status);
    case "in-flight":
      return { end: "later", reason: { word: "in-flight", status }, delayMs: backoffMs(entry.attempts, random) };
    case "later":
      return { end: "later", reason: { word: "unavailable", status }, delayMs: backoffMs(entry.attempts, random) };
    case "cancelled":
      return { end: "set-aside", reason: { word: "cancelled", status } };
    case "unknown":
    case "nothing":
      return { end: "set-aside", reason: { word: "unknown", status } };
  }
}

function wordOf(kind: string): Reason["word"] {
  return kind === "mismatch" || kind === "unknown" || kind === "cancelled" ? kind : "rejected";
}

/** What the server said, in words for a person: a problem document's detail or title, or the member error. */
function detailOf(text: string | undefined): string | undefined {
  const members = parse(text) as { detail?: unknown; title?: unknown; error?: unknown } | undefined;
  for (const said of [members?.detail, members?.title, members?.error]) {
    if (typeof said === "string" && said) return said.slice(0, maxDetail);
  }
  return undefined;
}

/** The value of a JSON object, or undefined. */
function parse(text: string | undefined): unknown {
  try {
    const value = JSON.parse(text ?? "") as unknown;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads an answer to its end, and keeps it if it is a text of at most maxAnswerBytes. */
async function textOf(response: Response): Promise<string | undefined> {
  const type = response.headers.get("Content-Type") ?? "";
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (const reader = response.body?.getReader(); reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((size += value.byteLength) <= maxAnswerBytes) pieces.push(value);
  }
  return size > maxAnswerBytes || !/json|text\/plain/i.test(type) ? undefined : new Blob(pieces).text();
}
