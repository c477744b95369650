import { quoteKey } from "../key.js";
import type { Database } from "./database.js";
import { endingOf, noAnswer, type Ending } from "./ending.js";
import type { Entry } from "./entry.js";
import { exclusively, type Lease } from "./exclusive.js";
import { plan } from "./plan.js";
import { ask } from "./question.js";
import { begin, list, settle, type Sending } from "./rows.js";
import { anyOf } from "./signals.js";

/** The most requests under way at a time, of different groups. */
export const maxParallel = 4;
/** How long an answer may take. After that the same key is sent again. */
export const answerMs = 60_000;

export interface SenderOptions {
  name: string;
  database: Database;
  /** The owner of the entries to send. */
  owner: () => Promise<string>;
  /** The request header that carries the key. */
  header: string;
  /** Headers that must be fresh, such as a bearer token; asked for with each attempt, never kept. */
  headers: (() => HeadersInit | Promise<HeadersInit>) | undefined;
  /** Whether the answer to a request to sentTo is a page that asks to sign in. */
  signedOut: (response: Response, sentTo: string) => boolean;
  fetch: typeof fetch;
  locks: LockManager | undefined;
  leaseMs: number;
  now: () => number;
  random: () => number;
  /** Called after everything that was written. */
  changed: () => void;
}

/** Sends what can be sent. There may be many in an origin; one of them works at a time. */
export class Sender {
  #poke: () => void = () => undefined;

  constructor(private readonly options: SenderOptions) {}

  /** Something was added or changed: look again, even while requests are under way. */
  poke(): void {
    this.#poke();
  }

  /**
   * Waits for the right to send, sends all that can be sent now, and returns
   * how long until there may be more: Infinity when that is up to the network, undefined when nothing waits for its time.
   */
  async pass(hurry: boolean, signal: AbortSignal): Promise<number | undefined> {
    const { database, owner, now } = this.options;
    const { send, wakeMs } = plan(await list(database, await owner()), { now: now(), hurry });
    if (send.length === 0 || offline()) return rest(send, wakeMs);
    return exclusively({ ...this.options, signal }, (lease, held) => this.#drain(hurry, lease, held));
  }

  async #drain(hurry: boolean, lease: Lease, signal: AbortSignal): Promise<number | undefined> {
    const { database, owner, now } = this.options;
    const busy = new Map<string, Promise<void>>();
    let forbidden = false;
    let failure: { error: unknown } | undefined;
    try {
      for (;;) {
        const poked = new Promise<void>((resolve) => (this.#poke = resolve));
        const entries = await list(database, await owner());
        const { send, wakeMs } = plan(entries, { now: now(), busy: new Set(busy.keys()), hurry });
        hurry = false;
        const stop = forbidden || failure || signal.aborted || offline();
        for (const entry of stop ? [] : send.slice(0, maxParallel - busy.size)) {
          const attempt = this.#attempt(entry, lease, signal).then(
            (allowed) => void (forbidden ||= !allowed), (error: unknown) => void (failure = { error }),
          ).finally(() => busy.delete(entry.id));
          busy.set(entry.id, attempt);
        }
        if (busy.size === 0) {
          if (failure) throw failure.error;
          return rest(send, wakeMs);
        }
        await Promise.race([...busy.values(), poked]);
      }
    } finally {
      this.#poke = () => undefined;
    }
  }

  /** Sends an entry once, if it is still there. False when the caller may not send any more. */
  async #attempt(planned: Entry, lease: Lease, signal: AbortSignal): Promise<boolean> {
    const { database, changed, now } = this.options;
    const fresh = await within(this.options.headers?.(), anyOf(signal, AbortSignal.timeout(answerMs)));
    const sending = await begin(database, planned, lease);
    if (sending === "forbidden") return false;
    if (sending === "changed") return true;
    changed();
    await settle(database, sending.entry, await this.#send(sending, fresh, signal), now());
    changed();
    return true;
  }

  async #send({ entry, body }: Sending, fresh: HeadersInit | undefined, signal: AbortSignal): Promise<Ending> {
    const { header, random, signedOut } = this.options;
    const headers = new Headers(entry.headers);
    new Headers(fresh).forEach((value, name) => headers.set(name, value));
    headers.set(header, quoteKey(entry.key));
    const patience = anyOf(signal, AbortSignal.timeout(answerMs));
    const began = performance.now();
    try {
      const response = await this.options.fetch(entry.url, {
        method: entry.method, headers, body, credentials: entry.credentials, cache: "no-store", signal: patience,
      });
      return await endingOf(entry, response, random, {
        signedOut: signedOut(response, entry.url),
        ask: () => ask(this.options.fetch, entry, headers, patience),
        tookMs: () => performance.now() - began,
      });
    } catch {
      return noAnswer(entry, random);
    }
  }
}

/** What comes before the signal; the app's headers may never come, and no other tab could send meanwhile. */
function within<T>(value: T | Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    Promise.resolve(value).then(resolve, reject);
  });
}

/** The time until there is more to send; entries that only lack a network may go at any time. */
function rest(send: readonly Entry[], wakeMs: number | undefined): number | undefined {
  return send.length > 0 && offline() ? (wakeMs ?? Infinity) : wakeMs;
}

/** Whether the browser knows that it is offline; that it thinks it is online says little. */
function offline(): boolean {
  return globalThis.navigator?.onLine === false;
}
