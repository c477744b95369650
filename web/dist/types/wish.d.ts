import { type Outcome } from "./outcome.js";
import type { Record, Shelf } from "./storage.js";
/** How the current page came to be. */
export interface Arrival {
    /** PerformanceNavigationTiming.type. */
    type: string;
    /** The history entry of this page. Undefined where the browser does not say. */
    entry?: string | undefined;
    /** The address of this page, without its fragment. */
    page: string;
}
/** What the current page followed. */
export interface Following extends Arrival {
    /** The status of the page, or 0 when the browser does not say. */
    status: number;
    /** The history entry of the page that led here, where the browser says it, and its address. */
    from?: string | undefined;
    referrer: string;
    /** How many redirects of its origin led here. */
    redirects: number;
}
/** Reads how the current page came to be; a server has no page. */
export declare function arrival(): Arrival;
/** Reads what the current page followed. */
export declare function following(): Following;
/** Whether Back has led to the page that the record is of. */
export declare function returned(record: Record, here: Arrival): boolean;
/** What a wish belongs to: the form of an element, else itself. */
export declare function rootOf(from: object): object;
/** The wish of one rendering: of a form, a control or a component on a page. */
export declare class Wish {
    private readonly root_;
    key_: string;
    private digest_?;
    private readonly given_?;
    private turn_;
    /** The edits that were made before it was sent, and where those after it are, until Back. */
    edits_: number;
    private typed_;
    private answered_;
    /**
     * @param key_ the rendering's own key, or that of the draft that it goes on with.
     * @param digest_ the content that the key was used for.
     * @param given_ the token that the page gave it.
     */
    constructor(root_: object, key_?: string, digest_?: string | undefined, given_?: string | undefined);
    /** Whether the person is still at the click sequence that sent it, and changed nothing since: the same wish. */
    get again_(): boolean;
    /**
     * The key for this content, which is about to be sent, or may only be read (maybe). record holds the last submission from here: without a
     * definitive answer, or after Back, it lends its key to the same content. A token serves any content, a key of ours one.
     */
    sign_(digest: string, record: Record | undefined, here: Arrival, maybe?: boolean): string;
    /** A definitive answer came. Content that the person has not edited goes on with the key, unless the page says "new". */
    end_(): void;
}
/**
 * Ends the drafts that these outcomes speak of, and the one without a token that this page is the answer to: no outcome speaks of it, its form's page went
 * away for this submission's sake, this page followed it directly, at the form's own target or by a redirect, and its status is definitive. An address
 * that the person typed also follows the form's page, but leads to neither. Returns the outcomes that ended drafts, each with its record: the
 * repetitions to tell about are among them.
 */
export declare function settle(shelf: Shelf, here: Following, outcomes: readonly Outcome[]): {
    outcome: Outcome;
    record: Record;
}[];
