import { type SemelInit } from "./fetch.js";
import type { State } from "./send.js";
/** The state of a submission, for a page to show. */
export interface Progress {
    /** Later calls are ignored: they get the answer of the one that is under way. */
    busy: boolean;
    state: "idle" | State["name"] | "done" | "failed";
    response?: Response;
    /** The reason that no definitive answer came; the next call repeats the same intent safely. */
    error?: unknown;
    /** The answer is that of an earlier attempt. */
    replayed: boolean;
}
/** One intent of a page, sent one at a time. */
export interface Sender {
    /**
     * Sends, or joins what is under way. It does not reject: the progress says what went wrong. from is the form or control that the person
     * used; without it the wish is over when the person edits anything on the page after the answer.
     */
    send(input: RequestInfo | URL, init?: RequestInit, from?: object): Promise<Response | undefined>;
    /** Stops waiting and reporting. The key is kept. */
    stop(): void;
}
/** The base of the React hook and the Vue composable: an intent with its progress. */
export declare function submission(intent: string, options: Omit<SemelInit, "intent">, tell: (progress: Progress) => void): Sender;
