import { type Entry, type Reason } from "./entry.js";
/** What can be sent now, and what holds the others back. */
export interface Plan {
    /** In their order; at most one of each group. */
    send: Entry[];
    /** How long until something else may be sent, in milliseconds; undefined when only an event changes that. */
    wakeMs: number | undefined;
    /** Why entries wait that have no reason of their own, by id. */
    held: Map<string, Reason>;
}
export interface PlanOptions {
    now: number;
    /** Ids that are being sent by the caller. */
    busy?: ReadonlySet<string>;
    /** The network may be back: what had no answer does not wait any longer. */
    hurry?: boolean;
}
/**
 * Decides what to send. entries are one owner's, in the order of seq.
 *
 * An entry holds back those behind it in its group until it has ended. One that
 * was set aside does not, and neither do those that need its answer: they wait
 * for the person's decision, the others go on. A parent always comes before
 * its children, so the first entry that is not held can always be sent.
 */
export declare function plan(entries: readonly Entry[], { now, busy, hurry }: PlanOptions): Plan;
