import type { Entry } from "./entry.js";
/** What a server says of an intent. */
export interface Known {
    /**
     * The states of the status answer; "sign-in" when only a person who is signed in gets it, "later" when there is none
     * now, and "nothing" when the server does not answer such questions.
     */
    state: "absent" | "in-flight" | "completed" | "unknown" | "cancelled" | "sign-in" | "later" | "nothing";
    /** How long ago the last execution began, in milliseconds. */
    ageMs: number;
}
/**
 * Asks for the outcome of an entry, with the headers of its attempt. It does not reject. The page that a redirect led to has just
 * come, so there is a network: where a server of another origin gives no answer, not even one that breaks off, it does not let pages of this one ask (CORS),
 * and never will.
 */
export declare function ask(send: typeof fetch, entry: Entry, headers: Headers, signal: AbortSignal): Promise<Known>;
