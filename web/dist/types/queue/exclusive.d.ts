import { type Database, type Tx } from "./database.js";
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
export declare const defaultLeaseMs = 90000;
interface Holder {
    holder: string;
    fence: number;
}
/** Whether the right is still the caller's, as part of its transaction. */
export declare function held(tx: Tx, { row }: Lease): Promise<boolean>;
export interface ExclusiveOptions {
    name: string;
    database: Database;
    /** Ends the wait for the right; it also aborts the signal that work gets. */
    signal: AbortSignal;
    locks: LockManager | undefined;
    leaseMs: number;
}
/** Runs work when the caller has the right to send, and gives it back after. */
export declare function exclusively<T>({ name, database, signal, locks, leaseMs }: ExclusiveOptions, work: (lease: Lease, signal: AbortSignal) => Promise<T>): Promise<T>;
export {};
