import { quoteKey } from "./key.js";
import { type Kind, type Problem, type Verdict, verdict } from "./verdict.js";
import { watched, whole } from "./whole.js";

/** The reason that no definitive answer came. */
export type Trouble = Kind | "network" | "offline" | "timeout" | "not-repeatable";

/** No definitive answer came: it may have happened, and sending it again under the same key is safe. */
export class SemelError extends Error {
  override readonly name = "SemelError";

  constructor(
    readonly kind: Trouble,
    readonly key: string,
    /** Whether the same call can bring an answer later. */
    readonly retryable: boolean,
    /** What the server said last, if it said something. */
    readonly problem?: Problem,
    options?: ErrorOptions,
  ) {
    super(problem?.detail ?? problem?.title ?? messages[kind] ?? kind, options);
  }
}

const messages: { [kind in Trouble]?: string } = {
  network: "the server could not be reached",
  offline: "there is no network",
  timeout: "there was no answer in time",
  "in-flight": "an earlier attempt is still at work",
  unavailable: "the server cannot do it now",
  unknown: "the answer broke off: it may have happened; send it again with the same key",
  "not-repeatable": "this body can be read only once; give a string, Blob, FormData or bytes",
};

/** What is going on between the call and its answer. */
export type State =
  | { name: "sending"; attempt: number }
  | { name: "waiting"; attempt: number; waitMs: number; kind: Trouble }
  | { name: "offline"; attempt: number };

/** How long and how often a request is tried. */
export interface Patience {
  /** How long the call waits for a definitive answer in all, in milliseconds. Default 60 000. */
  timeout?: number;
  /** How long one attempt waits for its answer, in milliseconds. Default 30 000. */
  attemptTimeout?: number;
  /** The most attempts. Default 8. */
  attempts?: number;
  /** Stops waiting. The key is kept: the request may have arrived. */
  signal?: AbortSignal | null;
  onState?: (state: State) => void;
}

const defaultTimeoutMs = 60_000;
const defaultAttemptMs = 30_000;
const defaultAttempts = 8;
/** The wait before attempt n is drawn from 0 to firstWaitMs * 2^(n-1), and at most maxWaitMs. */
const firstWaitMs = 500;
const maxWaitMs = 20_000;

/** How long to wait after an attempt, in milliseconds: full jitter, and never less than the server asked for. */
export function waitAfter(attempt: number, retryAfterMs = 0, random: () => number = Math.random): number {
  return Math.max(retryAfterMs, random() * Math.min(maxWaitMs, firstWaitMs * 2 ** (attempt - 1)));
}

/**
 * A definitive answer. The body of one that is a stream or longer than 1 MiB is still on its way: its reader gets a SemelError of the
 * kind unknown when it breaks off, and the verdict does not end the key.
 */
export interface Answer {
  response: Response;
  verdict: Verdict;
}

/**
 * Sends until there is a definitive answer. attempt sends once and must send the same each time. ended is called when the answer has
 * come whole and the key has served.
 * @throws SemelError when patience ends first; the signal's reason when it is aborted.
 */
export async function retrying(
  attempt: (signal: AbortSignal) => Promise<Response>,
  key: string,
  patience: Patience = {},
  ended: (verdict: Verdict) => void = () => undefined,
): Promise<Answer> {
  const { timeout = defaultTimeoutMs, attempts = defaultAttempts, signal, onState } = patience;
  const until = performance.now() + timeout;
  for (let n = 1; ; n++) {
    await online(n, until, key, patience);
    onState?.({ name: "sending", attempt: n });
    const failure = await once(attempt, key, patience, until);
    if (!(failure instanceof SemelError)) {
      const { response, verdict, rest } = failure;
      const served = (): void => (verdict.ends ? ended(verdict) : undefined);
      if (verdict.definitive && rest) {
        const broken = (cause: unknown): SemelError => new SemelError("unknown", key, true, undefined, { cause });
        return { response: watched(response, served, broken), verdict: { ...verdict, ends: false } };
      }
      if (verdict.definitive) return served(), failure;
    }
    const error = failure instanceof SemelError ? failure : notNow(failure.verdict, key);
    const wait = waitAfter(n, failure instanceof SemelError ? 0 : failure.verdict.retryAfterMs);
    if (n >= attempts || performance.now() + wait >= until) throw error;
    onState?.({ name: "waiting", attempt: n, waitMs: wait, kind: error.kind });
    await pause(wait, signal);
  }
}

function notNow({ kind, problem }: Verdict, key: string): SemelError {
  return new SemelError(kind, key, true, problem);
}

/** One attempt: an answer with its verdict, or why none came. */
async function once(
  attempt: (signal: AbortSignal) => Promise<Response>,
  key: string,
  { attemptTimeout = defaultAttemptMs, signal }: Patience,
  until: number,
): Promise<(Answer & { rest: boolean }) | SemelError> {
  signal?.throwIfAborted();
  const control = new AbortController();
  const stop = (): void => control.abort(signal?.reason);
  signal?.addEventListener("abort", stop);
  const late = new DOMException("the attempt took too long", "TimeoutError");
  const timer = setTimeout(() => control.abort(late), Math.max(0, Math.min(attemptTimeout, until - performance.now())));
  try {
    const response = await attempt(control.signal);
    const rest = !(await whole(response));
    return { response, verdict: await verdict(response), rest };
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof SemelError) throw cause;
    return new SemelError(control.signal.aborted ? "timeout" : "network", key, true, undefined, { cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** Waits for the network where the browser knows that there is none. */
async function online(n: number, until: number, key: string, { signal, onState }: Patience): Promise<void> {
  if (globalThis.navigator?.onLine !== false) return;
  onState?.({ name: "offline", attempt: n });
  const back = new AbortController();
  const arrived = (): void => back.abort();
  globalThis.addEventListener?.("online", arrived);
  try {
    await pause(Math.max(0, until - performance.now()), signal, back.signal);
  } finally {
    globalThis.removeEventListener?.("online", arrived);
  }
  if (!back.signal.aborted) throw new SemelError("offline", key, true);
}

/** Waits so long, or until early is aborted; throws the signal's reason when that is. */
function pause(ms: number, signal?: AbortSignal | null, early?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
    early?.addEventListener("abort", end);
  });
}

/** Adds the key to a request's headers. */
export function withKey(headers: HeadersInit | undefined, key: string): Headers {
  const all = new Headers(headers);
  all.set("Idempotency-Key", quoteKey(key));
  return all;
}
