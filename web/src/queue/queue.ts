import { addressOf } from "../address.js";
import { keyIn, newKey } from "../key.js";
import { wasSentToSignIn } from "../sign-in.js";
import { bytesOf, checkFill, type Body } from "./body.js";
import { checkIntent, checkRequest, name } from "./check.js";
import { Database } from "./database.js";
import { QueueError, type Answer, type Entry, type Reason, type State } from "./entry.js";
import { defaultLeaseMs } from "./exclusive.js";
import { openNews, type News } from "./news.js";
import { plan } from "./plan.js";
import * as rows from "./rows.js";
import { Sender } from "./sender.js";

export { QueueError, type Answer, type Reason, type State, type Trouble, type Word } from "./entry.js";
export { maxAnswerBytes, maxDone, maxEntries, maxEntryBytes } from "./entry.js";
export { defineQueueStatus, type StatusOptions } from "./status.js";
export { queueTexts, refusalText, type QueueTexts } from "./texts.js";
export type { Body } from "./body.js";

/** The tag of Background Sync, and what a message to the service worker says. */
export const syncTag = "semel-queue";

/** How often a tab checks on its own while something waits, in milliseconds. */
const lookEveryMs = 60_000;
/** How long it rests when the database or the app's headers failed, in milliseconds. */
const restMs = 5_000;

/** The settings of a queue. All have defaults. */
export interface QueueOptions {
  /** The database's name; tabs, service worker and all share one by it. Default "semel-queue". */
  name?: string;
  /**
   * The account that these entries belong to, by its id. It becomes the current owner of
   * the origin; entries of another one stay where they are and are not sent.
   * undefined takes the one that is current. Default "".
   */
  owner?: string | undefined;
  /** The request header that carries the key. Default "Idempotency-Key". */
  header?: string;
  /** Headers that must be fresh with each attempt, such as a bearer token. They are never kept. */
  headers?: () => HeadersInit | Promise<HeadersInit>;
  /** Whether the answer to a request to sentTo is a page that asks to sign in. Default: it was redirected to an address like /login. */
  signedOut?: (response: Response, sentTo: string) => boolean;
  /** What is used instead of the browser's own; for tests. */
  environment?: Partial<Environment>;
}

/** What the queue uses of its surroundings. */
export interface Environment {
  indexedDB: () => IDBFactory;
  fetch: typeof fetch;
  locks: LockManager | undefined;
  leaseMs: number;
  now: () => number;
  random: () => number;
}

/** What to send. */
export interface Intent {
  /** Default "POST". */
  method?: string;
  /** May hold a key, such as that of a SemelError, under which the intent goes on. Default: a fresh one. */
  headers?: HeadersInit;
  /** Default null. */
  body?: Body;
  /** Default "same-origin". */
  credentials?: RequestCredentials;
  /** Intents of one group are sent in their order. Default "". */
  group?: string;
  /** The id of an entry whose answer must have come before. */
  after?: string;
  /**
   * Values of that answer and where they go: from JSON pointers in the answer,
   * to JSON pointers in this body, or placeholders of this address such as {id}.
   */
  fill?: Readonly<Record<string, string>>;
  /** What the person calls it, shown when it was set aside. Default: the address. */
  label?: string;
  /** A form's field that carries the key in addition to the header; for bodies that are FormData or URLSearchParams. */
  keyField?: string;
}

/** An entry as the app sees it. */
export interface Item {
  id: string;
  key: string;
  label: string;
  url: string;
  method: string;
  group: string;
  after: string | undefined;
  createdAt: Date;
  attempts: number;
  state: State;
  reason: Reason | undefined;
  /** The answer of an entry that is done. */
  answer: Answer | undefined;
}

/**
 * A queue of intents that survives reloads, crashes and days without a network.
 * Every intent is on the disk, with its key, before anything is sent; it is sent
 * under that key until a definitive answer comes. Any number of tabs, and the
 * service worker, may have the queue open; one sends at a time.
 */
export class Queue {
  readonly #database: Database;
  readonly #sender: Sender;
  readonly #news: News;
  readonly #owner: string | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #now: () => number;
  readonly #header: string;
  #ready: Promise<void> | undefined;
  #tookOver = false;
  #work: Promise<void> | undefined;
  #again = false;
  #hurry = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #trouble: QueueError | undefined;

