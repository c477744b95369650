import { type Answer, type Entry, type Reason } from "./entry.js";
import type { Known } from "./question.js";
/** How an attempt ended. */
export type Ending = {
    end: "done";
    answer: Answer;
    reason?: Reason;
} | {
    end: "set-aside";
    reason: Reason;
} | {
    end: "later";
    reason: Reason;
    delayMs: number;
};
/** The first pause after an attempt without an answer; it doubles with every attempt. */
export declare const firstDelayMs = 1000;
/** The longest pause between two attempts, unless the server asks for more. */
export declare const maxDelayMs: number;
/** The longest pause that a server can ask for. */
export declare const maxRetryAfterMs: number;
/** A pause drawn from half to all of what has doubled with each attempt, so that many browsers do not come back at the same instant. */
export declare function backoffMs(attempts: number, random: () => number): number;
/** What no answer at all means: it may have happened, so the same key is sent again. */
export declare function noAnswer(entry: Entry, random: () => number): Ending;
/** What is known of an attempt in addition to its answer. */
export interface Attempt {
    /** The answer is a page that asks to sign in. */
    signedOut: boolean;
    /** Asks the server for the outcome of the entry. */
    ask: () => Promise<Known>;
    /** How long ago the attempt began, in milliseconds. */
    tookMs: () => number;
}
/**
 * What an answer means for an entry. Reads the body. It rejects when the body
 * does not arrive whole: that counts as no answer.
 */
export declare function endingOf(entry: Entry, response: Response, random: () => number, attempt: Attempt): Promise<Ending>;
