import { type Outcome } from "./outcome.js";
import type { Record, Shelf } from "./storage.js";
/** How the current page came to be. */
export interface Arrival {
    /** PerformanceNavigationTiming.type. */
    type: string;
    /** The status of the page, or 0 when the browser does not say. */
    status: number;
    /** The history entry of this page, and the one it followed. Undefined where the browser does not say. */
    entry?: string | undefined;
    from?: string | undefined;
    /** The address of the page that led here. */
    referrer: string;
    /** The address of this page, without its fragment. */
    page: string;
}
/** Reads how the current page came to be. */
export declare function arrival(window: Window): Arrival;
/**
 * The key for a rendering of a form. A draft that was sent and has no definitive answer keeps its key, and so does the
 * same rendering that came back by Back. Everything else is a new draft. given is the gateway's token, if there is one.
 */
export declare function keyOfRendering(record: Record | undefined, here: Arrival, given: string | undefined, named: boolean): string;
/**
 * The key for a submission with this content. A gateway's token is always kept: with other content it is another
 * operation there. A key of ours names one content, so edited content gets another key.
 */
export declare function keyOfSubmission(current: string, record: Record | undefined, digest: string, token: boolean): string;
/** Ends the drafts that these outcomes speak of. Returns each with its record, the repetitions to tell about among them. */
export declare function settle(shelf: Shelf, outcomes: readonly Outcome[]): {
    outcome: Outcome;
    record: Record;
}[];
/**
 * Ends the draft that this page is the answer to, when no outcome speaks of it: its form's page went away for this
 * submission's sake, this page followed it directly, and its status is definitive.
 */
export declare function settleByPage(shelf: Shelf, here: Arrival, spokenOf: (record: Record) => boolean): void;