  /** Opens nothing yet: the first method does, and says what is wrong with the storage. @throws TypeError for a header that has no such name. */
  constructor(options: QueueOptions = {}) {
    const { name = "semel-queue", header = "Idempotency-Key", headers, signedOut = wasSentToSignIn, environment = {} } = options;
    new Headers().set(header, "");
    this.#header = header;
    this.#owner = "owner" in options ? options.owner : "";
    this.#now = environment.now ?? Date.now;
    this.#database = new Database(name, environment.indexedDB ?? (() => indexedDB), () => {
      this.#ready = undefined; // a new database does not know whose entries these are
    });
    this.#news = openNews(name, () => this.#changed(false));
    this.#sender = new Sender({
      name, database: this.#database, owner: () => this.#current(), header, headers, signedOut,
      fetch: environment.fetch ?? ((input, init) => fetch(input, init)),
      locks: "locks" in environment ? environment.locks : globalThis.navigator?.locks,
      leaseMs: environment.leaseMs ?? defaultLeaseMs,
      now: this.#now, random: environment.random ?? Math.random,
      changed: () => this.#changed(true),
    });
    globalThis.addEventListener?.("online", this.#wake);
    globalThis.addEventListener?.("offline", this.#tellListeners);
    globalThis.addEventListener?.("pageshow", this.#wake);
    globalThis.document?.addEventListener("visibilitychange", this.#wake);
  }

  /**
   * Keeps an intent. It resolves when the intent is on the disk: from then on it
   * will be sent, by this page or by another. When it rejects, with a
   * QueueError, nothing was kept and nothing will be sent.
   */
  async add(url: string | URL, intent: Intent = {}): Promise<Item> {
    const { fresh, bytes } = await this.#fresh(url, intent);
    const entry = await rows.add(this.#database, fresh, bytes);
    this.#stored();
    return item(entry, undefined);
  }

  /** What is in the queue for this owner, in order; also what is done, as long as that is kept. */
  async list(): Promise<Item[]> {
    await this.#opened();
    const entries = await rows.list(this.#database, await this.#current());
    const { held } = plan(entries, { now: this.#now() });
    return entries.map((entry) => item(entry, held.get(entry.id)));
  }

  /** Sends an entry that was set aside, or that waits, again and now: under the same key. */
  async retry(id: string): Promise<void> {
    name("id", id);
    await this.#opened();
    await rows.retry(this.#database, id, await this.#current());
    this.#stored();
  }

  /** Puts a new intent with a new key in the place of an entry. What waited for its answer waits for the new one's. */
  async edit(id: string, url: string | URL, intent: Intent = {}): Promise<Item> {
    name("id", id);
    const { fresh, bytes } = await this.#fresh(url, intent);
    const entry = await rows.replace(this.#database, id, fresh, bytes);
    this.#stored();
    return item(entry, undefined);
  }

  /** Forgets an entry. It takes nothing back that an attempt may have done; what waited for its answer is set aside. */
  async discard(id: string): Promise<void> {
    name("id", id);
    await this.#opened();
    await rows.discard(this.#database, id, await this.#current());
    this.#stored();
  }

  /** The person has signed in again: what waited for that is sent now. */
  async resume(): Promise<void> {
    await this.#opened();
    await rows.resume(this.#database, await this.#current());
    this.#stored();
  }

  /**
   * Signs out: no tab and no worker sends anything until a
   * queue is opened with an owner. Entries stay.
   */
  async signOut(): Promise<void> {
    await this.#opened();
    await rows.setOwner(this.#database, null);
    this.#stored();
  }

  /**
   * Sends all that can be sent now, and resolves when that is done; whether
   * something still waits, list() tells. Calls while it works are one more round.
   */
  drain(): Promise<void> {
    this.#again = true;
    this.#sender.poke();
    return (this.#work ??= this.#rounds());
  }

  /** drain(), for a moment at which the network may be back: what had no answer does not wait for its time. */
  hurry(): Promise<void> {
    this.#hurry = true;
    return this.drain();
  }

  /** Calls listener after every change, in whatever tab. Returns what ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What keeps the queue from working; undefined when nothing does. */
  get trouble(): QueueError | undefined {
    return this.#trouble;
  }

  /** Stops sending and lets go of the database. What is under way is sent again later, under its key. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    globalThis.removeEventListener?.("online", this.#wake);
    globalThis.removeEventListener?.("offline", this.#tellListeners);
    globalThis.removeEventListener?.("pageshow", this.#wake);
    globalThis.document?.removeEventListener("visibilitychange", this.#wake);
    this.#news.close();
    await this.#work?.catch(() => undefined);
    this.#database.close();
  }

  readonly #tellListeners = (): void => {
    for (const listener of [...this.#listeners]) listener();
  };

  /** The network, or the person, may be back. */
  readonly #wake = (): void => {
    if (globalThis.document?.visibilityState === "hidden") return;
    this.#tellListeners();
    void this.hurry();
  };

  /** The owner of this queue: its own, or the current one. Null: signed out. */
  async #current(): Promise<string> {
    if (this.#owner !== undefined) return this.#owner;
    const owner = await rows.owner(this.#database);
    if (typeof owner !== "string") throw new QueueError("closed", "nobody is signed in");
    return owner;
  }

  /**
   * The first call makes this queue's owner the current one, and gives what waited for signing in another chance. So does the
   * first one after the database was deleted, even if the service worker made it anew, which knows no owner.
   */
  #opened(): Promise<void> {
    this.#ready ??= this.#takeOver().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #takeOver(): Promise<void> {
    if (this.#owner === undefined) return;
    if (this.#tookOver && (await rows.owner(this.#database)) !== undefined) return; // another tab may have signed out since
    await rows.setOwner(this.#database, this.#owner);
    this.#tookOver = true;
    await rows.resume(this.#database, this.#owner);
  }

  async #fresh(url: string | URL, intent: Intent): Promise<{ fresh: rows.Fresh; bytes: ArrayBuffer | null }> {
    checkIntent(intent);
    const { method = "POST", credentials = "same-origin", group = "", after, fill, label, keyField } = intent;
    const address = absolute(url);
    const headers = new Headers(intent.headers);
    const key = keyIn(headers, this.#header) ?? newKey();
    headers.delete(this.#header);
    checkRequest(address, { method, headers, credentials, body: intent.body == null ? null : "" }, key);
    if (fill) {
      if (after === undefined) throw new QueueError("invalid", "fill needs after: whose answer it takes values from");
      checkFill(fill, address);
    }
    const { bytes, type } = await bytesOf(withKey(intent.body ?? null, keyField, key));
    if (type && !headers.has("Content-Type")) headers.set("Content-Type", type);
    await this.#opened();
    const fresh: rows.Fresh = {
      id: newKey(), key, owner: await this.#current(), url: address, method: method.toUpperCase(), headers: [...headers],
      credentials, group, label: label ?? `${method.toUpperCase()} ${new URL(address).pathname}`, createdAt: Date.now(), attempts: 0,
      state: "waiting", ...(after !== undefined && { after }), ...(fill && { fill: { ...fill } }),
    };
    return { fresh, bytes };
  }

  /** Something of this tab's is on the disk. */
  #stored(): void {
    this.#changed(true);
    void this.drain();
    void askForSync();
  }

  #changed(tell: boolean): void {
    if (this.#closing.signal.aborted) return;
    if (tell) this.#news.tell();
    this.#tellListeners();
    if (!tell) void this.drain(); // queue up behind the tab that sends, to go on should it die
  }

  async #rounds(): Promise<void> {
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      const hurry = this.#hurry;
      this.#hurry = false;
      let wait: number | undefined;
      try {
        await this.#opened();
        wait = await this.#sender.pass(hurry, this.#closing.signal);
        this.#say(undefined);
      } catch (error) {
        if (this.#closing.signal.aborted) break;
        wait = restMs;
        this.#say(error instanceof QueueError ? error : new QueueError("storage-failed", String(error), { cause: error }));
      }
      if (wait !== undefined) void askForSync(); // the browser forgets the worker's turn when it failed too often
      this.#sleep(wait);
    }
    this.#work = undefined; // in the same breath as the last look at again
  }

  #say(trouble: QueueError | undefined): void {
    const changed = trouble?.code !== this.#trouble?.code;
    this.#trouble = trouble;
    if (changed) this.#tellListeners();
  }

  /** Looks again in ms, and now and then in any case: news may get lost, and other tabs may die. */
  #sleep(ms: number | undefined): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => void this.drain(), Math.min(ms ?? lookEveryMs, lookEveryMs));
    (this.#timer as { unref?: () => void }).unref?.(); // outside of browsers it would keep the process alive
  }
}

/** Opens a queue and begins to send what waits. */
export function openQueue(options?: QueueOptions): Queue {
  const queue = new Queue(options);
  void queue.hurry();
  return queue;
}

/** Asks the browser to wake the service worker when there is a network, where it can. */
async function askForSync(): Promise<void> {
  try {
    const registration = await navigator.serviceWorker?.getRegistration();
    await (registration as { sync?: { register(tag: string): Promise<void> } } | undefined)?.sync?.register(syncTag);
  } catch {
    // not allowed, or not there: the pages send
  }
}

function item(entry: Entry, held: Reason | undefined): Item {
  const { id, key, label, url, method, group, after, attempts, state, reason, answer } = entry;
  return { id, key, label, url, method, group, after, createdAt: new Date(entry.createdAt), attempts, state, reason: reason ?? held, answer };
}

function absolute(url: string | URL): string {
  try {
    // Placeholders stay readable: {id} would become %7Bid%7D.
    return addressOf(url).replace(/%7B(\w+)%7D/gi, "{$1}");
  } catch (error) {
    throw new QueueError("invalid", `${String(url)} is no address: give a string or a URL`, { cause: error });
  }
}

function withKey(body: Body, field: string | undefined, key: string): Body {
  if (field === undefined) return body;
  if (!(body instanceof FormData) && !(body instanceof URLSearchParams)) {
    throw new QueueError("invalid", "keyField is for bodies that are FormData or URLSearchParams");
  }
  body.set(field, key);
  return body;
}
