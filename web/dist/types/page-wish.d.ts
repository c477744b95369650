import type { Content } from "./page-content.js";
import type { Asked } from "./page-route.js";
/** A wish of the person: its requests carry one key. */
export interface Sent {
    /** The gateway knows it by its beginning, and then leaves it to this script which content it is for. */
    key_: string;
    /** The click sequence that sent it first. */
    turn_: number;
    /** A whole definitive answer came. */
    ended_?: boolean;
    /** The answer is definitive, and being read. */
    reading_?: Promise<unknown> | undefined;
}
/** What was sent with this content and has no answer. */
export declare function sentBefore(digest: string): Sent | undefined;
/**
 * The wish that this content, which is about to be sent, belongs to: one without an answer, or that of the same click sequence. rough is its digest without what may only be the state of the page:
 * it counts within a click sequence.
 */
export declare function wishOf(digest: string, rough?: string): Sent;
/** Gives a request the key of its wish, or counts why it gets none. */
export declare function sign({ route }: Asked, headers: Headers, content: Content): Sent | undefined;
/** A whole definitive answer came: the same content is another wish from now on, but within the click sequence. */
export declare function end(wish: Sent): void;
