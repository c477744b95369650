import { filled } from "./body.js";
import { got, type Database, type Tx } from "./database.js";
import type { Ending } from "./ending.js";
import { maxDone, maxEntries, QueueError, type Entry, type State } from "./entry.js";
import { held, type Lease } from "./exclusive.js";

const ownerRow = "owner";

/** An entry that has no place yet. */
export type Fresh = Omit<Entry, "seq">;

/** An entry together with the bytes to send. Bodies lie in a store of their own, so that a look at the queue reads none. */
export interface Sending {
  entry: Entry;
  body: ArrayBuffer | null;
}

/** Every entry of an owner, in order. */
export function list(database: Database, owner: string): Promise<Entry[]> {
  return database.transact("readonly", (tx) => got(tx.store("entries").index("owner").getAll(owner) as IDBRequest<Entry[]>));
}

/** The owner whose entries are sent; undefined before the first, null after signing out. */
export function owner(database: Database): Promise<string | null | undefined> {
  return database.transact("readonly", (tx) => got(tx.store("state").get(ownerRow)) as Promise<string | null | undefined>);
}

/** Sets the owner whose entries every tab and the service worker send from now on; null for none. */
export function setOwner(database: Database, name: string | null): Promise<void> {
  return database.transact("readwrite", async (tx) => void (await got(tx.store("state").put(name, ownerRow))));
}

/** Stores a new entry behind all others. A parent that is done fills it at once. */
export function add(database: Database, fresh: Fresh, body: ArrayBuffer | null): Promise<Entry> {
  return database.transact("readwrite", async (tx) => {
    const entries = tx.store("entries");
    if ((await got(entries.count())) - (await got(entries.index("state").count("done" satisfies State))) >= maxEntries) {
      throw new QueueError("queue-full", `${maxEntries} entries wait already`);
    }
    const adopted = adopt(fresh, body, await parentOf(tx, fresh));
    const seq = (await got(entries.add(adopted.entry))) as number;
    await got(tx.store("bodies").put(adopted.body, seq));
    return { ...adopted.entry, seq };
  });
}

/** Puts another intent in the place of an entry; what needed the old one needs the new one. */
export function replace(database: Database, id: string, fresh: Fresh, body: ArrayBuffer | null): Promise<Entry> {
  return database.transact("readwrite", async (tx) => {
    const old = await own(tx, id, fresh.owner);
    const parent = await parentOf(tx, fresh);
    if (parent && parent.seq >= old.seq) throw new QueueError("no-parent", "the entry that it needs stands behind it");
    const adopted = adopt(fresh, body, parent);
    const entry: Entry = { ...adopted.entry, seq: old.seq };
    await put(tx, entry, adopted.body);
    for (const child of await childrenOf(tx, id)) await put(tx, { ...child, after: entry.id });
    return entry;
  });
}

/** Makes an entry that was set aside, or waits, due now, under its key. */
export function retry(database: Database, id: string, owner: string): Promise<void> {
  return database.transact("readwrite", async (tx) => {
    const entry = await own(tx, id, owner);
    const { word } = entry.reason ?? {};
    if (word === "parent-discarded" || word === "parent-answer") throw new QueueError("no-parent", "it lacks what it needs of another entry");
    await put(tx, { ...due(entry), state: "waiting" });
  });
}

/** Forgets an entry. What needs its answer is set aside. */
export function discard(database: Database, id: string, owner: string): Promise<void> {
  return database.transact("readwrite", async (tx) => {
    const { seq } = await own(tx, id, owner);
    await remove(tx, seq);
    for (const child of await childrenOf(tx, id)) await put(tx, orphan(child, "parent-discarded"));
  });
}

/** The person has signed in: what waited for that is due now. */
export function resume(database: Database, owner: string): Promise<void> {
  return database.transact("readwrite", async (tx) => {
    for (const entry of (await got(tx.store("entries").index("owner").getAll(owner))) as Entry[]) {
      if (entry.state === "waiting" && entry.reason?.word === "sign-in") await put(tx, due(entry));
    }
  });
}

/**
 * Marks an entry as being sent and counts the attempt. "changed" when it is gone
 * or not as it was planned; "forbidden" when its owner is not the current one,
 * or another sender has the right to send.
 */
export function begin(database: Database, planned: Entry, lease: Lease): Promise<Sending | "changed" | "forbidden"> {
  return database.transact("readwrite", async (tx) => {
    if (!(await held(tx, lease))) return "forbidden";
    if ((await got(tx.store("state").get(ownerRow))) !== planned.owner) return "forbidden";
    const found = (await got(tx.store("entries").get(planned.seq))) as Entry | undefined;
    if (found?.id !== planned.id || found.attempts !== planned.attempts || found.state !== planned.state) return "changed";
    const { retryAt: _, delayMs: __, ...rest } = found;
    const entry: Entry = { ...rest, state: "sending", attempts: found.attempts + 1 };
    await put(tx, entry);
    return { entry, body: await bodyOf(tx, entry.seq) };
  });
}

