import { attempt } from "../storage.js";
import { QueueError } from "./entry.js";

/** The version of the layout. A page with an older one refuses to work on a newer database. */
export const version = 1;

/** How long add() waits for tabs of an older version that do not let go of the database. */
const blockedMs = 5_000;
/** How long a transaction may take: another tab may hold the database, or the browser no longer answer. */
const transactMs = 10_000;

/** What work sees of the database: one transaction. */
export interface Tx {
  store(name: Store): IDBObjectStore;
}

/** entries and bodies: by seq. state: the current owner, and the lease if Web Locks are missing. */
export type Store = "entries" | "bodies" | "state";

/** The promise of one request. */
export function got<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * The queue's database, opened when it is first needed and again after it was
 * closed by the browser. Every method rejects with a QueueError.
 */
export class Database {
  #opening: Promise<IDBDatabase> | undefined;
  #closed = false;

  /** opened is called with every connection: the database may have been deleted since the last one, and be new and empty. */
  constructor(private readonly name: string, private readonly factory: () => IDBFactory, private readonly opened?: () => void) {}

  /**
   * Runs work in one transaction, and resolves when that is complete: with
   * readwrite, on the disk. When it rejects, nothing is written, not later either.
   */
  async transact<T>(mode: "readonly" | "readwrite", work: (tx: Tx) => Promise<T>): Promise<T> {
    let patience: ReturnType<typeof setTimeout> | undefined;
    try {
      const tx = this.#begin(await this.#open(), mode);
      const silence = new Promise<never>((_, reject) => {
        patience = setTimeout(() => {
          if (!aborts(tx)) return; // it is being committed, or was: it says so itself
          this.#forget(); // the next call has another connection
          reject(new QueueError("storage-failed", "the browser's storage does not answer"));
        }, transactMs);
      });
      return await Promise.race([run(tx, work), silence]);
    } catch (error) {
      throw translated(error);
    } finally {
      clearTimeout(patience);
    }
  }

  /** Writes one value of state while the page goes away: one request is all there is time for, without waiting. */
  putLast(key: string, value: unknown): void {
    this.#opening?.then((database) => {
      const tx = database.transaction("state", "readwrite");
      tx.objectStore("state").put(value, key);
      tx.commit();
    }).catch(() => undefined); // the lease ends on its own
  }

  close(): void {
    this.#closed = true;
    this.#forget();
  }

  #begin(database: IDBDatabase, mode: "readonly" | "readwrite"): IDBTransaction {
    try {
      return database.transaction(["entries", "bodies", "state"], mode, { durability: "strict" });
    } catch (error) {
      this.#opening = undefined; // the browser closed it: the next call opens it again
      throw error;
    }
  }

  #open(): Promise<IDBDatabase> {
    if (this.#closed) return Promise.reject(new QueueError("closed", "the queue was closed"));
    this.#opening ??= this.#openAnew().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  #openAnew(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const request = this.factory().open(this.name, version); // throws where storage is switched off
      let late = false;
      const patience = setTimeout(() => {
        late = true; // a connection that comes later would be in the way of other versions
        reject(new QueueError("storage-blocked", "another tab with an older version of this page is in the way; close it"));
      }, blockedMs);
      request.onupgradeneeded = () => {
        const entries = request.result.createObjectStore("entries", { keyPath: "seq", autoIncrement: true });
        entries.createIndex("id", "id", { unique: true });
        for (const name of ["owner", "state", "after"]) entries.createIndex(name, name);
        request.result.createObjectStore("bodies");
        request.result.createObjectStore("state");
      };
      request.onerror = () => {
        clearTimeout(patience);
        reject(denied(request.error) ? new QueueError("storage-disabled", disabled, { cause: request.error }) : request.error);
      };
      request.onsuccess = () => {
        clearTimeout(patience);
        const database = request.result;
        // A newer version of this page wants to change the layout: let go, so that it can.
        database.onversionchange = () => {
          database.close();
          this.#opening = undefined;
        };
        database.onclose = () => (this.#opening = undefined);
        if (this.#closed || late) database.close();
        this.opened?.();
        resolve(database);
      };
    });
  }

  #forget(): void {
    this.#opening?.then((database) => database.close(), () => undefined);
    this.#opening = undefined;
  }
}

async function run<T>(tx: IDBTransaction, work: (tx: Tx) => Promise<T>): Promise<T> {
  const complete = new Promise<void>((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(tx.error ?? new DOMException("the transaction was aborted", "AbortError"));
  });
  complete.catch(() => undefined); // work's own error says more
  let result: T;
  try {
    result = await work({ store: (name) => tx.objectStore(name) });
  } catch (error) {
    aborts(tx);
    throw tx.error ?? error;
  }
  await complete;
  return result;
}

/** Undoes a transaction. False when it ended on its own, or is being committed. */
function aborts(tx: IDBTransaction): boolean {
  try {
    tx.abort();
    return true;
  } catch {
    return false;
  }
}

const disabled = "this browser does not let the page keep anything";

/**
 * Whether an open that failed says that the page may keep nothing: private windows of Firefox before 115 answer so, and Chromium
 * with blocked cookies, which denies localStorage as well, as if the disk was broken.
 */
function denied(error: DOMException | null): boolean {
  if (error?.name === "InvalidStateError") return true;
  return error?.name === "UnknownError" && "localStorage" in globalThis && !attempt(() => localStorage);
}

/** The error as callers know it. */
function translated(error: unknown): QueueError {
  if (error instanceof QueueError) return error;
  const options = { cause: error };
  switch ((error as { name?: string } | undefined)?.name) {
    case "QuotaExceededError":
      return new QueueError("storage-full", "there is no room on this device to keep it", options);
    case "VersionError":
      return new QueueError("storage-newer", "a newer version of this page was opened; reload it", options);
    case "SecurityError":
    case "InvalidAccessError":
    case "TypeError":
    case "ReferenceError":
      return new QueueError("storage-disabled", disabled, options);
    default:
      return new QueueError("storage-failed", `the browser's storage failed: ${String(error)}`, options);
  }
}
