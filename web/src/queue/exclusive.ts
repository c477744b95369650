import { got, type Database, type Tx } from "./database.js";
import { anyOf } from "./signals.js";

/**
 * The right to send, which one tab or worker of the origin has at a time.
 *
 * With Web Locks the browser gives it, and takes it back when the tab dies.
 * Web Locks are missing on plain http. There it is a row in the database:
 *
 *     { holder, fence, beat }
 *
 * The holder adds one to beat, again and again. A tab that wants the
 * right reads the row and takes it, with fence + 1, when it is free or when the row has
 * not changed for leaseMs of the onlooker's own monotonic clock: no times are
 * written, so clocks that jump or differ change nothing. Taking, renewing and
 * marking an entry as being sent are transactions on the same row, and the
 * database lets one run at a time: a holder that lost the right cannot begin to send.
 * A holder that was suspended while it waited for an answer may still have that
 * one request under way; its key is the same as in the next holder's attempt.
 */
export interface Lease {
  /** Undefined with Web Locks: nothing to look up. */
  row: Holder | undefined;
}

/**
 * How long the row must not change before another tab may take it. Browsers let
 * timers of hidden tabs run once a minute only, so it is longer than that; who
 * leaves in order gives the right back at once.
 */
export const defaultLeaseMs = 90_000;

interface Holder {
  holder: string;
  fence: number;
}

interface Row {
  holder: string | null;
  fence: number;
  beat: number;
}

const leaseRow = "lease";
/**
 * Where a page that goes away writes { holder, fence }: it has no time to read
 * first, so it writes what is true even if another tab holds the right by now.
 */
const givenBackRow = "given-back";

/** Whether the right is still the caller's, as part of its transaction. */
export async function held(tx: Tx, { row }: Lease): Promise<boolean> {
  if (!row) return true;
  const found = (await got(tx.store("state").get(leaseRow))) as Row | undefined;
  return found?.holder === row.holder && found.fence === row.fence && !(await givenBack(tx, found));
}

async function givenBack(tx: Tx, { holder, fence }: Row): Promise<boolean> {
  const last = (await got(tx.store("state").get(givenBackRow))) as Holder | undefined;
  return last?.holder === holder && last.fence === fence;
}

export interface ExclusiveOptions {
  name: string;
  database: Database;
  /** Ends the wait for the right; it also aborts the signal that work gets. */
  signal: AbortSignal;
  locks: LockManager | undefined;
  leaseMs: number;
}

/** Runs work when the caller has the right to send, and gives it back after. */
export async function exclusively<T>(
  { name, database, signal, locks, leaseMs }: ExclusiveOptions, work: (lease: Lease, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (locks) return locks.request(name, { signal }, () => work({ row: undefined }, signal));
  const row = await acquire(database, leaseMs, signal);
  const lost = new AbortController();
  const beat = setInterval(() => void renew(), leaseMs / 4);
  const renew = async (): Promise<void> => {
    if (!(await beatOnce(database, row).catch(() => false))) lost.abort();
  };
  // A tab that is left gives it back at once. A page that comes back from the cache finds that it has lost it.
  const leave = (): void => database.putLast(givenBackRow, row);
  globalThis.addEventListener?.("pagehide", leave);
  try {
    return await work({ row }, anyOf(signal, lost.signal));
  } finally {
    clearInterval(beat);
    lost.abort(); // nothing listens to the caller's signal any more
    globalThis.removeEventListener?.("pagehide", leave);
    await release(database, row).catch(() => undefined); // the lease ends on its own
  }
}

/** Waits until the right is free, or has not been used for leaseMs, and takes it. */
async function acquire(database: Database, leaseMs: number, signal: AbortSignal): Promise<Holder> {
  const holder = Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");
  let seen: Row | undefined;
  let since = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const patience = performance.now() - since >= leaseMs;
    const found = await database.transact("readwrite", async (tx) => {
      const row = ((await got(tx.store("state").get(leaseRow))) as Row | undefined) ?? { holder: null, fence: 0, beat: 0 };
      const same = row.holder === seen?.holder && row.fence === seen.fence && row.beat === seen.beat;
      if (row.holder !== null && !(same && patience) && !(await givenBack(tx, row))) return row;
      const mine = { holder, fence: row.fence + 1, beat: 0 };
      await got(tx.store("state").put(mine, leaseRow));
      return mine;
    });
    if (found.holder === holder) return { holder, fence: found.fence };
    if (found.fence !== seen?.fence || found.beat !== seen.beat) {
      seen = found;
      since = performance.now();
    }
    await pause(Math.min(1_000, leaseMs / 10), signal);
  }
}

function beatOnce(database: Database, mine: Holder): Promise<boolean> {
  return database.transact("readwrite", async (tx) => {
    if (!(await held(tx, { row: mine }))) return false;
    const row = (await got(tx.store("state").get(leaseRow))) as Row;
    await got(tx.store("state").put({ ...row, beat: row.beat + 1 }, leaseRow));
    return true;
  });
}

/** The fence stays: it only ever grows. */
function release(database: Database, { holder, fence }: Holder): Promise<void> {
  return database.transact("readwrite", async (tx) => {
    const row = (await got(tx.store("state").get(leaseRow))) as Row | undefined;
    if (row?.holder === holder && row.fence === fence) {
      await got(tx.store("state").put({ ...row, holder: null }, leaseRow));
    }
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
