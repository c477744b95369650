import { IDBFactory } from "fake-indexeddb";
import { Queue, type QueueOptions } from "../src/queue/queue.js";

/** The origin that tests pretend to be at. */
export const home = "http://shop.test";

/** Random numbers that a seed makes, so that a failure can be repeated (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One request that a server saw. */
export interface Seen {
  key: string;
  url: string;
  body: string;
  authorization: string | null;
}

/** What meets a request: nothing, or a fault before or after the server did its work. */
export type Fault = "none" | "drop" | "lose" | "cut" | "503" | "retry-after" | "in-flight" | "401" | "throttled";

/** A server that keeps keys, as Semel's promises say: the first answer for a key is the answer. */
export class Server {
  /** Every request, in the order of arrival. */
  readonly seen: Seen[] = [];
  /** What was carried out, in order. */
  readonly done: (Seen & { id: number })[] = [];
  /** The fault that meets the next request. */
  fault: () => Fault = () => "none";
  /** What is refused for good. */
  refuses: (seen: Seen) => boolean = () => false;
  /** Called when a request arrives, before anything else; it may hold it up. */
  arrives: (seen: Seen, signal: AbortSignal | null | undefined) => Promise<void> | void = () => undefined;
  readonly #answers = new Map<string, { body: string; url: string; status: number; text: string }>();

  readonly fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const headers = new Headers(init?.headers);
    const key = /^"(.*)"$/.exec(headers.get("Idempotency-Key") ?? "")?.[1];
    if (!key) throw new Error("a request without a key");
    const seen: Seen = {
      key, url: String(input), body: new TextDecoder().decode((init?.body as ArrayBuffer | null) ?? undefined), authorization: headers.get("Authorization"),
    };
    this.seen.push(seen);
    await this.arrives(seen, init?.signal);
    const fault = this.fault();
    switch (fault) {
      case "drop":
        throw new TypeError("Failed to fetch");
      case "503":
        return new Response("not now", { status: 503 });
      case "retry-after":
        return new Response("not now", { status: 503, headers: { "Retry-After": "7" } });
      case "throttled":
        return new Response("slowly", { status: 429 });
      case "401":
        return new Response("who are you?", { status: 401 });
      case "in-flight":
        return problem(409, "in-flight");
    }
    const answer = this.#carryOut(seen);
    if (fault === "lose") throw new TypeError("Failed to fetch");
    if (fault === "cut") return new Response(new ReadableStream({ start: (c) => c.error(new TypeError("cut off")) }), { status: answer.status });
    if (answer.body !== seen.body || answer.url !== seen.url) return problem(422, "key-reused");
    return new Response(answer.text, { status: answer.status, headers: { "Content-Type": "application/json" } });
  };

  #carryOut(seen: Seen): { body: string; url: string; status: number; text: string } {
    let answer = this.#answers.get(seen.key);
    if (!answer) {
      const id = this.done.length + 1;
      const refused = this.refuses(seen);
      if (!refused) this.done.push({ ...seen, id });
      const text = JSON.stringify(refused ? { error: "no such thing" } : { id, of: { "a/b": "x y" } });
      answer = { body: seen.body, url: seen.url, status: refused ? 422 : 201, text };
      this.#answers.set(seen.key, answer);
    }
    return answer;
  }
}

function problem(status: number, type: string): Response {
  const text = JSON.stringify({ type: `urn:semel:problem:${type}`, status, title: type });
  return new Response(text, { status, headers: { "Content-Type": "application/problem+json" } });
}

/** Web Locks for one origin: first come, first served, given back when work ends or the tab dies. */
export class Locks {
  #tail: Promise<void> = Promise.resolve();
  /** The most that were inside at once. */
  most = 0;
  #inside = 0;

  /** What a tab that can die sees. */
  for(tab: { died: Promise<void> }): LockManager {
    const request = async (_: string, { signal }: LockOptions, work: () => Promise<unknown>): Promise<unknown> => {
      const before = this.#tail;
      const dead = tab.died.then((): never => {
        throw new Error("the tab died");
      });
      let leave: () => void = () => undefined;
      this.#tail = new Promise((resolve) => (leave = resolve)).then(() => before) as Promise<void>;
      try {
        await Promise.race([before, dead]);
        signal?.throwIfAborted();
        this.most = Math.max(this.most, ++this.#inside);
        try {
          return await Promise.race([work(), dead]);
        } finally {
          this.#inside--;
        }
      } finally {
        leave();
      }
    };
    return { request } as unknown as LockManager;
  }
}

/** A browser profile: one database, one set of locks, one clock that may jump. */
export class Browser {
  now = Date.UTC(2026, 0, 1);
  readonly factory = new IDBFactory();
  readonly locks = new Locks();
  constructor(readonly server: Server, readonly random: () => number = () => 0.5, readonly leaseMs?: number) {}

  /** Opens a tab. kill() ends it as a crash does: nothing it does afterwards has an effect. */
  tab(options: QueueOptions = {}): { queue: Queue; kill(): void } {
    let alive = true;
    let die: () => void = () => undefined;
    const died = new Promise<void>((resolve) => (die = resolve));
    const databases = new Set<IDBDatabase>();
    const open = this.factory.open.bind(this.factory);
    const queue = new Queue({
      ...options,
      environment: {
        indexedDB: () => ({
          open: (name: string, version: number) => {
            if (!alive) throw new Error("the tab died");
            const request = open(name, version);
            request.addEventListener("success", () => databases.add(request.result));
            return request;
          },
        }) as IDBFactory,
        fetch: async (input, init) => {
          if (!alive) return new Promise(() => undefined);
          const response = await this.server.fetch(input, init);
          return alive ? response : new Promise(() => undefined);
        },
        locks: this.leaseMs === undefined ? this.locks.for({ died }) : undefined,
        leaseMs: this.leaseMs ?? 1_000,
        now: () => this.now,
        random: this.random,
        ...options.environment,
      },
    });
    const kill = (): void => {
      alive = false;
      for (const database of databases) database.close();
      die();
      void queue.close().catch(() => undefined); // otherwise it keeps receiving later tabs' news
    };
    return { queue, kill };
  }
}

/** Polls until check is true; the test's own deadline ends it. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 2));
}
