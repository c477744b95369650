import { type Patience } from "./send.js";
/** Options of semelFetch in addition to those of fetch. */
export interface SemelInit extends Patience {
    /**
     * Names the wish: its key is kept until there is a definitive answer, through errors, reloads and crashes. Without a
     * name each call is a wish of its own.
     */
    intent?: string;
    /**
     * The form or control that the person used, or a component's own object: after the answer the same content goes on with its key, so that a
     * second click gets the first answer, until the person edits the form, or the page resets it or calls renew.
     */
    from?: object;
    /** Whether the intent is one in every tab of the origin. Default true; false: one in each tab. */
    shared?: boolean;
    /** The key, if the caller keeps it. Default: that of the request's Idempotency-Key header. With a key, intent only shares concurrent calls. */
    key?: string;
}
/**
 * Sends a request that must happen once. It is repeated under one key until there is a definitive answer: 2xx, 3xx or a
 * 4xx that a repetition would not change. Concurrent calls of one intent with the same content share a request. An answer of up to
 * 1 MiB comes whole; a longer one, or a stream, ends the intent when its body has been read to the end, and reading it throws a
 * SemelError of the kind unknown when it breaks off.
 * @throws SemelError when no definitive answer comes within the patience; the signal's reason when it is aborted; TypeError, before
 * anything is sent, for what would go out without a key or to no address.
 */
export declare function semelFetch(input: RequestInfo | URL, init?: RequestInit, semel?: SemelInit): Promise<Response>;
/** How much of a Blob is read at a time, in bytes; a file that is longer is known by its type, name, size and time. */
export declare const pieceBytes: number;
