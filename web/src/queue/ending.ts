import { verdict } from "../verdict.js";
import { maxAnswerBytes, maxDetail, type Answer, type Entry, type Reason } from "./entry.js";

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

/**
 * What an answer means for an entry. Reads the body. It rejects when the body
 * does not arrive whole: then there was no answer.
 */
export async function endingOf(
  entry: Entry, response: Response, random: () => number, signedOut: (response: Response) => boolean,
): Promise<Ending> {
  const status = response.status;
  const said = await verdict(response);
  const text = await textOf(response);
  if (status === 401 || status === 403 || signedOut(response)) {
    const delayMs = Math.min(maxDelayMs, 30_000 * 2 ** Math.min(entry.attempts - 1, 10));
    return { end: "later", reason: { word: "sign-in", status }, delayMs };
  }
  if (!said.definitive) {
    const reason: Reason = { word: said.kind === "in-flight" ? "in-flight" : "unavailable", status };
    const asked = Math.min(said.retryAfterMs ?? 0, maxRetryAfterMs);
    return { end: "later", reason, delayMs: Math.max(asked, asked > 0 ? 0 : backoffMs(entry.attempts, random)) };
  }
  const answer: Answer = text === undefined ? { status } : { status, text };
  if (response.ok) return { end: "done", answer };
  if (said.kind === "not-kept" || said.kind === "duplicate") return { end: "done", answer: { status }, reason: { word: "not-kept", status } };
  const reason: Reason = { word: wordOf(said.kind), status };
  const detail = detailOf(text);
  return { end: "set-aside", reason: detail === undefined ? reason : { ...reason, detail } };
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

async function textOf(response: Response): Promise<string | undefined> {
  const type = response.headers.get("Content-Type") ?? "";
  const bytes = await response.arrayBuffer();
  if (bytes.byteLength > maxAnswerBytes || !/json|text\/plain/i.test(type)) return undefined;
  return new TextDecoder().decode(bytes);
}
