import { type Database } from "./database.js";
import type { Ending } from "./ending.js";
import { type Entry } from "./entry.js";
import { type Lease } from "./exclusive.js";
/** An entry that has no place yet. */
export type Fresh = Omit<Entry, "seq">;
/** An entry together with the bytes to send. Bodies lie in a store of their own, so that a look at the queue reads none. */
export interface Sending {
    entry: Entry;
    body: ArrayBuffer | null;
}
/** Every entry of an owner, in order. */
export declare function list(database: Database, owner: string): Promise<Entry[]>;
/** The owner whose entries are sent; undefined before the first, null after signing out. */
export declare function owner(database: Database): Promise<string | null | undefined>;
/** Sets the owner whose entries every tab and the service worker send from now on; null for none. */
export declare function setOwner(database: Database, name: string | null): Promise<void>;
/** Stores a new entry behind all others. A parent that is done fills it at once. */
export declare function add(database: Database, fresh: Fresh, body: ArrayBuffer | null): Promise<Entry>;
/** Puts another intent in the place of an entry; what needed the old one needs the new one. */
export declare function replace(database: Database, id: string, fresh: Fresh, body: ArrayBuffer | null): Promise<Entry>;
/** Makes an entry that was set aside, or waits, due now, under its key. */
export declare function retry(database: Database, id: string, owner: string): Promise<void>;
/** Forgets an entry. What needs its answer is set aside. */
export declare function discard(database: Database, id: string, owner: string): Promise<void>;
/** The person has signed in: what waited for that is due now. */
export declare function resume(database: Database, owner: string): Promise<void>;
/**
 * Marks an entry as being sent and counts the attempt. "changed" when it is gone
 * or not as it was planned; "forbidden" when its owner is not the current one,
 * or another sender has the right to send.
 */
export declare function begin(database: Database, planned: Entry, lease: Lease): Promise<Sending | "changed" | "forbidden">;
/**
 * Writes down how an attempt ended, fills the children of one that is done, and
 * forgets the oldest of those that are done. An attempt that another one has
 * overtaken says something only when it is the end of the intent.
 */
export declare function settle(database: Database, sent: Entry, ending: Ending, now: number): Promise<void>;