/**
 * Writes down how an attempt ended, fills the children of one that is done, and
 * forgets the oldest of those that are done. An attempt that another one has
 * overtaken says something only when it is the end of the intent.
 */
export function settle(database: Database, sent: Entry, ending: Ending, now: number): Promise<void> {
  return database.transact("readwrite", async (tx) => {
    const entry = (await got(tx.store("entries").get(sent.seq))) as Entry | undefined;
    if (entry?.id !== sent.id || entry.state === "done") return;
    if (ending.end !== "done" && (entry.state !== "sending" || entry.attempts !== sent.attempts)) return;
    await put(tx, ended(entry, ending, now));
    if (ending.end !== "done") return;
    await got(tx.store("bodies").delete(entry.seq)); // not needed any more
    for (const child of await childrenOf(tx, sent.id)) {
      const whole = filled(child, await bodyOf(tx, child.seq), ending.answer);
      if (whole) await put(tx, whole.entry, whole.body);
      else await put(tx, orphan(child, "parent-answer"));
    }
    const done = await got(tx.store("entries").index("state").getAllKeys("done" satisfies State));
    for (const seq of done.slice(0, Math.max(0, done.length - maxDone))) await remove(tx, seq as number);
  });
}

function ended(entry: Entry, ending: Ending, now: number): Entry {
  const rest = due(entry);
  switch (ending.end) {
    case "done":
      return { ...rest, state: "done", answer: ending.answer, ...(ending.reason && { reason: ending.reason }) };
    case "set-aside":
      return { ...rest, state: "set-aside", reason: ending.reason };
    case "later":
      return {
        ...rest, state: "waiting", reason: ending.reason, retryAt: now + ending.delayMs, delayMs: ending.delayMs,
        ...(ending.reason.word === "sign-in" && { metSignIn: true }),
      };
  }
}

async function put(tx: Tx, entry: Entry, body?: ArrayBuffer | null): Promise<void> {
  await got(tx.store("entries").put(entry));
  if (body !== undefined) await got(tx.store("bodies").put(body, entry.seq));
}

async function remove(tx: Tx, seq: number): Promise<void> {
  await got(tx.store("entries").delete(seq));
  await got(tx.store("bodies").delete(seq));
}

async function bodyOf(tx: Tx, seq: number): Promise<ArrayBuffer | null> {
  return ((await got(tx.store("bodies").get(seq))) as ArrayBuffer | null | undefined) ?? null;
}

function byId(tx: Tx, id: string): Promise<Entry | undefined> {
  return got(tx.store("entries").index("id").get(id) as IDBRequest<Entry | undefined>);
}

function childrenOf(tx: Tx, id: string): Promise<Entry[]> {
  return got(tx.store("entries").index("after").getAll(id) as IDBRequest<Entry[]>);
}

/** The entry with this id, when it is the owner's and may be changed. */
async function own(tx: Tx, id: string, owner: string): Promise<Entry> {
  const entry = await byId(tx, id);
  if (!entry || entry.owner !== owner || entry.state === "done") throw new QueueError("not-found", "it is not in the queue any more");
  if (entry.state === "sending") throw new QueueError("being-sent", "it is being sent; wait for how that ends");
  return entry;
}

/** The parent of a new entry, or undefined when it needs none. */
async function parentOf(tx: Tx, { after, owner }: Fresh): Promise<Entry | undefined> {
  if (after === undefined) return undefined;
  const parent = await byId(tx, after);
  if (parent?.owner !== owner) throw new QueueError("no-parent", "the entry that it needs is not in the queue");
  return parent;
}

/** A new entry under its parent. One that is done gives its values now. */
function adopt(fresh: Fresh, body: ArrayBuffer | null, parent: Entry | undefined): { entry: Fresh; body: ArrayBuffer | null } {
  if (parent?.state !== "done") return { entry: fresh, body };
  const whole = filled(fresh, body, parent.answer);
  return whole ?? { entry: orphan(fresh, "parent-answer"), body };
}

function orphan<Some extends Fresh>(child: Some, word: "parent-discarded" | "parent-answer"): Some {
  const { after: _, ...rest } = child;
  return { ...rest, state: "set-aside", reason: { word } } as Some;
}

function due(entry: Entry): Entry {
  const { reason: _, retryAt: __, delayMs: ___, ...rest } = entry;
  return rest;
}
