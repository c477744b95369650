import { asksToSignIn } from "./sign-in.js";
import { whole } from "./whole.js";

/** What an answer means to who sent a request with a key. */
export type Kind =
  | "done" // it happened, now or by an earlier attempt
  | "rejected" // it was looked at and refused; sending it again changes nothing
  | "in-flight" // an earlier attempt is still at work
  | "mismatch" // the key was used for something else
  | "unknown" // it may have happened; people have to look
  | "cancelled" // it will never happen under this key
  | "not-kept" // it happened, and its answer is not there any more
  | "duplicate" // it happened before, and this route keeps no answers
  | "unavailable"; // not now

/** A judged answer. */
export interface Verdict {
  kind: Kind;
  /** Sending the same request under the same key again brings nothing new. */
  definitive: boolean;
  /** The key has served: the next wish of this name gets another one. */
  ends: boolean;
  /** This is an earlier attempt's answer. */
  replayed: boolean;
  /** How long to wait before the next attempt, if the server says so. */
  retryAfterMs?: number;
  /** The problem document, if there is one. */
  problem?: Problem;
}

/** A problem document (RFC 9457). */
export interface Problem {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  retryable?: boolean;
  [member: string]: unknown;
}

const prefix = "urn:semel:problem:";

/** Problems that are not what their status alone says: the kind, and whether it is definitive. */
const kinds: Readonly<{ [type: string]: readonly [Kind, boolean] }> = {
  "in-flight": ["in-flight", false],
  "key-reused": ["mismatch", true],
  "outcome-unknown": ["unknown", true],
  "response-not-kept": ["not-kept", true],
  "response-unreadable": ["not-kept", true],
  cancelled: ["cancelled", true],
  duplicate: ["duplicate", true],
  "commit-unknown": ["unavailable", false],
};

/** The largest problem document that is looked at; a longer one is judged by its status. */
export const maxProblemBytes = 65536;

/**
 * Judges an answer. The response can still be read afterwards. The page at the end of a redirect to a sign-in page is
 * no answer to the request: it was refused, and its key is kept. It rejects when a problem document breaks off, which is no
 * answer either, or has no end.
 */
export async function verdict(response: Response): Promise<Verdict> {
  const said = judge(response.status, response.headers, await problemIn(response));
  const { redirected, url } = response;
  return redirected && said.definitive && asksToSignIn(new URL(url)) ? { ...said, kind: "rejected", ends: false } : said;
}

/** Judges an answer by its status, headers and problem document. Nothing but Semel's own problem types is trusted. */
export function judge(status: number, headers: Headers, problem?: Problem): Verdict {
  const type = problem?.type?.startsWith(prefix) ? problem.type.slice(prefix.length) : "";
  const again = isReplay(headers);
  const [kind, final] = Object.hasOwn(kinds, type) ? kinds[type]! : byStatus(status, again);
  const definitive = final && !(kind === "unknown" && problem?.retryable === true); // the server will find out
  const wait = retryAfter(headers.get("Retry-After"));
  return {
    kind,
    definitive,
    // An answer that asks to sign in says nothing of earlier attempts, unless it is known to be this key's own.
    ends: definitive && kind !== "unknown" && (![401, 419, 440].includes(status) || headers.has("Idempotency-Status") || again),
    replayed: again,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(problem ? { problem } : {}),
  };
}

/** Every repetition brings the failure that was recorded for its key. */
function byStatus(status: number, again: boolean): readonly [Kind, boolean] {
  if (!again && (status >= 500 || [408, 421, 425, 429].includes(status))) return ["unavailable", false];
  return [status >= 400 ? "rejected" : "done", true];
}

/** Whether a response is an earlier attempt's answer. */
export function replayed(response: Response): boolean {
  return isReplay(response.headers);
}

function isReplay(headers: Headers): boolean {
  return headers.get("Idempotent-Replayed") === "true" || headers.get("Idempotency-Status") === "replayed";
}

/**
 * Reads a Retry-After header, in seconds or as a date, as milliseconds from now; undefined when there is none that can
 * be read. A date is read by this machine's clock, and one that has passed means now.
 */
export function retryAfter(value: string | null, now = Date.now()): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

async function problemIn(response: Response): Promise<Problem | undefined> {
  if (!/^application\/problem\+json\b/i.test(response.headers.get("Content-Type") ?? "") || response.bodyUsed) return undefined;
  const said = await whole(response);
  if (!said) {
    void response.body?.cancel().catch(() => undefined);
    throw new TypeError("a problem document without an end");
  }
  try {
    const value: unknown = said.size > maxProblemBytes ? undefined : JSON.parse(await said.text());
    return value && typeof value === "object" ? (value as Problem) : undefined;
  } catch {
    return undefined; // no JSON
  }
}
